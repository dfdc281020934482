"""A foreign server's counters, as mlxcel offers them: polled, turned into rates, drawn, and their limits said."""

import threading

import httpx
import pytest

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.store import Bucket, CacheKey, Snapshot, SnapshotStore
from mlxcel_lab.view.foreign import CANT_TELL, CounterView, CounterWatch

KEY = CacheKey(Bucket(), "s")


def _store():
    return SnapshotStore(PromptCacheConfig(min_prefix_tokens=2, snapshot_capacity_bytes=100))


def _watch(payload, clock=None):
    """A watch on whatever `payload()` says is in the counters now."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=payload()))
    ticks = iter(range(1000))
    return CounterWatch(
        httpx.Client(base_url="http://mlxcel", transport=transport), clock or (lambda: next(ticks))
    )


def test_each_cause_is_counted_between_two_polls_and_replacements_are_no_evictions():
    store = _store()
    watch = _watch(store.stats_payload)
    for tokens, size in (([1, 2], 40), ([1, 2, 3], 40), ([1, 2, 3], 40), ([7, 7], 90), ([8, 8], 101)):
        store.insert(KEY, Snapshot(tokens, size))
    store.lookup(KEY, [7, 7, 7])
    store.lookup(KEY, [9, 9])
    watch.poll()
    watch.poll()
    assert watch.frame().rows(named=True)[1:] == [
        {"seconds": 1, "snapshot_bytes": 90, "snapshot_entries": 1, "hit": 1, "miss": 1, "superseded": 1,
         "replaced": 1, "evicted": 1, "expired": 0, "rejected": 1},
        {"seconds": 2, "snapshot_bytes": 90, "snapshot_entries": 1, "hit": 0, "miss": 0, "superseded": 0,
         "replaced": 0, "evicted": 0, "expired": 0, "rejected": 0},
    ]  # fmt: skip


def test_a_server_that_starts_anew_gives_no_negative_rate():
    counters = [
        {"snapshot_hits": n, "snapshot_lookups": n, "snapshot_bytes": 0, "snapshot_entries": 0}
        for n in (9, 2)
    ]
    watch = _watch(lambda: counters.pop(0))
    watch.poll()
    assert watch.frame()["hit"].to_list() == [0, 2]


def test_the_facts_name_the_last_rejection():
    store = _store()
    store.insert(KEY, Snapshot([8, 8], 101))
    facts = _watch(store.stats_payload).facts()
    assert "reason oversized" in facts["last rejection"]
    assert facts["hit rate"] == "no lookups yet"
    assert facts["rejected"] == "1"


def test_a_budget_far_above_what_is_held_is_not_drawn_and_still_told():
    store = SnapshotStore()
    watch = _watch(store.stats_payload)
    store.insert(KEY, Snapshot([1] * 40, 1000))
    watch.poll()
    assert "budget" not in str(watch.chart().to_dict())
    assert watch.facts()["bytes"] == "1,000 of 536,870,912"


def test_the_chart_shows_the_budget_and_only_what_happened():
    store = _store()
    watch = _watch(store.stats_payload)
    store.insert(KEY, Snapshot([1, 2], 40))
    store.insert(KEY, Snapshot([1, 2, 3], 40))
    watch.poll()
    spec = str(watch.chart().to_dict())
    assert "'budget': 100" in spec
    assert "superseded" in spec
    assert "'domain': ['superseded']" in spec


@pytest.mark.parametrize(
    ("status", "said"), [(404, "has no mlxcel counters"), (401, "API key"), (500, "500")]
)
def test_a_server_that_does_not_answer_with_counters_says_so(status, said):
    transport = httpx.MockTransport(lambda _: httpx.Response(status))
    with pytest.raises(ValueError, match=said):
        CounterWatch(httpx.Client(base_url="http://mlxcel", transport=transport))


@pytest.mark.parametrize("stats", [{}, {"snapshot_bytes": 1}])
def test_a_server_without_the_counters_is_refused_with_what_is_missing(stats):
    with pytest.raises(ValueError, match="snapshot_hits, snapshot_lookups missing"):
        _watch(lambda: stats)


def test_the_view_polls_by_itself_says_what_it_cant_know_and_ends_when_closed(monkeypatch):
    store, polls, often = _store(), [], threading.Event()

    def answer(request):
        polls.append(request)
        if len(polls) == 3:
            often.set()
        return httpx.Response(200, json=store.stats_payload())

    transport = httpx.MockTransport(answer)
    monkeypatch.setattr(
        "mlxcel_lab.view.foreign.client_for",
        lambda address, key=None: httpx.Client(base_url=address, transport=transport),
    )
    view = CounterView("http://mlxcel", seconds=0.001)
    assert often.wait(60)
    view.close()
    assert len(view.watch.frame()) >= 3
    shown = "".join(child.value for child in view.children)
    assert "<svg" in shown
    assert all(text in shown for text in CANT_TELL)
    assert not view._thread.is_alive()
