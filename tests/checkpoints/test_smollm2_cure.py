"""SmolLM2-135M-Instruct, real weights: boundary snapshots and a warm-up, and a reply that doesn't depend on either."""

from __future__ import annotations

import numpy as np
import pytest
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import make_prompt_cache

from mlxcel_lab import PromptCacheConfig
from mlxcel_lab.engine import Engine
from mlxcel_lab.engine.backend import mx
from mlxcel_lab.engine.chat import render, warmup_target
from mlxcel_lab.engine.worker import mlx_thread
from mlxcel_lab.store import common_prefix

pytestmark = pytest.mark.checkpoint

FIRST = [{"role": "user", "content": "What is the capital of France? Answer in one short sentence."}]
QUESTION = {"role": "user", "content": "And which river runs through it?"}


@pytest.fixture(scope="module")
def chat(smollm2):
    """The engine after two turns and the warm-ups after them, the turns, and the first warm-up's target."""
    engine = Engine(smollm2, config=PromptCacheConfig())
    first = engine.chat(FIRST, "A", 24)
    engine.warm_up_idle()
    target = warmup_target(smollm2.tokenizer, FIRST, first.text)
    second = engine.chat([*FIRST, {"role": "assistant", "content": first.text}, QUESTION], "A", 12)
    engine.warm_up_idle()
    return engine, first, second, target


def test_the_second_turn_reuses_all_but_its_message_and_the_scaffold(chat, smollm2):
    _, first, second, target = chat
    assert second.cached_tokens == len(target)
    other = [*FIRST, {"role": "assistant", "content": first.text}, {"role": "user", "content": "0"}]
    shared = common_prefix(second.prompt, render(smollm2.tokenizer, other))
    # The header's line break stays out of the target: a message that begins with one would be cut together with it.
    assert second.cached_tokens == shared - 1


def test_both_warm_ups_ran_and_nothing_was_skipped(chat):
    engine, *_ = chat
    stats = engine.warm_up_idle()
    assert (stats.run, stats.skipped) == (2, {})


def test_each_chain_is_one_entry(chat):
    engine, *_ = chat
    assert sorted(str(e.snapshot.origin) for e in engine.store.entries()) == ["boundary", "completion"]
    engine.store.check_integrity()


def test_the_reply_equals_the_one_computed_without_a_restore_under_the_same_split(chat, smollm2):
    _, first, second, target = chat
    said = np.concatenate([first.prompt, first.completion])
    assert target[: len(said)].tolist() == said.tolist(), "the warm-up went on from the completion's snapshot"
    splits = [
        first.boundary_tokens,
        len(first.prompt) - 1,
        *range(len(first.prompt), len(said) + 1),
        len(target),
    ]
    splits += [second.boundary_tokens]

    def computed():
        cache = make_prompt_cache(smollm2.model)
        for start, end in zip([0, *splits], splits, strict=False):
            smollm2.model(mx.array(second.prompt[start:end])[None], cache=cache)
            mx.eval([layer.state for layer in cache])
        rest = mx.array(second.prompt[splits[-1] :])
        steps = generate_step(rest, smollm2.model, max_tokens=len(second.completion), prompt_cache=cache)
        return [token for token, _ in steps]

    assert mlx_thread().run(computed) == second.completion.tolist()
