"""Nothing hits, and the cure: four turns on a recurrent model whose template strips the reasoning."""

from itertools import pairwise

import numpy as np
import pytest

from mlxcel_lab import Origin, PromptCacheConfig, SnapshotStore
from mlxcel_lab.engine import Engine, load
from mlxcel_lab.engine.chat import history_boundary, render
from mlxcel_lab.explain import Asked, Cause, explain, what_ended
from mlxcel_lab.store import common_prefix
from mlxcel_lab.store.types import Hit, RemovalCause

SYSTEM = {"role": "system", "content": "You are a kind teller of short stories about the sea."}
QUESTIONS = ("Who lives there?", "What do they fear?", "And in winter?", "How does it end?")


@pytest.fixture(scope="module")
def thinker():
    return load("gated-delta", template="thinking")


def _engine(model, **config):
    return Engine(model, SnapshotStore(PromptCacheConfig(min_prefix_tokens=1, **config)))


def _talk(engine, sessions=("a",), questions=QUESTIONS):
    """Conversations in turns; gives each one's turns and the messages behind them."""
    histories = {session: [SYSTEM] for session in sessions}
    turns = {session: [] for session in sessions}
    for question in questions:
        for session in sessions:
            histories[session].append({"role": "user", "content": f"{question} Tell {session}."})
            turn = engine.chat(histories[session], session, reply=" a thought\n</think>\n\n the sea is wide")
            opened = "<think>\n" if "<think>" in engine.model.tokenizer.chat_template else ""
            histories[session].append({"role": "assistant", "content": opened + turn.text})
            turns[session].append(turn)
            engine.warm_up_idle()
    return turns


def _cached(turns):
    return [turn.cached_tokens for turn in turns]


def test_without_a_cure_nothing_is_ever_reused(thinker):
    engine = _engine(thinker, boundary=False, warmup=False)
    turns = _talk(engine)["a"]
    assert _cached(turns) == [0, 0, 0, 0]
    assert engine.store.stats().supersedes == 0


def test_every_one_of_those_misses_is_explained(thinker):
    engine = _engine(thinker, boundary=False, warmup=False)
    turns = _talk(engine)["a"]
    asked = [Asked.of(turn, thinker.tokenizer) for turn in turns]
    causes = [
        explain(
            turn.outcome,
            asked[i],
            tokenizer=thinker.tokenizer,
            earlier=asked[:i],
            journal=engine.store.journal,
        ).cause
        for i, turn in enumerate(turns)
    ]
    assert causes == [Cause.FIRST_REQUEST] + [Cause.GENERATION_PROMPT] * 3


def test_with_boundaries_every_turn_reuses_all_history_before_the_last_reply(thinker):
    turns = _talk(_engine(thinker, warmup=False))["a"]
    for before, turn in pairwise(turns):
        history = history_boundary(thinker.tokenizer, before.request.messages, min_prefix_tokens=1)
        assert turn.cached_tokens == before.boundary_tokens == history


def test_with_warm_ups_all_but_the_last_message_and_the_scaffold_is_reused(thinker):
    turns = _talk(_engine(thinker))["a"]
    for turn in turns[1:]:
        *_, last = turn.request.messages
        other = [*turn.request.messages[:-1], {**last, "content": "0"}]
        shared = common_prefix(turn.prompt, render(thinker.tokenizer, other))
        assert turn.cached_tokens == shared
        ended = what_ended(
            turn.outcome, Asked.of(turn, thinker.tokenizer), tokenizer=thinker.tokenizer, earlier=[]
        )
        assert ended is None


def _budget_of_four(model):
    """Four snapshots of the largest size that a conversation of it reaches."""
    engine = _engine(model)
    _talk(engine)
    return 4 * max(entry.snapshot.size_bytes for entry in engine.store.entries())


def test_two_conversations_fit_a_budget_of_four_where_replies_extend(thinker):
    plain = load("gated-delta")
    engine = _engine(plain, snapshot_capacity_bytes=_budget_of_four(plain))
    turns = _talk(engine, ("a", "b"))
    assert engine.store.stats().evictions_lru == 0
    assert all(turn.cached_tokens > 0 for session in "ab" for turn in turns[session][1:])
    chains = sorted((e.key.session, str(e.snapshot.origin)) for e in engine.store.entries())
    assert chains == [("a", "boundary"), ("a", "completion"), ("b", "boundary"), ("b", "completion")]


