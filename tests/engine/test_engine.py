"""The engine: turns reuse exactly what was forwarded, on every kind of state, live and dry."""

from __future__ import annotations

import pytest

from mlxcel_lab import PromptCacheConfig, SnapshotStore
from mlxcel_lab.engine import Engine, load, load_dry
from mlxcel_lab.store.types import Hit, Origin

NAMES = ("chunked", "dense", "falcon-h1", "gated-delta", "mamba2", "sliding-window")
PLAIN = PromptCacheConfig(min_prefix_tokens=1, boundary=False)
FOX = [{"role": "user", "content": "Tell me a story about a fox and a lantern."}]


def _next(messages, turn, text="And what comes next?"):
    return [*messages, {"role": "assistant", "content": turn.text}, {"role": "user", "content": text}]


def _engine(name, **config):
    return Engine(
        load(name), config=PromptCacheConfig(**{"min_prefix_tokens": 1, "boundary": False, **config})
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_second_turn_reuses_all_of_the_first(name):
    engine = _engine(name)
    first = engine.chat(FOX, "A", 8)
    second = engine.chat(_next(FOX, first), "A", 8)
    assert first.cached_tokens == 0
    assert second.cached_tokens == first.prompt_tokens + first.completion_tokens
    assert isinstance(second.outcome, Hit)
    assert len(engine.store) == 1  # the chain collapsed
    engine.store.check_integrity()


@pytest.mark.parametrize("name", NAMES)
def test_a_dry_engine_takes_snapshots_of_the_live_sizes(name):
    live, dry = _engine(name), Engine(load_dry(name), config=PLAIN)
    messages = FOX
    for _ in range(3):
        said = live.chat(messages, "A", 20)
        given = dry.chat(messages, "A", reply=said.completion.tolist())
        assert [s.snapshot.size_bytes for s in dry.store.entries()] == [
            s.snapshot.size_bytes for s in live.store.entries()
        ]
        assert (given.text, given.cached_tokens) == (said.text, said.cached_tokens)
        messages = _next(messages, said)


def test_a_dry_engine_has_the_published_models_exact_size():
    engine = Engine(load_dry("qwen3.5-0.8b"), config=PLAIN)
    prompt = engine.chat(FOX, reply=[5]).prompt_tokens
    turn = engine.chat(FOX, "A", reply=[5] * (72 - prompt))
    (entry,) = (e for e in engine.store.entries() if e.key.session == "A")
    assert turn.prompt_tokens + turn.completion_tokens == entry.snapshot.num_tokens == 72
    assert entry.snapshot.size_bytes == 22_683_648  # state_bytes: qwen3.5-0.8b, 72, mlx-lm


def test_a_dry_engine_needs_to_be_given_its_reply():
    with pytest.raises(ValueError, match="give it the reply"):
        Engine(load_dry("dense")).chat(FOX)
