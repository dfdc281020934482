"""The tables behind the charts, against the journal they come from."""

import itertools

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import (
    CacheKey,
    Inserted,
    Journal,
    Origin,
    RemovalCause,
    Removed,
    Snapshot,
    SnapshotStore,
)
from mlxcel_lab.view import chart_data
from mlxcel_lab.view.chart_data import Axis


def _store(capacity=100, journal=None, **config):
    config = PromptCacheConfig(snapshot_capacity_bytes=capacity, min_prefix_tokens=1, **config)
    return SnapshotStore(config, clock=itertools.count().__next__, journal=journal)


def _insert(store, session, length, size=10, origin=Origin.COMPLETION, first=0):
    return store.insert(CacheKey(session=session), Snapshot([first, *range(1, length)], size, origin))


def _shaped(journal, over="operation"):
    frames = journal.frame()
    axis = Axis(frames.events, over)
    return axis, chart_data.snapshots(frames.lifetimes, axis).rows


def _height_at(rows, x):
    return rows.filter((pl.col("x") <= x) & (x < pl.col("x2")))["y2"].max() or 0


def test_an_insert_and_what_it_removes_are_one_operation():
    store = _store(capacity=25)
    for length in (2, 3, 4):
        _insert(store, "a", length, first=length)
    events = Axis(store.journal.frame().events, "operation").events
    assert events.select("kind", "x").rows() == [
        ("note", 0.0), ("inserted", 1.0), ("inserted", 2.0), ("inserted", 3.0), ("removed", 3.0),
    ]  # fmt: skip


def test_a_note_between_two_operations_lies_with_the_first():
    store = _store()
    _insert(store, "a", 3)
    store.note("turn", {})
    store.lookup(CacheKey(session="a"), [9])
    assert Axis(store.journal.frame().events, "operation").events["x"].to_list() == [0.0, 1.0, 1.0, 2.0]


def test_a_superseded_chain_lies_end_to_end_and_the_last_one_is_resident():
    store = _store()
    for length in (2, 3, 4):
        _insert(store, "a", length)
    _, alive = _shaped(store.journal)
    assert alive.select("x", "x2", "fate").rows() == [
        (1.0, 2.0, "superseded"), (2.0, 3.0, "superseded"), (3.0, 4.0, "resident"),
    ]  # fmt: skip
    lanes = chart_data.lanes(alive).rows
    assert chart_data.links(lanes).select("x", "lane", "lane2").rows() == [(2.0, 0, 1), (3.0, 1, 2)]


def test_sessions_are_stacked_by_appearance_and_boundaries_over_completions():
    store = _store()
    _insert(store, "late", 2, first=7)
    _insert(store, "early", 5, 20, Origin.BOUNDARY)
    _insert(store, "early", 3, 30)
    axis, alive = _shaped(store.journal)
    last = chart_data.blocks(alive).rows.filter(pl.col("x2") == axis.end).sort("y")
    assert last.select("session", "origin", "y", "y2").rows() == [
        ("late", "completion", 0, 10), ("early", "completion", 10, 40), ("early", "boundary", 40, 60),
    ]  # fmt: skip


def test_the_axis_of_time_counts_seconds_from_the_first_event():
    store = _store()
    _insert(store, "a", 3)
    axis, alive = _shaped(store.journal, "time")
    assert axis.events["x"][0] == 0
    assert alive["x"][0] == store.journal[-1].time - store.journal[0].time


def test_an_unknown_axis_is_refused_by_name():
    with pytest.raises(ValueError, match=r"over='turn'.*'operation' or 'time'"):
        Axis(_store().journal.frame().events, "turn")


def test_a_bounded_journal_still_knows_its_residents_and_its_budget():
    store = _store(journal=Journal(max_events=1))
    _insert(store, "a", 3)
    store.lookup(CacheKey(session="b"), [1])
    axis, alive = _shaped(store.journal)
    assert alive.select("x", "x2").rows() == [(0.0, axis.end)]
    assert chart_data.budget(store.journal, axis).rows() == [(0.0, axis.end, 100)]


