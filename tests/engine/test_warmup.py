"""Warm-ups: which run, which are skipped and why, and that a turn always comes first."""

import logging
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab import CacheKey, Origin, PromptCacheConfig, SnapshotStore
from mlxcel_lab.engine import Engine
from mlxcel_lab.engine.warmup import WarmUps
from mlxcel_lab.engine.worker import mlx_thread
from mlxcel_lab.store.types import InsertResult, RejectReason

FOX = [{"role": "user", "content": "Tell me a story about a fox and a lantern."}]
ACCEPTED = InsertResult(0, True)


def _key(name):
    return CacheKey(session=name)


def _target(length=3):
    return lambda: np.arange(length, dtype=np.int32)


class _Work:
    """Stands in for the engine: notes what it was asked to extend, and answers as told."""

    def __init__(self, result=ACCEPTED):
        self.done, self.result = [], result

    def __call__(self, key, tokens, cancel):
        self.done.append((key.session, len(tokens)))
        return self.result


def _warm_ups(work, **options):
    return WarmUps(work, SnapshotStore(), **options)


def test_nothing_runs_before_it_is_told_to():
    work = _Work()
    warm_ups = _warm_ups(work)
    warm_ups.ask(_key("a"), _target())
    assert (work.done, warm_ups.stats().waiting) == ([], 1)
    assert warm_ups.run_waiting().run == 1
    assert work.done == [("a", 3)]


def test_in_the_background_they_run_by_themselves():
    work = _Work()
    warm_ups = _warm_ups(work, background=True)
    warm_ups.ask(_key("a"), _target())
    warm_ups.ask(_key("b"), _target())
    assert warm_ups.run_waiting().run == 2
    assert [session for session, _ in work.done] == ["a", "b"]


def test_of_one_conversation_the_newest_wins():
    work = _Work()
    warm_ups = _warm_ups(work)
    warm_ups.ask(_key("a"), _target(3))
    warm_ups.ask(_key("a"), _target(7))
    stats = warm_ups.run_waiting()
    assert work.done == [("a", 7)]
    assert stats.skipped == {"superseded by a newer one": 1}


def test_a_full_queue_drops_its_oldest():
    work = _Work()
    warm_ups = _warm_ups(work, max_waiting=2)
    for name in "abc":
        warm_ups.ask(_key(name), _target())
    assert warm_ups.run_waiting().skipped == {"queue full": 1}
    assert [session for session, _ in work.done] == ["b", "c"]


def test_a_turn_drops_its_own_conversations_waiting_warm_up_and_no_other():
    work = _Work()
    warm_ups = _warm_ups(work)
    warm_ups.ask(_key("a"), _target())
    warm_ups.ask(_key("b"), _target())
    warm_ups.turn_comes(_key("a"))
    assert warm_ups.run_waiting().skipped == {"a turn came": 1}
    assert [session for session, _ in work.done] == ["b"]


@pytest.mark.parametrize(
    ("result", "reason"),
    [(None, "no ancestor"), (InsertResult(None, False, RejectReason.OVERSIZED), "refused")],
)
def test_what_comes_to_nothing_is_counted_by_its_reason(result, reason):
    warm_ups = _warm_ups(_Work(result))
    warm_ups.ask(_key("a"), _target())
    assert warm_ups.run_waiting().skipped == {reason: 1}


def test_a_template_that_refuses_the_next_message_skips_the_warm_up():
    def refuse():
        raise ValueError("roles must alternate")

    warm_ups = _warm_ups(_Work())
    warm_ups.ask(_key("a"), refuse)
    assert warm_ups.run_waiting().skipped == {"failed": 1}


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("error", [ValueError, TypeError, RuntimeError, KeyError, MemoryError])
def test_one_that_fails_in_any_way_is_counted_and_told_and_the_others_run(error, background, caplog):
    def fail(*_):
        raise error("out of luck")

    class Work(_Work):
        def __call__(self, key, tokens, cancel):
            return fail() if key.session == "work" else super().__call__(key, tokens, cancel)

    warm_ups = _warm_ups(Work(), background=background)
    with caplog.at_level(logging.INFO, logger="mlxcel_lab.engine"):
        warm_ups.ask(_key("target"), fail)
        warm_ups.ask(_key("work"), _target())
        warm_ups.ask(_key("b"), _target())
        stats = warm_ups.run_waiting()
    assert (stats.run, stats.skipped, stats.waiting) == (1, {"failed": 2}, 0)
    assert ["target" in record.getMessage() for record in caplog.records] == [True, False]
    assert "out of luck" in caplog.text
    notes = [n.data["outcome"] for n in warm_ups._store.journal if n.topic == "warmup"]
    assert notes == ["skipped", "skipped", "run"]


