"""Dry engines: exact sizes without weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mlxcel_lab import PromptCacheConfig
from mlxcel_lab.engine import Engine, known_configs, load_dry
from mlxcel_lab.engine.backend import mx
from mlxcel_lab.engine.configs import find_config
from mlxcel_lab.engine.dry import geometry_of
from mlxcel_lab.engine.state import Blank
from mlxcel_lab.engine.worker import mlx_thread
from mlxcel_lab.paths import data_dir
from mlxcel_lab.store import SnapshotStore

from ..store.making import Clock

PLAIN = PromptCacheConfig(min_prefix_tokens=1, boundary=False, snapshot_capacity_bytes=2**40)
FOX = [{"role": "user", "content": "Tell me a story about a fox and a lantern."}]


def test_a_dry_engine_takes_snapshots_of_the_live_sizes(lab, name):
    live, dry = Engine(lab(name), config=PLAIN), Engine(load_dry(name), config=PLAIN)
    messages = FOX
    for _ in range(4):  # the last turns lie beyond the window and the chunk
        said = live.chat(messages, "A", 20)
        given = dry.chat(messages, "A", reply=said.completion.tolist())
        live_sizes, dry_sizes = (
            [(e.snapshot.num_tokens, e.snapshot.size_bytes) for e in engine.store.entries()]
            for engine in (live, dry)
        )
        assert dry_sizes == live_sizes
        assert (given.text, given.cached_tokens) == (said.text, said.cached_tokens)
        messages = [
            *messages,
            {"role": "assistant", "content": said.text},
            {"role": "user", "content": "Go on."},
        ]


def test_a_dry_engine_has_the_published_models_exact_size():
    engine = Engine(load_dry("qwen3.5-0.8b"), config=PLAIN)
    prompt = engine.chat(FOX, reply=[5]).prompt_tokens
    turn = engine.chat(FOX, "A", reply=[5] * (72 - prompt))
    (entry,) = (e for e in engine.store.entries() if e.key.session == "A")
    assert turn.prompt_tokens + turn.completion_tokens == entry.snapshot.num_tokens == 72
    assert entry.snapshot.size_bytes == 22_683_648  # measured on mlx-lm, at 72 tokens


def test_a_dry_snapshot_holds_no_arrays():
    engine = Engine(load_dry("qwen3.5-0.8b"), config=PLAIN)
    before = mlx_thread().run(mx.get_active_memory)
    engine.chat(FOX, "A", reply=" a fox ran home")
    assert mlx_thread().run(mx.get_active_memory) - before < 1_000_000
    (entry,) = engine.store.entries()
    held = [value for layer in entry.snapshot.state.layers for value in layer.fields.values()]
    assert not any(isinstance(value, mx.array) for value in held)
    assert any(isinstance(value, Blank) for value in held)


def test_a_dry_engine_needs_to_be_given_its_reply():
    engine = Engine(load_dry("dense"))
    with pytest.raises(ValueError, match="give it the reply"):
        engine.chat(FOX)
    assert engine.store.stats().lookups == len(engine.store) == 0


def test_dry_and_live_states_of_a_model_never_meet(lab):
    assert load_dry("dense").model_id != lab("dense").model_id


def test_a_config_a_file_and_a_folder_give_the_same_geometry(tmp_path):
    config = load_dry("dense").config
    (tmp_path / "config.json").write_text(json.dumps(config))
    models = [load_dry(source, dtype="float32") for source in (config, tmp_path, tmp_path / "config.json")]
    sizes = set()
    for model in models:
        engine = Engine(model, config=PLAIN)
        engine.chat(FOX, reply=" a fox ran home")
        sizes.add(engine.store.total_bytes)
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("dense", "dense"),
        ("qwen3.5-0.8b", "qwen3.5-0.8b"),
        ("Qwen3.5-0.8B", "qwen3.5-0.8b"),
        (Path("dense"), "dense"),
    ],
)
def test_whatever_sizing_finds_has_a_dry_model_of_one_name(source, name):
    model = load_dry(source)
    assert model.config == find_config(source)
    assert (model.name, model.model_id) == (name, f"dry/{name}/{model.geometry.dtype}")


def test_a_folder_is_named_by_itself_and_a_file_by_its_stem(tmp_path, monkeypatch):
    config = {**load_dry("dense").config, "rope_theta": {"__float__": "Infinity"}}
    (folder := tmp_path / "mine").mkdir()
    for path in (folder / "config.json", tmp_path / "other.json"):
        path.write_text(json.dumps(config))
    monkeypatch.chdir(folder)
    for source, name in ((folder, "mine"), (".", "mine"), (tmp_path / "other.json", "other")):
        model = load_dry(source)
        assert (model.name, model.config["rope_theta"]) == (name, float("inf"))


def test_a_loaded_model_has_the_geometry_of_the_type_it_computes_in(lab):
    model = lab("dense")
    told_otherwise = replace(model, config={**model.config, "dtype": "bfloat16"})
    for one in (model, told_otherwise, load_dry("dense")):
        assert mlx_thread().run(lambda one=one: geometry_of(one).dtype) == "float32"


def test_two_configs_of_one_type_have_states_of_their_own():
    config = load_dry("dense").config
    other = {**config, "num_hidden_layers": 2}
    assert load_dry(config).model_id != load_dry(other).model_id


@pytest.mark.parametrize("source", ["no-such-model", "", "tests"])
def test_an_unknown_geometry_is_refused_with_what_there_is(source):
    with pytest.raises(ValueError, match=f"no config for {source!r}: expected .* a lab model .*dense"):
        load_dry(source)


def test_shipped_geometries_name_their_source():
    assert "qwen3.5-0.8b" in known_configs()
    configs = [json.loads((data_dir() / "configs" / f"{name}.json").read_text()) for name in known_configs()]
    assert all(config["_source"] for config in configs)


def test_a_turn_says_what_of_its_time_went_into_donating():
    clock, store = Clock(), SnapshotStore(PromptCacheConfig(min_prefix_tokens=1))
    engine = Engine(load_dry("dense"), store=store, clock=clock)

    def slow(key, snapshot, insert=store.insert):
        clock.now += 3
        return insert(key, snapshot)

    store.insert = slow
    turn = engine.chat([{"role": "user", "content": "the sea"}], "s", reply=" so")
    assert (turn.boundary_tokens is not None, turn.seconds_donating, turn.seconds) == (True, 6, 6)
    assert turn.seconds_to_first_token == 0
