"""A capacity of `auto` is a number once the model is known, told with its reason; an explicit value always wins."""

import logging

import pytest

from mlxcel_lab import PromptCacheConfig, SnapshotStore, resolve
from mlxcel_lab.engine import Engine, load, load_dry
from mlxcel_lab.engine.sizing import (
    auto_capacity,
    find_config,
    resolve_capacity,
    snapshot_bytes,
    with_capacity,
)

from ..families import known

_VARIABLE = "MLXCEL_PROMPT_CACHE_SNAPSHOT_CAPACITY_BYTES"
_PLENTY = 1 << 50


def test_auto_is_six_snapshots_of_8192_tokens_as_mlx_lm_holds_them():
    capacity = auto_capacity(known("qwen3.5-0.8b"), free_bytes=_PLENTY)
    assert capacity.capacity_bytes == 6 * snapshot_bytes(known("qwen3.5-0.8b"), 8192).allocated
    assert capacity.name == "auto"
    assert not capacity.capped


def test_trimmed_snapshots_make_auto_smaller_where_a_window_is_longer_than_it_must_be():
    whole, trimmed = (
        auto_capacity(known("gemma-3-4b"), trimmed=t, free_bytes=_PLENTY) for t in (False, True)
    )
    assert trimmed.capacity_bytes < whole.capacity_bytes / 3


def test_auto_takes_at_most_a_quarter_of_what_is_free_beside_the_weights():
    assert auto_capacity(known("gemma-3-4b"), free_bytes=_PLENTY).capped is False
    short = auto_capacity(known("gemma-3-4b"), free_bytes=10 << 30)
    assert short.capped
    assert 0 < short.capacity_bytes < (10 << 30) // 4


def test_flag_and_environment_take_auto_and_an_explicit_flag_beats_it():
    field = "snapshot_capacity_bytes"
    assert resolve({field: "auto"}, {}).config.snapshot_capacity_bytes == "auto"
    assert resolve({}, {_VARIABLE: " AUTO "}).config.snapshot_capacity_bytes == "auto"
    assert resolve({field: 77}, {_VARIABLE: "auto"}).config.snapshot_capacity_bytes == 77


def test_what_is_neither_a_number_nor_auto_is_refused_with_both_named():
    with pytest.raises(ValueError, match=r"'much': expected a whole number, 0 or more, or auto"):
        resolve({"snapshot_capacity_bytes": "much"}, {})


def test_auto_is_resolved_with_its_reason_among_the_start_up_lines(caplog):
    resolved = resolve_capacity(resolve({}, {_VARIABLE: "auto"}), find_config("dense"))
    number = resolved.config.snapshot_capacity_bytes
    with caplog.at_level(logging.INFO):
        resolved.log()
    assert (
        f"auto is {number:,} B: 6 entries of {number // 6:,} B (KV {number // 6:,} + fixed 0)" in caplog.text
    )
    assert f"snapshot_capacity_bytes={number} (environment)" in caplog.text
    assert f"auto is {number:,} B" in resolved._repr_html_()


def test_an_explicit_value_is_left_alone_whatever_the_model():
    resolved = resolve({"snapshot_capacity_bytes": 5}, {})
    assert resolve_capacity(resolved, find_config("dense")) is resolved


@pytest.mark.parametrize("loader", [load, load_dry])
def test_an_engine_resolves_auto_for_its_model_and_notes_it_in_the_journal(loader, caplog):
    with caplog.at_level(logging.INFO):
        engine = Engine(loader("gated-delta"), config=PromptCacheConfig(snapshot_capacity_bytes="auto"))
    capacity = engine.store.config.snapshot_capacity_bytes
    assert isinstance(capacity, int)
    assert f"auto is {capacity:,} B" in caplog.text
    opened, noted = engine.store.journal.events[:2]
    assert opened.data["capacity_bytes"] == noted.data["capacity_bytes"] == capacity
    assert noted.topic == "capacity"
    assert set(noted.data["parts"]) == {"KV", "fixed"}


def test_a_loaded_models_geometry_has_the_type_it_computes_in():
    live = auto_capacity(load("dense"), free_bytes=_PLENTY)
    assert (
        live.capacity_bytes
        == auto_capacity(load_dry("dense", dtype="float32"), free_bytes=_PLENTY).capacity_bytes
    )


def test_a_store_without_a_model_cannot_know_and_says_who_does_and_what_to_do(caplog):
    config = PromptCacheConfig(snapshot_capacity_bytes="auto")
    with pytest.raises(ValueError, match="capacity_bytes is auto: give the config to an Engine") as told:
        SnapshotStore(config)
    assert "with_capacity(config, model)" in str(told.value)
    model = load_dry("dense")
    for given in (model, model.geometry, model.config):
        with caplog.at_level(logging.INFO):
            assert SnapshotStore(with_capacity(config, given)).config.capacity_bytes > 0
        assert "auto is" in caplog.messages[-1]
    policy = auto_capacity(model, free_bytes=_PLENTY)
    assert with_capacity(config, policy).capacity_bytes == policy.capacity_bytes
    assert with_capacity(PromptCacheConfig(), model) == PromptCacheConfig()
