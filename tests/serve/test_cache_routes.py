"""The cache from outside: stats, entries, the journal as lines, metrics, reset."""

import json

import pytest

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.serve.cache import stats_body
from mlxcel_lab.store import Bucket, CacheKey, Snapshot, SnapshotStore
from mlxcel_lab.store.wire import event_to_json

from .conftest import SYSTEM

HELLO = [SYSTEM, {"role": "user", "content": "Is the upper hut open?"}]
WIRE_NAMES = {
    "snapshot_entries", "snapshot_bytes", "snapshot_bytes_per_entry", "snapshot_capacity_bytes", "snapshot_max_entries",
    "snapshot_hits", "snapshot_lookups", "snapshot_hit_rate", "snapshot_inserts", "snapshot_evictions_lru",
    "snapshot_evictions_ttl", "snapshot_supersedes", "snapshot_self_evictions", "snapshot_rejections_oversized",
    "snapshot_replacements",
}  # fmt: skip


@pytest.mark.parametrize("enabled", [True, False])
def test_the_stats_have_mlxcels_names_and_the_settings_beside_them(enabled):
    store = SnapshotStore(PromptCacheConfig(enabled=enabled, snapshot_ttl_seconds=123, min_prefix_tokens=7))
    body = stats_body(store)
    assert body.keys() >= WIRE_NAMES
    assert body["enabled"] is enabled
    assert (body["snapshot_ttl_seconds"], body["min_prefix_tokens"]) == (123, 7)
    json.dumps(body)


def test_entries_say_sizes_ages_and_whom_each_replaced(served):
    reply = served.chat(HELLO, user="a").choices[0].message.content
    longer = [*HELLO, {"role": "assistant", "content": reply}, {"role": "user", "content": "Until when?"}]
    served.chat(longer, user="a")
    rows = served.http.get("/v1/cache/entries").json()["entries"]
    assert [row["bytes"] for row in rows] == [e.snapshot.size_bytes for e in served.engine.store.entries()]
    assert all(row["age_seconds"] >= row["idle_seconds"] >= 0 for row in rows)
    assert {tuple(row["lineage"]) for row in rows} == {(0,), (1,)}


def test_the_journal_comes_as_lines_from_any_event_on(served):
    served.chat(HELLO, user="a")
    journal = served.engine.store.journal
    lines = served.http.get("/v1/cache/events").text.splitlines()
    assert [json.loads(line) for line in lines] == [event_to_json(event) for event in journal]
    assert served.http.get("/v1/cache/events", params={"since": 2}).text.splitlines() == lines[2:]
    assert served.http.get("/v1/cache/events", params={"since": 999}).text == ""


def test_a_follower_gets_what_comes_after_it_asked(served):
    params = {"since": len(served.engine.store.journal), "follow": True}
    with served.http.stream("GET", "/v1/cache/events", params=params) as answer:
        served.engine.store.note("later", {"n": 1})
        assert json.loads(next(answer.iter_lines()))["topic"] == "later"


def test_stopping_the_server_ends_a_followers_answer(serve):
    served = serve()
    with served.http.stream("GET", "/v1/cache/events", params={"follow": True}) as answer:
        lines = answer.iter_lines()
        next(lines)
        served.stop()
        assert list(lines) == []


def test_a_reset_empties_the_store_and_counts_what_it_removed(served):
    served.chat(HELLO, user="a")
    before = served.stats
    answer = served.http.post("/v1/cache/reset").json()
    assert answer == {"removed": before["snapshot_entries"], "freed_bytes": before["snapshot_bytes"]}
    assert served.stats["snapshot_entries"] == 0


def _metrics(served):
    lines = served.http.get("/metrics").text.splitlines()
    return {
        name: float(value) for name, value in (li.rsplit(" ", 1) for li in lines if not li.startswith("#"))
    }


def test_every_removal_shows_in_some_counter(served):
    store, key = served.engine.store, CacheKey(Bucket(), "s")
    for length in (40, 41, 41, 50):
        store.insert(key, Snapshot([1] * length, 10))
    store.insert(key, Snapshot([2] * 40, store.config.snapshot_capacity_bytes))
    store.insert(key, Snapshot([3] * 40, 10))
    store.insert(key, Snapshot([4] * 2, 10))
    served.http.post("/v1/cache/reset")
    store.insert(key, Snapshot([5] * 40, 7))
    seen, prefix = _metrics(served), "mlxcel_prompt_cache_snapshot_"
    removals = ("supersedes_total", "replacements_total", "cleared_total",
                'evictions_total{reason="lru"}', 'evictions_total{reason="ttl"}')  # fmt: skip
    removed = sum(seen[prefix + name] for name in removals)
    assert all(seen[prefix + name] > 0 for name in removals[:-1])
    assert seen[prefix + "inserts_total"] - removed == seen[prefix + "entries"] == 1
    assert seen[prefix + "bytes"] == 7
    assert seen['mlxcel_prompt_cache_reject_total{reason="prefix_too_short"}'] == 1


def test_the_time_to_first_token_is_a_histogram_by_outcome(served):
    for _ in range(2):
        served.chat(HELLO, user="a")
    seen = _metrics(served)
    assert seen['mlxcel_time_to_first_token_seconds_count{outcome="miss"}'] == 1
    assert seen['mlxcel_time_to_first_token_seconds_count{outcome="hit"}'] == 1
    assert seen["mlxcel_prompt_cache_snapshot_hits_total"] == 1
    assert (
        seen["mlxcel_prompt_cache_snapshot_tokens_reused_total"] == served.stats["snapshot_tokens_reused"] > 0
    )
