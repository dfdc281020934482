"""SmolLM2-135M-Instruct, real weights: a two-turn chat whose second turn goes on from the first one's snapshot."""

from __future__ import annotations

import numpy as np
import pytest
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import make_prompt_cache

from mlxcel_lab import Origin, PromptCacheConfig
from mlxcel_lab.engine import Engine
from mlxcel_lab.engine.backend import mx
from mlxcel_lab.engine.worker import mlx_thread
from mlxcel_lab.store.types import Hit, RemovalCause

pytestmark = pytest.mark.checkpoint

FIRST = [{"role": "user", "content": "What is the capital of France? Answer in one short sentence."}]
QUESTION = "And which river runs through it?"


@pytest.fixture(scope="module")
def chat(smollm2):
    """The engine after two turns, and both turns."""
    engine = Engine(smollm2, config=PromptCacheConfig(boundary=False))
    first = engine.chat(FIRST, "A", 24)
    reply = {"role": "assistant", "content": first.text}
    second = engine.chat([*FIRST, reply, {"role": "user", "content": QUESTION}], "A", 16)
    return engine, first, second


def test_it_answers_sensibly(chat):
    _, first, _ = chat
    assert "Paris" in first.text
    assert first.finish_reason == "stop"


def test_the_second_prompt_strictly_extends_the_donated_vector_and_hits_it(chat):
    _, first, second = chat
    donated = np.concatenate([first.prompt, first.completion])
    assert len(second.prompt) > len(donated)
    assert second.prompt[: len(donated)].tolist() == donated.tolist()
    assert isinstance(second.outcome, Hit)
    assert second.cached_tokens == len(donated)


def test_the_chain_collapses_to_one_entry(chat):
    engine, _, second = chat
    (entry,) = engine.store.entries()
    assert entry.snapshot.tokens.tolist() == [*second.prompt.tolist(), *second.completion.tolist()]
    assert entry.snapshot.origin == Origin.COMPLETION
    stats = engine.store.stats()
    assert (stats.inserts, stats.supersedes, stats.hits) == (2, 1, 1)
    assert [e.cause for e in engine.store.journal if hasattr(e, "cause")] == [RemovalCause.SUPERSEDED]


def test_the_reply_equals_the_one_computed_without_a_restore_under_the_same_split(chat, smollm2):
    _, first, second = chat

    def computed():
        cache = make_prompt_cache(smollm2.model)
        smollm2.model(mx.array(first.prompt[:-1])[None], cache=cache)
        for token in [first.prompt[-1], *first.completion]:  # as they were decoded: one a call
            smollm2.model(mx.array([[int(token)]]), cache=cache)
            mx.eval([layer.state for layer in cache])
        rest = mx.array(second.prompt[second.cached_tokens :])
        steps = generate_step(rest, smollm2.model, max_tokens=len(second.completion), prompt_cache=cache)
        return [token for token, _ in steps]

    assert mlx_thread().run(computed) == second.completion.tolist()