@pytest.mark.parametrize("background", [False, True])
def test_they_can_be_run_on_the_mlx_thread_itself(background):
    warm_ups = _warm_ups(_Work(), background=background)

    def there():
        warm_ups.ask(_key("a"), _target())
        return warm_ups.run_waiting()

    assert mlx_thread().submit(there).result(30).run == 1
    assert warm_ups.run_waiting().asked == 1


def test_each_one_leaves_a_note_in_the_journal():
    warm_ups = _warm_ups(_Work())
    warm_ups.ask(_key("a"), _target())
    warm_ups.ask(_key("a"), _target(5))
    warm_ups.run_waiting()
    notes = [
        (n.key.session, n.data["outcome"], n.data["tokens"])
        for n in warm_ups._store.journal
        if n.topic == "warmup"
    ]
    assert notes == [("a", "skipped", 0), ("a", "run", 5)]


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["ask", "ask", "turn", "run"])), max_size=20)
)
def test_every_warm_up_that_was_asked_for_is_accounted_for(steps):
    warm_ups, asked = _warm_ups(_Work(), max_waiting=2), 0
    for name, step in steps:
        if step == "ask":
            asked += 1
            warm_ups.ask(_key(name), _target())
        elif step == "turn":
            warm_ups.turn_comes(_key(name))
        else:
            assert warm_ups.run_waiting().waiting == 0
        assert warm_ups.stats().asked == asked
        assert warm_ups.stats().waiting <= 2


def _engine(model, **options):
    config = PromptCacheConfig(min_prefix_tokens=1)
    return Engine(model, SnapshotStore(config), **options)


def test_a_warm_up_extends_the_conversations_state_over_the_reply(lab):
    engine = _engine(lab("gated-delta"))
    turn = engine.chat(FOX, "a", 6)
    assert engine.warm_up_idle().run == 1
    longest = max(engine.store.entries(), key=lambda entry: entry.snapshot.num_tokens)
    assert longest.snapshot.origin is Origin.BOUNDARY
    assert longest.snapshot.num_tokens > turn.prompt_tokens + turn.completion_tokens - 1


def test_a_warmed_state_answers_as_a_cold_one_does_under_the_same_split(lab, name):
    engine = _engine(lab(name))
    first = engine.chat(FOX, "a", 6)
    engine.warm_up_idle()
    following = [*FOX, {"role": "assistant", "content": first.text}, {"role": "user", "content": "Go on."}]
    warmed = engine.chat(following, "a", 6)
    again = _engine(lab(name))
    again.chat(FOX, "a", 6, reply=first.completion.tolist())
    again.warm_up_idle()
    assert warmed.completion.tolist() == again.chat(following, "a", 6).completion.tolist()
    assert warmed.cached_tokens > first.prompt_tokens


def test_a_warm_up_without_an_ancestor_computes_nothing(lab):
    engine = _engine(lab("gated-delta"))
    engine.chat(FOX, "a", 4)
    engine.store.clear()
    assert engine.warm_up_idle().skipped == {"no ancestor": 1}
    assert len(engine.store) == 0


def test_a_turn_that_arrives_while_a_warm_up_runs_cancels_it(lab):
    engine = _engine(lab("gated-delta"), background=True)
    running, turn_is_there = threading.Event(), threading.Event()

    def slow_target():
        running.set()
        assert turn_is_there.wait(10)
        return np.arange(9, dtype=np.int32)

    engine._warm_ups.ask(engine.key("a"), slow_target)
    assert running.wait(10)
    stream = engine.stream(FOX, "b", 4)
    turn_is_there.set()
    assert stream.turn.finish_reason
    assert engine.warm_up_idle().skipped == {"a turn came": 1}


@pytest.mark.parametrize("switched_off", [{"warmup": False}, {"enabled": False}])
def test_switched_off_nothing_is_asked_for(lab, switched_off):
    engine = Engine(lab("gated-delta"), config=PromptCacheConfig(**switched_off))
    engine.chat(FOX, "a", 4)
    assert engine.warm_up_idle().asked == 0


def test_a_cancelled_turn_asks_for_none(lab):
    engine = _engine(lab("gated-delta"))
    cancel = threading.Event()
    cancel.set()
    turn = engine.chat(FOX, "a", 4, cancel=cancel)
    assert turn.finish_reason == "cancelled"
    assert engine.warm_up_idle().asked == 0


def test_the_queue_must_hold_something():
    with pytest.raises(ValueError, match="max_waiting=0"):
        _warm_ups(_Work(), max_waiting=0)


def test_a_warm_up_runs_on_the_thread_that_owns_mlx():
    seen = []
    warm_ups = _warm_ups(lambda *_: seen.append(mlx_thread().is_current))
    warm_ups.ask(_key("a"), _target())
    warm_ups.run_waiting()
    assert seen == [True]