def test_where_reasoning_is_stripped_a_budget_of_four_loses_only_completions_that_could_never_serve(thinker):
    """A reply with its reasoning is no prefix of anything later: no rule of prefixes can supersede it."""
    roomy, tight = _engine(thinker), _engine(thinker, snapshot_capacity_bytes=_budget_of_four(thinker))
    wanted, got = _talk(roomy, ("a", "b")), _talk(tight, ("a", "b"))
    assert all(_cached(got[session]) == _cached(wanted[session]) for session in "ab")
    evicted = [e for e in tight.store.journal if getattr(e, "cause", None) is RemovalCause.EVICTED]
    assert evicted
    assert {event.origin for event in evicted} == {Origin.COMPLETION}
    boundaries = [e.key.session for e in tight.store.entries() if e.snapshot.origin is Origin.BOUNDARY]
    assert sorted(boundaries) == ["a", "b"]


def test_once_the_learned_rule_has_seen_the_template_two_conversations_fit_four_snapshots(thinker):
    engine = _engine(thinker, snapshot_capacity_bytes=_budget_of_four(thinker), supersede="learned")
    _talk(engine, ("x", "y", "z"))  # the lesson: no prompt extends a completion here
    engine.store.clear()
    before = engine.store.stats().evictions_lru
    turns = _talk(engine, ("a", "b"))
    assert engine.store.stats().evictions_lru == before
    assert all(turn.cached_tokens > 0 for session in "ab" for turn in turns[session][1:])
    chains = [(entry.key.session, entry.snapshot.origin) for entry in engine.store.entries()]
    assert len(chains) == len(set(chains)) == 2


def test_superseding_across_origins_brings_the_regression_while_counters_look_healthy(thinker):
    """Published with the origin rule: turn 2 back at 0 cached tokens, inserts advancing, nothing rejected."""
    engine = _engine(thinker, warmup=False, supersede="session")
    turns = _talk(engine)["a"]
    stats = engine.store.stats()
    assert _cached(turns) == [0, 0, 0, 0]
    assert stats.supersedes == 4
    assert stats.inserts == 8
    asked = [Asked.of(turn, thinker.tokenizer) for turn in turns[:2]]
    told = explain(
        turns[1].outcome,
        asked[1],
        tokenizer=thinker.tokenizer,
        earlier=asked[:1],
        journal=engine.store.journal,
    )
    assert told.cause is Cause.SUPERSEDED
    assert told.evidence.details["by_origin"] == "completion"


def test_per_origin_two_chains_live_side_by_side(thinker):
    engine = _engine(thinker, warmup=False, supersede="origin")
    turns = _talk(engine)["a"]
    assert all(isinstance(turn.outcome, Hit) for turn in turns[1:])
    origins = sorted(str(entry.snapshot.origin) for entry in engine.store.entries())
    # Completions don't extend each other under this template: each stays until the budget or its age removes it.
    assert origins == ["boundary"] + ["completion"] * 4


def test_a_boundary_snapshot_is_bit_for_bit_what_a_prefill_to_there_holds(thinker):
    engine = _engine(thinker, warmup=False)
    turn = _talk(engine, questions=QUESTIONS[:1])["a"][0]
    (boundary,) = [e.snapshot for e in engine.store.entries() if e.snapshot.origin is Origin.BOUNDARY]
    assert boundary.num_tokens == turn.boundary_tokens
    assert np.array_equal(boundary.tokens, turn.prompt[: turn.boundary_tokens])


def test_a_warm_up_supersedes_the_boundary_it_grew_from(thinker):
    engine = _engine(thinker)
    _talk(engine, questions=QUESTIONS[:1])
    superseded = [e for e in engine.store.journal if getattr(e, "cause", None) is RemovalCause.SUPERSEDED]
    assert [event.origin for event in superseded] == [Origin.BOUNDARY]
