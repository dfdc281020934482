"""The journal: its order, what it can rebuild, its bound, and the file it becomes."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given, settings

from mlxcel_lab.store import (
    Inserted,
    Journal,
    LookedUp,
    Note,
    Origin,
    Rejected,
    Removed,
    SnapshotStore,
)
from mlxcel_lab.store.wire import event_from_json, event_to_json

from .making import NOBODY, A, B, Clock, make_store, snap

# One step of a story: (session, tokens, size, origin) donated, then the tokens with one more looked up.
steps = st.tuples(
    st.sampled_from([A, B, NOBODY]), st.lists(st.integers(0, 1), min_size=1, max_size=5), st.integers(1, 12),
    st.sampled_from(Origin),
)  # fmt: skip
stories = st.lists(steps, max_size=25)
FEW = settings(max_examples=30)  # a frame or a file takes milliseconds


def _tell(story: list, journal: Journal) -> tuple[SnapshotStore, dict[int, list[tuple[int, int]]]]:
    """The store after the story, and what was resident after each event that ended an operation."""
    clock = Clock()
    store = make_store(capacity=30, max_entries=4, ttl=9, clock=clock, journal=journal)
    resident: dict[int, list[tuple[int, int]]] = {}
    for key, tokens, size, origin in story:
        clock.now += 1.5
        store.insert(key, snap(tokens, size, origin))
        resident[journal.next_seq - 1] = _now(store)
        store.lookup(key, [*tokens, 1])
        resident[journal.next_seq - 1] = _now(store)
    return store, resident


def _now(store: SnapshotStore) -> list[tuple[int, int]]:
    return [(entry.snapshot_id, entry.snapshot.size_bytes) for entry in store.entries()]


def _shown(journal: Journal, seq: int) -> list[tuple[int, int]]:
    return [(event.snapshot_id, event.size_bytes) for event in journal.state_at(seq)]


def test_events_are_in_the_order_in_which_things_happened() -> None:
    store = make_store(capacity=10, max_entries=1)
    store.insert(A, snap([1], 5))
    store.insert(A, snap([1, 2], 5))
    store.insert(B, snap([3], 5))
    store.insert(B, snap([4], 11))
    store.lookup(B, [3, 4])
    store.note("turn", {"prompt_tokens": 3}, key=B)
    kinds = [type(event) for event in store.journal]
    assert kinds == [Note, Inserted, Removed, Inserted, Inserted, Removed, Rejected, LookedUp, Note]
    assert [event.seq for event in store.journal] == [*range(9)]
    superseded, evicted = store.journal[2], store.journal[5]
    assert (superseded.cause, superseded.successor) == ("superseded", 1)
    assert (evicted.cause, evicted.successor, evicted.self_eviction) == ("evicted", 2, False)


def test_the_journal_opens_with_the_settings_and_where_they_came_from() -> None:
    store = make_store(
        capacity=123, max_entries=7, ttl=60, min_prefix=4, rule="off", sources={"supersede": "flag"}
    )
    settings = store.journal.config_at(0)
    assert (settings["capacity_bytes"], settings["max_entries"], settings["ttl_seconds"]) == (123, 7, 60)
    assert (settings["min_prefix_tokens"], settings["rule"], settings["sources"]) == (
        4,
        "off",
        {"supersede": "flag"},
    )


@given(stories)
def test_what_was_resident_can_be_rebuilt_after_any_operation(story: list) -> None:
    store, resident = _tell(story, Journal())
    for seq, expected in resident.items():
        assert _shown(store.journal, seq) == expected


@given(stories, st.integers(1, 12))
def test_a_bounded_journal_tells_the_same_about_what_it_keeps(story: list, max_events: int) -> None:
    whole, bounded = Journal(), Journal(max_events)
    _tell(story, whole)
    _tell(story, bounded)
    assert len(bounded) == min(len(whole), max_events)
    assert [repr(e) for e in bounded] == [repr(e) for e in whole[-max_events:]]
    for seq in range(bounded.first_seq, bounded.next_seq):
        assert _shown(bounded, seq) == _shown(whole, seq)
    assert dict(bounded.config_at(bounded.next_seq - 1)) == dict(whole.config_at(0))


def test_polling_gives_what_is_new() -> None:
    store = make_store(journal=Journal(max_events=3))
    seen = store.journal.next_seq - 1
    store.insert(A, snap([1]))
    store.lookup(A, [1])
    assert [event.seq for event in store.journal.since(seen)] == [1, 2]
    assert store.journal.since(2) == []
    for _ in range(5):
        store.lookup(A, [1])
    assert [event.seq for event in store.journal.since(seen)] == [5, 6, 7]  # older ones are folded


def test_a_past_that_is_not_kept_is_refused() -> None:
    store = make_store(journal=Journal(max_events=2))
    for first in range(5):
        store.insert(A, snap([first]))
    with pytest.raises(ValueError, match=r"seq=1: this journal holds 4 to 5"):
        store.journal.state_at(1)
    assert len(store.journal.state_at(3)) == 3  # the base itself is still known


def test_the_journal_is_a_sequence_by_position() -> None:
    store = make_store(journal=Journal(max_events=3))
    for first in range(5):
        store.insert(A, snap([first]))
    journal = store.journal
    assert [journal[0].seq, journal[-1].seq, [e.seq for e in journal[1:]]] == [3, 5, [4, 5]]
    with pytest.raises(IndexError, match="event 3 of 3"):
        journal[3]
    assert repr(journal) == "Journal(3 events, seq 3 to 5 (at most 3 kept))"


@pytest.mark.parametrize("max_events", [0, -1, True])
def test_a_senseless_bound_is_refused(max_events: int) -> None:
    with pytest.raises(ValueError, match="max_events"):
        Journal(max_events)


def test_without_tokens_a_journal_holds_no_vector_and_still_knows_lengths() -> None:
    store = make_store(max_entries=1, journal=Journal(keep_tokens=False))
    store.insert(A, snap([1, 2]))
    store.insert(A, snap([3, 4]))
    outcome = store.lookup(A, [1, 2, 3])
    looked_up = store.journal[-1]
    assert [getattr(event, "tokens", None) for event in store.journal] == [None] * 5
    assert (looked_up.ghost.tokens, looked_up.ghost.num_tokens) == (None, 2)
    assert outcome.ghost.tokens.tolist() == [1, 2]  # the caller gets them


@given(story=stories, max_events=st.none() | st.integers(1, 20), keep_tokens=st.booleans())
@FEW
def test_a_file_gives_back_the_journal(tmp_path_factory, story: list, max_events, keep_tokens: bool) -> None:
    journal = Journal(max_events, keep_tokens)
    store, _ = _tell(story, journal)
    store.insert(A, snap([1], 99))
    store.note("turn", {"text": "héllo", "n": [1, None]}, key=NOBODY)
    path = journal.write(tmp_path_factory.mktemp("journal") / "deep" / "j.parquet")
    back = Journal.read(path)
    assert [repr(event) for event in back] == [repr(event) for event in journal]
    assert (back.first_seq, back.max_events, back.keep_tokens) == (journal.first_seq, max_events, keep_tokens)
    last = journal.next_seq - 1
    assert _shown(back, last) == _shown(journal, last)
    assert back.config_at(last) == journal.config_at(last)
    for name in ("events", "occupancy", "lifetimes"):
        assert getattr(back.frame(), name).equals(getattr(journal.frame(), name))


def test_a_journals_file_and_its_lines_tell_the_same_events(tmp_path: Path) -> None:
    """Every kind, every cause and a ghost: both ways end in the one reader of plain values."""
    store = make_store(capacity=30, max_entries=1)
    for key, snapshot in ((A, snap([1, 2])), (A, snap([1, 2, 3])), (A, snap([1, 2, 3])), (B, snap([4], 5))):
        store.insert(key, snapshot)
    store.insert(A, snap([1], 99))
    store.lookup(A, [1, 2, 3, 4])
    store.clear()
    back = Journal.read(store.journal.write(tmp_path / "j.parquet"))
    lines = [json.loads(json.dumps(event_to_json(event))) for event in store.journal]
    assert {line["kind"] for line in lines} == {"note", "inserted", "removed", "rejected", "looked_up"}
    assert [event_to_json(event) for event in back] == lines
    assert [repr(event_from_json(line)) for line in lines] == [repr(event) for event in back]


@pytest.mark.parametrize(
    ("column", "wrong"),
    [("kind", "boom"), ("cause", "boredom"), ("origin", "nowhere"), ("ghost_cause", "no")],
)
def test_a_file_with_a_cell_that_no_event_has_is_refused(tmp_path: Path, column: str, wrong: str) -> None:
    store = make_store(max_entries=1)
    store.insert(A, snap([1, 2]))
    store.insert(B, snap([3]))
    store.lookup(A, [1, 2])
    path = store.journal.write(tmp_path / "j.parquet")
    there = pl.col(column).is_not_null()
    pl.read_parquet(path).with_columns(
        pl.when(there).then(pl.lit(wrong)).otherwise(column).alias(column)
    ).write_parquet(path)
    with pytest.raises(ValueError, match=wrong):
        Journal.read(path)


def test_a_picture_taken_while_a_bounded_journal_fills_has_lost_nothing() -> None:
    journal = Journal(max_events=4)
    store = make_store(journal=journal)
    filling = threading.Thread(target=lambda: [store.insert(A, snap([token])) for token in range(2_000)])
    filling.start()
    alive = True
    while alive:
        alive = filling.is_alive()
        base, first_seq, events = journal.picture()
        assert [event.seq for event in events] == list(range(first_seq, first_seq + len(events)))
        held = [*base.entries, *(event.snapshot_id for event in events if isinstance(event, Inserted))]
        assert held == list(range(len(held)))
    assert len(held) == 2_000


def test_a_journal_read_back_can_go_on() -> None:
    journal = Journal(max_events=3)
    make_store(journal=journal)
    journal.append(Note, time=1.0, key=None, topic="turn", data={})
    assert [event.seq for event in journal] == [0, 1]


def test_an_empty_journal_survives_the_file(tmp_path: Path) -> None:
    back = Journal.read(Journal().write(tmp_path / "j.parquet"))
    assert (len(back), back.next_seq) == (0, 0)


def test_a_file_that_is_no_journal_is_refused_by_name(tmp_path: Path) -> None:
    pl.DataFrame({"seq": [1]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x\.parquet isn't a journal: column 'time' is missing"):
        Journal.read(tmp_path / "x.parquet")
