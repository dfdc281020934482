"""The frame model against the journal that it was made from."""

import numpy as np
import pytest

from mlxcel_lab.store import Journal, LookedUp, Note, Rejected, Removed
from mlxcel_lab.view.frames import CODE, KINDS, Follower, FrameModel

from .traffic import MB, key, make_store, random_traffic, take_turn, two_conversations

SEEDS = range(6)


def _model(store):
    model = FrameModel()
    model.feed(store.journal.events)
    return model


def _kind(event):
    if isinstance(event, LookedUp):
        return event.outcome
    if isinstance(event, Removed):
        return event.cause
    return "rejected" if isinstance(event, Rejected) else "inserted"


def _rows_with_seq(model):
    return zip(range(len(model)), model.events["seq"].tolist(), strict=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_resident_after_any_event_is_what_the_journal_says(seed):
    store = random_traffic(seed, steps=60)
    model = _model(store)
    for row, seq in _rows_with_seq(model):
        bars = model.resident_at(row)
        assert sorted(model.bars["snapshot"][bars]) == sorted(
            e.snapshot_id for e in store.journal.state_at(seq)
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_and_entries_after_any_event_are_those_of_the_journal(seed):
    store = random_traffic(seed, steps=60)
    model = _model(store)
    for row, seq in _rows_with_seq(model):
        resident = store.journal.state_at(seq)
        assert model.events["total"][row] == sum(e.size_bytes for e in resident)
        assert model.events["entries"][row] == len(resident)


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_at_the_end_are_the_stores_own_counters(seed):
    store = random_traffic(seed)
    counts, stats = _model(store).counts_at(10**9), store.stats_payload()
    assert counts["hit"] == stats["snapshot_hits"]
    assert counts["hit"] + counts["diverged"] + counts["no_candidate"] == stats["snapshot_lookups"]
    assert counts["inserted"] == stats["snapshot_inserts"]
    assert counts["superseded"] == stats["snapshot_supersedes"]
    assert counts["evicted"] + counts["replaced"] == stats["snapshot_evictions_lru"]
    assert counts["expired"] == stats["snapshot_evictions_ttl"]


def test_every_event_but_a_note_has_a_row_with_its_own_values():
    store = random_traffic(3)
    events = [event for event in store.journal if not isinstance(event, Note)]
    model = _model(store)
    assert len(model) == len(events)
    for row, event in enumerate(events):
        kind = KINDS[model.events["kind"][row]]
        assert model.events["tokens"][row] == event.num_tokens
        assert model.events["time"][row] == event.time
        assert kind == _kind(event)


def test_a_bar_knows_why_it_ended_and_who_followed():
    model = _model(two_conversations("origin", turns=2))
    assert model.bars["snapshot"].tolist() == [0, 1, 2, 3]
    assert model.bars["successor"].tolist() == [2, 3, -1, -1]
    assert model.bars["cause"][:2].tolist() == [CODE["superseded"]] * 2
    assert model.bars["died"].tolist() == [5, 8, -1, -1]
    assert model.bars["hits"].tolist() == [1, 1, 0, 0]


def test_a_superseding_snapshot_continues_in_the_row_of_the_one_it_replaced():
    chain = _model(two_conversations("origin", turns=4))
    piled = _model(two_conversations("off", turns=4, capacity=1000 * MB))
    assert set(chain.bars["row"].tolist()) == {0}
    assert set(piled.bars["row"].tolist()) == {0, 1, 2, 3}


def test_an_insert_and_all_that_it_removed_are_one_step_of_its_turn():
    store = make_store("session", capacity=20 * MB)
    length = take_turn(store, "A", 0, boundary=True)
    take_turn(store, "B", 0, boundary=True)
    take_turn(store, "A", length)
    model = _model(store)
    kinds = [KINDS[code] for code in model.events["kind"]]
    assert kinds[-1] == "inserted" or kinds[-1] == "evicted"
    for row in range(1, len(model)):
        same = model.events["turn"][row] == model.events["turn"][row - 1]
        together = same and model.events["step"][row] == model.events["step"][row - 1]
        assert together == (kinds[row] == "evicted" or kinds[row - 1] == "superseded")


def test_feeding_in_pieces_gives_the_same_columns():
    store = random_traffic(1)
    whole, pieces = _model(store), FrameModel()
    for at in range(0, len(store.journal), 7):
        pieces.feed(store.journal.events[at : at + 7])
    for name in ("seq", "kind", "total", "entries", "turn", "step"):
        np.testing.assert_array_equal(whole.events[name], pieces.events[name])
    for name in ("snapshot", "born", "died", "row"):
        np.testing.assert_array_equal(whole.bars[name], pieces.bars[name])


def test_the_settings_are_those_of_the_opened_note():
    model = _model(make_store("session", capacity=123))
    assert model.settings["rule"] == "session"
    assert model.settings["capacity_bytes"] == 123


def test_a_follower_takes_in_only_what_is_new():
    store = two_conversations(turns=1)
    follower = Follower(store.journal)
    assert follower.poll()
    before = len(follower.model)
    assert not follower.poll()
    take_turn(store, "A", 20)
    assert follower.poll()
    assert len(follower.model) == before + 3


def test_a_follower_of_a_bounded_journal_starts_over_from_what_was_folded():
    store = make_store("off", capacity=1000 * MB, journal=Journal(max_events=6))
    follower = Follower(store.journal)
    follower.poll()
    for turn in range(9):
        take_turn(store, "A", 20 * turn)
    follower.poll()
    model = follower.model
    assert sorted(model.bars["snapshot"][model.resident_at(len(model))]) == list(range(9))
    assert model.settings["rule"] == "off"
    assert model.events["total"][-1] == store.total_bytes


def test_a_session_of_its_own_has_a_layer_for_each_origin():
    store = make_store()
    take_turn(store, None, 0, boundary=True)
    assert _model(store).layers == [(None, ""), (None, "boundary"), (None, "completion")]
    assert key(None).session is None
