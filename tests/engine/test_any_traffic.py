"""Whatever the traffic: a turn claims what was forwarded, reuses only what is its own, and the store stays whole."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab import PromptCacheConfig
from mlxcel_lab.engine import Engine
from mlxcel_lab.store.types import Hit

TEXTS = ("Why?", "Tell me a story about a fox.", "And then?", "Say that again in fewer words, please.")


class _Watched:
    def __init__(self, model):
        self._model, self.calls = model, []

    def __call__(self, tokens, **options):
        self.calls += np.asarray(tokens)[0].tolist()
        return self._model(tokens, **options)

    def __getattr__(self, name):
        return getattr(self._model, name)


STEP = st.fixed_dictionaries(
    {
        "session": st.sampled_from(["A", "B", None]),
        "what": st.sampled_from(["go on", "go on", "go on", "same again", "start anew", "cancel"]),
        "text": st.sampled_from(TEXTS),
        "max_tokens": st.integers(1, 6),
        "reply": st.sampled_from([None, None, " a short reply", ""]),
    }
)


@pytest.mark.parametrize("kind", ["dense", "gated-delta", "sliding-window"])
@settings(max_examples=12)
@given(
    steps=st.lists(STEP, min_size=2, max_size=7),
    rule=st.sampled_from(["off", "session", "origin"]),
    boundary=st.booleans(),
    entries=st.sampled_from([1, 3, 100]),
    prefill_step=st.sampled_from([7, 512]),
)
def test_any_traffic_keeps_the_contract(lab, kind, steps, rule, boundary, entries, prefill_step):
    model = lab(kind)
    watched = _Watched(model.model)
    config = PromptCacheConfig(
        min_prefix_tokens=4, supersede=rule, boundary=boundary, snapshot_max_entries=entries
    )
    same = type(model)(kind, watched, model.tokenizer, model.config, model.model_id)
    engine = Engine(same, config=config, prefill_step=prefill_step)
    histories = {}
    for step in steps:
        session, what = step["session"], step["what"]
        messages = histories.get(session, [])
        if what == "start anew":
            messages = []
        if not (what == "same again" and messages):
            messages = [*messages, {"role": "user", "content": step["text"]}]
        before = {e.snapshot_id for e in engine.store.entries()}
        watched.calls.clear()
        cancel = threading.Event()
        if what == "cancel":
            cancel.set()
        turn = engine.chat(messages, session, step["max_tokens"], reply=step["reply"], cancel=cancel)
        claimed = [*turn.prompt.tolist(), *turn.completion.tolist()]
        if what == "cancel":
            assert {e.snapshot_id for e in engine.store.entries()} <= before
        else:
            assert watched.calls == claimed[turn.cached_tokens :]
            assert turn.cached_tokens < turn.prompt_tokens
            histories[session] = [*messages, {"role": "assistant", "content": turn.text}]
        if isinstance(turn.outcome, Hit):
            stored = turn.outcome.snapshot.tokens[: turn.cached_tokens].tolist()
            assert stored == claimed[: turn.cached_tokens]
        for entry in engine.store.entries():
            assert entry.snapshot.state.num_tokens == len(entry.snapshot.tokens)
            assert entry.snapshot.state.nbytes == entry.snapshot.size_bytes
        engine.store.check_integrity()
