"""The journal's frames against the same facts counted one event at a time."""

from __future__ import annotations

import hypothesis.strategies as st
import polars as pl
import pytest
from hypothesis import given

from mlxcel_lab.store import Inserted, Journal, LookedUp, Origin, Removed

from .making import NOBODY, A, B, make_store, snap
from .test_journal import FEW, _tell, stories


def _occupancy_one_event_at_a_time(journal: Journal) -> list[tuple]:
    groups = dict.fromkeys((e.key.session, e.origin.value) for e in journal.base.entries.values())
    groups |= dict.fromkeys((e.key.session, e.origin.value) for e in journal if isinstance(e, Inserted))
    rows = []
    for event in journal:
        resident = journal.state_at(event.seq)
        for session, origin in groups:
            mine = [e.size_bytes for e in resident if (e.key.session, e.origin) == (session, origin)]
            rows.append((event.seq, event.time, session, origin, sum(mine), len(mine)))
    return rows


@given(stories, st.none() | st.integers(1, 12))
@FEW
def test_occupancy_is_what_was_resident_after_each_event(story: list, max_events: int | None) -> None:
    journal = Journal(max_events)
    _tell(story, journal)
    assert journal.frame().occupancy.rows() == _occupancy_one_event_at_a_time(journal)


@given(stories, st.integers(2, 9))
@FEW
def test_a_thinned_occupancy_has_the_same_rows_only_fewer(story: list, max_points: int) -> None:
    journal = Journal()
    _tell(story, journal)
    whole, thinned = journal.frame().occupancy, journal.frame(max_points).occupancy
    seqs = thinned["seq"].unique()
    assert len(seqs) <= max_points
    assert thinned.equals(whole.filter(pl.col("seq").is_in(seqs.implode())))
    if len(whole):
        assert {whole["seq"].min(), whole["seq"].max()} <= {*seqs}


@given(stories, st.none() | st.integers(1, 12))
@FEW
def test_lifetimes_tell_birth_death_and_use(story: list, max_events: int | None) -> None:
    journal = Journal(max_events)
    _tell(story, journal)
    born = {e.snapshot_id: e for e in [*journal.base.entries.values(), *journal] if isinstance(e, Inserted)}
    died = {e.snapshot_id: e for e in journal if isinstance(e, Removed)}
    hits = {i: n for i, (n, _) in journal.base.hits.items()}
    for event in journal:
        if isinstance(event, LookedUp) and event.outcome == "hit":
            hits[event.snapshot_id] = hits.get(event.snapshot_id, 0) + 1
    lives = journal.frame().lifetimes
    assert lives["snapshot_id"].to_list() == sorted(born)
    for row in lives.iter_rows(named=True):
        death = died.get(row["snapshot_id"])
        assert row["born_seq"] == born[row["snapshot_id"]].seq
        assert (row["died_seq"], row["cause"]) == ((death.seq, death.cause) if death else (None, None))
        assert row["successor"] == (death.successor if death else None)
        assert row["hits"] == hits.get(row["snapshot_id"], 0)


def test_events_have_a_column_for_every_fact() -> None:
    store = make_store(max_entries=1)
    store.insert(A, snap([1, 2], 5, Origin.BOUNDARY))
    store.insert(NOBODY, snap([3], 7))
    store.lookup(A, [1, 2, 3])
    store.note("turn", {"n": 1}, key=B)
    events = store.journal.frame().events
    assert events["kind"].to_list() == ["note", "inserted", "inserted", "removed", "looked_up", "note"]
    assert events["session"].to_list() == [None, "a", None, "a", "a", "b"]
    assert events["model_id"].to_list() == [None, "", "", "", "", ""]  # null where there is no key at all
    removed = events.row(3, named=True)
    assert (removed["cause"], removed["successor"], removed["self_eviction"]) == ("evicted", 1, False)
    missed = events.row(4, named=True)
    assert (missed["outcome"], missed["ghost_cause"], missed["ghost_snapshot_id"]) == (
        "no_candidate",
        "evicted",
        0,
    )
    assert (missed["ghost_num_tokens"], missed["ghost_seq"], missed["ghost_by"]) == (2, 3, 1)
    assert events["data"][-1] == '{"n": 1}'


def test_frames_of_nothing_have_their_columns() -> None:
    frames = Journal().frame()
    assert (len(frames.events), len(frames.occupancy), len(frames.lifetimes)) == (0, 0, 0)
    assert frames.occupancy.columns == ["seq", "time", "session", "origin", "bytes", "entries"]
    assert {"born_seq", "died_seq", "cause", "successor", "hits"} <= {*frames.lifetimes.columns}


def test_too_few_points_are_refused() -> None:
    with pytest.raises(ValueError, match="max_points=1"):
        Journal().frame(max_points=1)
