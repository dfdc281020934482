"""The tables behind the charts, against the journal they come from."""

import pytest

from mlxcel_lab.store import CacheKey, Journal
from mlxcel_lab.view import chart_data, chart_layout
from mlxcel_lab.view.chart_data import Axis

from .chart_traffic import insert, long_journal, open_store, shaped_of


def test_an_insert_and_what_it_removes_are_one_operation():
    store = open_store(capacity=25)
    for length in (2, 3, 4):
        insert(store, "a", length, first=length)
    events = Axis(store.journal.frame().events, "operation").events
    assert events.select("kind", "x").rows() == [
        ("note", 0.0), ("inserted", 1.0), ("inserted", 2.0), ("inserted", 3.0), ("removed", 3.0),
    ]  # fmt: skip


def test_a_note_between_two_operations_lies_with_the_first():
    store = open_store()
    insert(store, "a", 3)
    store.note("turn", {})
    store.lookup(CacheKey(session="a"), [9])
    assert Axis(store.journal.frame().events, "operation").events["x"].to_list() == [0.0, 1.0, 1.0, 2.0]


def test_a_superseded_chain_lies_end_to_end_and_the_last_one_is_resident():
    store = open_store()
    for length in (2, 3, 4):
        insert(store, "a", length)
    _, alive = shaped_of(store.journal)
    assert alive.select("x", "x2", "fate").rows() == [
        (1.0, 2.0, "superseded"), (2.0, 3.0, "superseded"), (3.0, 4.0, "resident"),
    ]  # fmt: skip
    lanes = chart_layout.lanes(alive).rows
    assert chart_layout.links(lanes).select("x", "lane", "lane2").rows() == [(2.0, 0, 1), (3.0, 1, 2)]


def test_the_axis_of_time_counts_seconds_from_the_first_event():
    store = open_store()
    insert(store, "a", 3)
    axis, alive = shaped_of(store.journal, "time")
    assert axis.events["x"][0] == 0
    assert alive["x"][0] == store.journal[-1].time - store.journal[0].time


def test_an_unknown_axis_is_refused_by_name():
    with pytest.raises(ValueError, match=r"over='turn'.*'operation' or 'time'"):
        Axis(open_store().journal.frame().events, "turn")


def test_a_bounded_journal_still_knows_its_residents_and_its_budget():
    store = open_store(journal=Journal(max_events=1))
    insert(store, "a", 3)
    store.lookup(CacheKey(session="b"), [1])
    axis, alive = shaped_of(store.journal)
    assert alive.select("x", "x2").rows() == [(0.0, axis.end)]
    assert chart_data.budget(store.journal, axis).rows() == [(0.0, axis.end, 100)]


def test_every_happening_has_its_mark_and_its_words():
    store = open_store(capacity=25, snapshot_ttl_seconds=50)
    for length in (2, 3, 3):
        insert(store, "a", length)
    insert(store, "a", 9, size=26)
    store.lookup(CacheKey(session="a"), [0, 1, 2, 3])
    store.lookup(CacheKey(session=None), [0, 1])
    store.clear()
    rows = chart_data.happenings(Axis(store.journal.frame().events, "operation")).rows
    assert rows["what"].to_list() == ["superseded", "replaced", "rejected", "hit", "miss", "cleared"]
    assert rows["words"][3] == "hit: 3 of 4 tokens cached"
    assert rows["words"][2] == "completion oversized: 9 tokens, 26 bytes"
    assert rows["session"].to_list()[4] == "no session"
    assert dict(chart_data.counts(store.journal.frame().events).rows())["hit"] == 1


def test_many_sessions_are_folded_into_one_that_says_how_many():
    axis = Axis(long_journal(200, sessions=30).frame().events, "operation")
    shaped = chart_data.snapshots(long_journal(200, sessions=30).frame().lifetimes, axis)
    assert shaped.note == "19 other sessions in one colour"
    assert shaped.rows["session"].n_unique() == chart_data.SESSIONS_APART


def test_turns_are_told_by_the_journal_alone_with_their_tokens_by_part():
    store = open_store()
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