def test_every_happening_has_its_mark_and_its_words():
    store = _store(capacity=25, snapshot_ttl_seconds=50)
    for length in (2, 3, 3):
        _insert(store, "a", length)
    _insert(store, "a", 9, size=26)
    store.lookup(CacheKey(session="a"), [0, 1, 2, 3])
    store.lookup(CacheKey(session=None), [0, 1])
    store.clear()
    rows = chart_data.happenings(Axis(store.journal.frame().events, "operation")).rows
    assert rows["what"].to_list() == ["superseded", "replaced", "rejected", "hit", "miss", "cleared"]
    assert rows["words"][3] == "hit: 3 of 4 tokens cached"
    assert rows["words"][2] == "completion oversized: 9 tokens, 26 bytes"
    assert rows["session"].to_list()[4] == "no session"
    assert dict(chart_data.counts(store.journal.frame().events).rows())["hit"] == 1


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(1, 6), st.integers(0, 1), st.integers(1, 40)),
    max_size=25,
)


@given(OPERATIONS)
@settings(deadline=None, max_examples=60)
def test_the_stack_is_as_high_as_the_store_was_full_after_each_operation(operations):
    store, full = _store(capacity=60), []
    for session, length, first, size in operations:
        _insert(store, session, length, size, first=first)
        full.append(store.total_bytes)
    _, alive = _shaped(store.journal)
    rows = chart_data.blocks(alive).rows
    assert [_height_at(rows, operation) for operation in range(1, len(full) + 1)] == full


@given(OPERATIONS, st.booleans())
@settings(deadline=None, max_examples=60)
def test_no_two_snapshots_share_a_lane_at_the_same_time(operations, share):
    store = _store(capacity=60)
    for session, length, first, size in operations:
        _insert(store, session, length, size, first=first)
    _, alive = _shaped(store.journal)
    lane = chart_data._pack(alive["x"].to_list(), alive["x2"].to_list(), share)
    lives = list(zip(lane, alive["x"], alive["x2"], strict=True))
    for (one, x, x2), (other, y, y2) in itertools.combinations(lives, 2):
        assert one != other or x2 <= y or y2 <= x


def _long_journal(snapshots, sessions=4):
    journal, key = Journal(), [CacheKey(session=f"s{n}") for n in range(sessions)]
    for n in range(snapshots):
        common = {"key": key[n % sessions], "origin": Origin.COMPLETION, "num_tokens": 5, "size_bytes": 10}
        journal.append(Inserted, time=float(n), snapshot_id=n, **common)
        if n >= 50:
            gone = {**common, "key": key[(n - 50) % sessions]}
            journal.append(
                Removed, time=float(n), snapshot_id=n - 50, cause=RemovalCause.EVICTED, successor=n, **gone
            )
    return journal


def test_a_long_journal_stays_below_what_altair_takes_and_says_so():
    axis, alive = _shaped(_long_journal(6_000))
    shaped = [chart_data.blocks(alive), chart_data.lanes(alive), chart_data.happenings(axis)]
    assert all(0 < part.rows.height <= chart_data.MAX_ROWS for part in shaped)
    assert [part.note for part in shaped] == [
        "6,000 snapshots, summed at 1,000 points", "the latest 4,000 of 6,000 snapshots", "one in 2 of 5,950 marks",
    ]  # fmt: skip
    assert _height_at(shaped[0].rows, axis.end / 2) == 500


def test_many_sessions_are_folded_into_one_that_says_how_many():
    axis = Axis(_long_journal(200, sessions=30).frame().events, "operation")
    shaped = chart_data.snapshots(_long_journal(200, sessions=30).frame().lifetimes, axis)
    assert shaped.note == "19 other sessions in one colour"
    assert shaped.rows["session"].n_unique() == chart_data.SESSIONS_APART


def test_turns_are_told_by_the_journal_alone_with_their_tokens_by_part():
    store = _store()
    told = {
        "session": None,
        "reason": "reused",
        "prompt_tokens": 9,
        "cached_tokens": 4,
        "completion_tokens": 2,
    }
    store.note("turn", told)
    rows = chart_data.turns(store.journal).select("turn", "session", "part", "tokens").rows()
    assert rows == [
        (1, "no session", "cached", 4), (1, "no session", "prefilled", 5), (1, "no session", "reply", 2),
    ]  # fmt: skip
