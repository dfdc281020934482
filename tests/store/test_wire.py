"""Events as JSON lines and back."""

import json

import pytest

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import Bucket, CacheKey, Journal, Origin, Snapshot, SnapshotStore
from mlxcel_lab.store.wire import event_from_json, event_to_json

KEY = CacheKey(Bucket(model_id="m", template_sig="t"), "alice")


def _eventful_journal(**options):
    """A store's journal with every kind of event, and a miss that carries a ghost."""
    config = PromptCacheConfig(min_prefix_tokens=2, snapshot_capacity_bytes=10)
    store = SnapshotStore(config, clock=lambda: 1.5, journal=Journal(**options))
    store.insert(KEY, Snapshot([1, 2], 4))
    store.insert(KEY, Snapshot([1, 2, 3], 6, Origin.BOUNDARY))
    store.insert(KEY, Snapshot([9, 9, 9], 8))
    store.insert(KEY, Snapshot([7, 7], 11))
    store.insert(CacheKey(), Snapshot([5], 1))
    store.lookup(KEY, [1, 2, 3, 4])
    store.lookup(KEY, [9, 9, 9, 9])
    store.lookup(CacheKey(), [])
    store.note("turn", {"text": "ü", "n": [1, None]}, KEY)
    return store.journal


def _rows(journal):
    return [json.dumps(event_to_json(event)) for event in journal]


@pytest.mark.parametrize("keep_tokens", [True, False])
def test_every_kind_of_event_survives_the_way_there_and_back(keep_tokens):
    journal = _eventful_journal(keep_tokens=keep_tokens)
    rows = _rows(journal)
    assert {json.loads(row)["kind"] for row in rows} == {
        "note",
        "inserted",
        "removed",
        "rejected",
        "looked_up",
    }
    back = [event_from_json(json.loads(row)) for row in rows]
    assert [type(event) for event in back] == [type(event) for event in journal]
    assert [json.dumps(event_to_json(event)) for event in back] == rows


def test_a_journal_rebuilt_from_its_lines_shows_the_same_frames():
    journal = _eventful_journal()
    rebuilt = Journal()
    rebuilt.restore(journal.base, 0, [event_from_json(json.loads(row)) for row in _rows(journal)])
    assert rebuilt.frame().events.equals(journal.frame().events)
    assert rebuilt.frame().lifetimes.equals(journal.frame().lifetimes)


def test_tokens_are_left_out_where_nobody_asks_for_them():
    assert all(event_to_json(event, tokens=False).get("tokens") is None for event in _eventful_journal())


@pytest.mark.parametrize(
    "row", [{}, {"kind": "boom"}, {"kind": "note"}, {"kind": "removed", "cause": "boredom"}]
)
def test_a_row_that_is_no_event_is_refused(row):
    with pytest.raises(ValueError, match="kind"):
        event_from_json(row)
