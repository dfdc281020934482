"""The store's contract, one sentence a test; `test_store_model.py` has every mixture of them."""

from __future__ import annotations

import gc
import logging
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.store import (
    Bucket,
    CacheKey,
    Diverged,
    Hit,
    IntegrityError,
    Journal,
    NoCandidate,
    Origin,
    RejectReason,
    RemovalCause,
    Snapshot,
    SupersedeRule,
)

from .making import NOBODY, A, B, Clock, lengths, make_store, model_key, snap

BOUNDARY, COMPLETION = Origin.BOUNDARY, Origin.COMPLETION

ROW = st.lists(st.integers(0, 1), min_size=1, max_size=6)


def test_a_conversations_chain_collapses_to_its_longest_snapshot() -> None:
    store = make_store()
    for length in (10, 20, 30):
        store.insert(A, snap(range(length)))
    assert lengths(store) == [30]
    assert store.stats().supersedes == 2


def test_two_sessions_never_touch_each_other() -> None:
    store = make_store()
    store.insert(A, snap([1, 2]))
    store.insert(B, snap([1, 2, 3]))
    assert lengths(store) == [2, 3]
    assert isinstance(store.lookup(A, [1, 2, 3]), Hit)
    assert store.lookup(A, [1, 2, 3]).cached_tokens == 2


def test_without_a_session_nothing_is_superseded_but_all_is_found() -> None:
    store = make_store(rule="session")
    store.insert(NOBODY, snap([1, 2]))
    store.insert(NOBODY, snap([1, 2, 3]))
    assert lengths(store) == [2, 3]
    assert store.lookup(NOBODY, [1, 2, 3, 4]).cached_tokens == 3


def test_forks_and_equal_lengths_are_kept() -> None:
    store = make_store(rule="session")
    for tokens in ([1, 2, 3], [1, 2, 4], [1, 2, 3, 5], [1, 2, 4, 5, 6]):
        store.insert(A, snap(tokens))
    assert lengths(store) == [4, 5]
    store.insert(A, snap([1, 2, 3, 6]))
    assert lengths(store) == [4, 5, 4]


def test_superseding_frees_bytes_before_the_budget_is_checked() -> None:
    store = make_store(capacity=10_000)
    store.insert(A, snap([1, 2], 8_000))
    result = store.insert(A, snap([1, 2, 3], 9_000))
    assert [r.cause for r in result.removed] == [RemovalCause.SUPERSEDED]
    stats = store.stats()
    assert (stats.entries, stats.supersedes, stats.evictions_lru, stats.bytes) == (1, 1, 0, 9_000)


@pytest.mark.parametrize(("rule", "left"), [("off", [2, 3, 4]), ("session", [4]), ("origin", [3, 4])])
def test_the_rule_in_force_says_which_ancestors_go(rule: str, left: list[int]) -> None:
    store = make_store(rule=rule)
    store.insert(A, snap([1, 2], origin=COMPLETION))
    store.insert(A, snap([1, 2, 3], origin=BOUNDARY))
    store.insert(A, snap([1, 2, 3, 4], origin=COMPLETION))
    assert lengths(store) == left


def test_an_oversized_snapshot_is_refused_before_it_supersedes() -> None:
    store = make_store(capacity=10)
    store.insert(A, snap([1, 2], 5))
    result = store.insert(A, snap([1, 2, 3], 11))
    assert (result.rejected, result.snapshot_id, result.resident) == (RejectReason.OVERSIZED, None, False)
    assert lengths(store) == [2]
    assert store.insert(A, snap([1, 2, 3], 10)).accepted  # strictly over the budget, not equal to it


def test_disabled_comes_before_too_short_and_too_short_before_oversized() -> None:
    assert make_store(enabled=False, min_prefix=9, capacity=1).insert(A, snap([1], 5)).rejected == "disabled"
    assert make_store(min_prefix=9, capacity=1).insert(A, snap([1], 5)).rejected == "prefix_too_short"
    assert make_store(capacity=1).insert(A, snap([1], 5)).rejected == "oversized"


def test_the_same_tokens_again_replace_and_are_counted_apart_from_evictions() -> None:
    store = make_store()
    store.insert(A, snap([1, 2], 5, state="old"))
    result = store.insert(A, snap([1, 2], 7, BOUNDARY, state="new"))
    assert [r.cause for r in result.removed] == [RemovalCause.REPLACED]
    assert store.lookup(A, [1, 2]).snapshot.state == "new"
    stats = store.stats()
    assert (stats.replacements, stats.evictions_lru, stats.bytes) == (1, 0, 7)
    assert store.stats_payload()["snapshot_evictions_lru"] == 1  # as mlxcel counts


def test_the_least_recently_used_goes_first_and_only_a_hit_refreshes() -> None:
    store = make_store(max_entries=3)
    for first in (1, 2, 3):
        store.insert(A, snap([first, 0]))
    store.lookup(A, [2, 9])  # a miss: 2 stays where it is
    store.lookup(A, [1, 0, 5])  # a hit: 1 is the newest now
    assert [e.snapshot.tokens[0] for e in store.entries()] == [2, 3, 1]
    removed = store.insert(A, snap([4, 0])).removed
    assert [r.snapshot_id for r in removed] == [1]


def test_entries_are_evicted_before_bytes_and_the_newcomer_can_be_the_victim() -> None:
    nothing_stays = make_store(max_entries=0)
    result = nothing_stays.insert(A, snap([1], 5))
    assert result.accepted
    assert not result.resident
    assert [r.snapshot_id for r in result.removed] == [result.snapshot_id]
    assert (len(nothing_stays), nothing_stays.total_bytes, nothing_stays.peak_bytes) == (0, 0, 0)


def test_zero_sized_snapshots_fit_a_budget_of_nothing() -> None:
    store = make_store(capacity=0)
    assert store.insert(A, snap([1], 0)).resident
    assert store.insert(A, snap([2], 1)).rejected == "oversized"


def test_a_session_that_evicts_itself_is_counted_and_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    store = make_store(max_entries=1)
    with caplog.at_level(logging.WARNING, "mlxcel_lab.store"):
        for first in (1, 2, 3):
            store.insert(A, snap([first]))
        store.insert(B, snap([4]))  # evicts a's: not its own
        store.insert(NOBODY, snap([5]))
        store.insert(NOBODY, snap([6]))  # nobody's conversation has no own
    assert store.stats().self_evictions == 2
    assert [record.args[0] for record in caplog.records] == ["a"]


def test_idle_snapshots_expire_at_the_time_to_live_exactly() -> None:
    clock = Clock()
    store = make_store(ttl=10, clock=clock)
    store.insert(A, snap([1]))
    store.insert(A, snap([2]))
    clock.now = 9.0
    store.lookup(A, [1])  # refreshed
    clock.now = 10.0
    assert [r.cause for r in store.expire()] == [RemovalCause.EXPIRED]
    assert [e.snapshot.tokens[0] for e in store.entries()] == [1]
    clock.now = 19.0
    assert isinstance(store.lookup(A, [1]), NoCandidate)  # a lookup expires first
    assert store.stats().evictions_ttl == 2


def test_without_a_time_to_live_nothing_expires() -> None:
    clock = Clock()
    store = make_store(ttl=0, clock=clock)
    store.insert(A, snap([1]))
    clock.now = 1e12
    assert store.expire() == ()
    assert isinstance(store.lookup(A, [1]), Hit)


def test_a_clock_that_falls_back_stands_still() -> None:
    clock = Clock()
    store = make_store(ttl=10, clock=clock)
    clock.now = 100.0
    store.insert(A, snap([1]))
    clock.now = 5.0
    store.insert(A, snap([2]))
    assert [e.last_used_at for e in store.entries()] == [100.0, 100.0]


def test_truncation_serves_only_where_no_stored_prefix_does() -> None:
    store = make_store(rule="off")
    store.insert(A, snap([1, 2]))
    store.insert(A, snap([1, 2, 3, 4, 5]))
    assert store.lookup(A, [1, 2, 3, 4, 9], lambda *_: True).cached_tokens == 2
    store.clear()
    store.insert(A, snap([1, 2, 3, 4, 5]))
    hit = store.lookup(A, [1, 2, 3, 4, 9], lambda *_: True)
    assert (hit.cached_tokens, hit.truncated) == (4, True)
    assert store.stats().truncated_hits == 1


def test_truncation_is_offered_by_falling_common_prefix_until_it_is_allowed() -> None:
    store, offered = make_store(), []
    for tokens in ([1, 9, 9], [1, 2, 8], [1, 2, 3, 7], [5]):
        store.insert(A, snap(tokens))

    def can_truncate(snapshot: Snapshot, length: int) -> bool:
        offered.append((snapshot.tokens.tolist(), length))
        return length == 1

    assert store.lookup(A, [1, 2, 3, 4], can_truncate).cached_tokens == 1
    assert offered == [([1, 2, 3, 7], 3), ([1, 2, 8], 2), ([1, 9, 9], 1)]


def test_the_minimum_holds_for_what_truncation_leaves() -> None:
    store = make_store(min_prefix=3)
    store.insert(A, snap([1, 2, 3, 4]))
    assert isinstance(store.lookup(A, [1, 2, 9], lambda *_: True), Diverged)
    assert store.lookup(A, [1, 2, 3, 9], lambda *_: True).cached_tokens == 3


def test_a_miss_tells_the_nearest_stored_vector() -> None:
    store = make_store()
    store.insert(A, snap([1, 2, 3, 4, 5]))
    store.insert(A, snap([1, 2, 7]))
    miss = store.lookup(A, [1, 2, 3, 9])
    assert (miss.common_prefix_len, miss.stored_len, miss.stored.tolist()) == (3, 5, [1, 2, 3, 4, 5])
    assert store.lookup(A, [9]).common_prefix_len == 0
    assert isinstance(store.lookup(B, [1, 2, 3]), NoCandidate)


def test_a_miss_names_the_longest_ghost_that_would_have_hit_and_what_became_of_it() -> None:
    store = make_store(max_entries=1)
    store.insert(A, snap([1, 2]))
    evictor = store.insert(A, snap([7, 7])).snapshot_id
    ghost = store.lookup(A, [1, 2, 3]).ghost
    assert (ghost.cause, ghost.by, ghost.num_tokens, ghost.tokens.tolist()) == ("evicted", evictor, 2, [1, 2])
    assert store.journal[ghost.seq].snapshot_id == ghost.snapshot_id
    assert store.lookup(A, [1, 3]).ghost is None


def test_a_ghost_that_no_lookup_could_have_hit_is_not_named() -> None:
    store = make_store(min_prefix=3, capacity=10)
    store.insert(A, snap([1, 2]))
    assert store.lookup(A, [1, 2, 3, 4]).ghost is None
    store.insert(A, snap([1, 2, 3], 11))
    assert store.lookup(A, [1, 2, 3, 4]).ghost.cause is RejectReason.OVERSIZED
    assert store.lookup(A, [1, 2, 3], reserve=1).ghost is None


def test_a_refused_snapshot_leaves_a_ghost_and_an_admitted_one_takes_its_place() -> None:
    store = make_store(capacity=10)
    store.insert(A, snap([1, 2, 3], 11))
    missed = store.lookup(A, [1, 2, 3, 4])
    assert isinstance(missed, NoCandidate)
    assert (missed.ghost.cause, missed.ghost.snapshot_id) == (RejectReason.OVERSIZED, None)
    store.insert(A, snap([1, 2, 3], 9))
    assert store.stats().ghosts == 0


def test_ghosts_are_bounded_in_count_and_in_tokens() -> None:
    store = make_store(max_entries=0, max_ghosts=3, max_ghost_tokens=100)
    for first in range(10):
        store.insert(A, snap([first, 0]))
    assert store.stats().ghosts == 3
    store.insert(A, snap(range(100)))
    assert store.stats().ghosts == 1
    store.insert(A, snap(range(101)))
    assert store.stats().ghosts == 0
    store.check_integrity()


def test_clear_removes_everything_and_keeps_the_counts() -> None:
    store = make_store()
    store.insert(A, snap([1], 3))
    store.insert(B, snap([2], 4))
    assert [(r.cause, r.size_bytes) for r in store.clear()] == [("cleared", 3), ("cleared", 4)]
    assert (len(store), store.total_bytes, store.peak_bytes, store.stats().inserts) == (0, 0, 7, 2)
    assert store.clear() == ()


def test_trimming_evicts_the_least_recently_used_and_blames_no_session() -> None:
    store = make_store()
    for first in range(4):
        store.insert(A, snap([first], 10))
    store.lookup(A, [0])
    assert [r.snapshot_id for r in store.trim(max_entries=3)] == [1]
    assert [r.snapshot_id for r in store.trim(max_bytes=15)] == [2, 3]
    assert store.trim() == ()
    stats = store.stats()
    assert (stats.entries, stats.evictions_lru, stats.self_evictions) == (1, 3, 0)
    assert [r.snapshot_id for r in store.trim(max_bytes=-1)] == [0]  # as the peer's trim_to takes it
    store.check_integrity()


def test_a_readers_snapshot_outlives_its_place_in_the_store() -> None:
    store = make_store()
    state = ["tensors"]
    store.insert(A, snap([1, 2], state=state))
    held = store.lookup(A, [1, 2])
    store.insert(A, snap([1, 2, 3]))
    assert held.snapshot.state is state


class _State:
    pass


@pytest.mark.parametrize("max_ghosts", [0, 100])
def test_a_removed_state_is_let_go_at_once(max_ghosts: int) -> None:
    store = make_store(max_entries=2, max_ghosts=max_ghosts)
    states = []
    for turn in range(1, 6):
        state = _State()
        states.append(weakref.ref(state))
        store.insert(A, snap(range(turn), state=state))  # each supersedes the one before
        store.insert(A, snap([100 + turn], state=state))
    del state
    gc.collect()
    assert [ref() is not None for ref in states] == [False, False, False, False, True]


def test_a_removed_vector_is_let_go_once_its_ghost_is_forgotten() -> None:
    store = make_store(rule="off", max_ghosts=0, journal=Journal(keep_tokens=False), max_entries=3)
    vectors = []
    for fork in range(6):
        tokens = np.array([*range(50), fork], np.int32)
        tokens.flags.writeable = False
        vectors.append(weakref.ref(tokens))
        store.insert(A, snap(tokens))
    del tokens
    gc.collect()
    assert [ref() is not None for ref in vectors] == [False] * 3 + [True] * 3


@pytest.mark.parametrize(
    "call",
    [
        lambda s: s.insert("a", snap([1])),
        lambda s: s.insert(CacheKey(session=7), snap([1])),
        lambda s: s.insert(CacheKey(Bucket(model_id=None)), snap([1])),
        lambda s: s.insert(A, [1, 2]),
        lambda s: s.insert(A, snap([])),
        lambda s: s.insert(A, snap([1.5])),
        lambda s: s.insert(A, snap([1], -1)),
        lambda s: s.insert(A, snap([1], 1.5)),
        lambda s: s.insert(A, snap([1], True)),
        lambda s: s.insert(A, snap([1], origin="reply")),
        lambda s: s.lookup(A, ["a"]),
        lambda s: s.lookup(None, [1]),
        lambda s: s.lookup(A, [1], reserve=-1),
        lambda s: s.lookup(A, [1], reserve=True),
    ],
)
def test_a_bad_argument_raises_before_anything_changes(call) -> None:
    store = make_store()
    store.insert(A, snap([1, 2, 3]))
    before = store.stats(), len(store.journal), store.entries()[0].last_used_at
    with pytest.raises((TypeError, ValueError), match=r"expected|reused"):
        call(store)
    assert (store.stats(), len(store.journal), store.entries()[0].last_used_at) == before


def test_plain_values_of_the_right_kind_are_taken_and_normalised() -> None:
    store = make_store()
    store.insert(A, Snapshot((1, 2), np.int64(5), "boundary"))
    kept = store.entries()[0].snapshot
    assert (kept.tokens.dtype, type(kept.size_bytes), kept.origin) == (np.int32, int, BOUNDARY)


def test_a_snapshot_that_needs_no_conversion_is_kept_as_the_same_object() -> None:
    store = make_store()
    tokens = np.array([1, 2], np.int32)
    tokens.flags.writeable = False
    given = snap(tokens)
    store.insert(A, given)
    assert store.lookup(A, [1, 2]).snapshot is given


def test_a_rule_of_ones_own_admits_supersedes_and_learns() -> None:
    class OnlyEven(SupersedeRule):
        name = "even"

        def __init__(self) -> None:
            self.seen: list[tuple[str, int]] = []

        def admits(self, key: CacheKey, newcomer: Snapshot) -> bool:
            return newcomer.num_tokens % 2 == 0

        def supersedes(self, key: CacheKey, newcomer: Snapshot, ancestor: Snapshot) -> bool:
            return newcomer.num_tokens - ancestor.num_tokens == 2

        def saw_insert(self, key: CacheKey, newcomer: Snapshot) -> None:
            self.seen.append(("insert", newcomer.num_tokens))

        def saw_lookup(self, key: CacheKey, tokens: np.ndarray, outcome: object) -> None:
            self.seen.append((type(outcome).__name__, len(tokens)))

    rule = OnlyEven()
    store = make_store(rule=rule)
    for length in (2, 3, 4, 8):
        store.insert(A, snap(range(length)))
    store.lookup(A, range(5))
    assert lengths(store) == [8, 4]  # 4 replaced 2; 8 left 4; 3 was declined
    assert store.stats().rejections[RejectReason.RULE] == 1
    assert rule.seen == [("insert", n) for n in (2, 3, 4, 8)] + [("Hit", 5)]


def test_a_rule_that_fails_leaves_the_store_as_it_was() -> None:
    class Broken(SupersedeRule):
        def supersedes(self, key: CacheKey, newcomer: Snapshot, ancestor: Snapshot) -> bool:
            raise RuntimeError("broken rule")

    store = make_store(rule=Broken())
    store.insert(A, snap([1]))
    before = store.stats()
    with pytest.raises(RuntimeError, match="broken rule"):
        store.insert(A, snap([1, 2]))
    assert store.stats() == before
    store.check_integrity()


def test_the_same_operations_give_the_same_events_always() -> None:
    def run() -> list[str]:
        store = make_store(max_entries=3, capacity=40)
        for i in range(40):
            store.insert(A if i % 3 else B, snap([i % 4, i % 5, *range(i % 7)], 7 + i % 9))
            store.lookup(A, [i % 4, i % 5, 0, 1], lambda _s, n: n == 2)
        return [repr(event) for event in store.journal]

    assert run() == run()


def test_many_threads_leave_the_store_whole() -> None:
    store = make_store(capacity=300, max_entries=40, journal=Journal(max_events=100))
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        try:
            for _ in range(300):
                tokens = random.integers(0, 3, random.integers(1, 9))
                key = (A, B, NOBODY)[seed % 3]
                store.insert(key, snap(tokens, int(random.integers(1, 30))))
                outcome = store.lookup(key, tokens, lambda *_: True)
                if isinstance(outcome, Hit):
                    cached = outcome.cached_tokens
                    assert outcome.snapshot.tokens[:cached].tolist() == tokens[:cached].tolist()
                store.stats_payload()
                store.journal.since(-1)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    store.check_integrity()
    assert store.stats().inserts == 6 * 300


def test_integrity_names_what_disagrees() -> None:
    store = make_store()
    store.insert(A, snap([1, 2], 5))
    store._index.total_bytes = 6
    with pytest.raises(IntegrityError, match=r"bytes: 6, expected 5"):
        store.check_integrity()


def test_the_store_and_its_stats_are_one_line_and_a_small_table() -> None:
    store = make_store()
    store.insert(A, snap([1], 1_500))
    assert repr(store) == "SnapshotStore(1 of 4096 entries, 1,500 of 1,000,000 bytes, rule=origin)"
    assert "bytes=1,500 of 1,000,000, peak=1,500" in repr(store.stats())
    assert "1 of 4,096 entries, 1,500 of 1,000,000 bytes, 1,500 at the peak" in store._repr_html_()


def test_an_empty_store_is_not_nothing() -> None:
    assert make_store()


def test_the_wire_has_mlxcels_names() -> None:
    store = make_store(capacity=10, min_prefix=2)
    store.insert(A, snap([1, 2], 4))
    store.insert(A, snap([1], 4))
    store.insert(A, snap([1, 2, 3], 11))
    store.lookup(A, [1, 2, 3])
    payload = store.stats_payload()
    shown = {name: value for name, value in payload.items() if value not in (0, None)}
    assert shown.pop("last_reject_at_unix_ms") > 1e12
    assert shown == {
        "snapshot_entries": 1, "snapshot_bytes": 4, "snapshot_bytes_per_entry": 4, "snapshot_peak_bytes": 4,
        "snapshot_capacity_bytes": 10, "snapshot_max_entries": 4096, "snapshot_hits": 1, "snapshot_lookups": 1,
        "snapshot_hit_rate": 1.0, "snapshot_tokens_reused": 2, "snapshot_inserts": 1,
        "snapshot_rejections_oversized": 1, "reject_prefix_too_short": 1, "reject_oversized": 1,
        "last_reject_reason": "oversized", "last_reject_session": "a", "last_reject_context_len": 3,
        "last_reject_bytes": 11,
    }  # fmt: skip
    assert {
        "snapshot_evictions_lru", "snapshot_evictions_ttl", "snapshot_supersedes", "snapshot_self_evictions",
        "snapshot_replacements", "reject_disabled", "reject_rule", "reject_snapshot_diverged", "last_reject_entry_len",
    } <= payload.keys()  # fmt: skip


def test_a_diverged_request_is_the_last_reject_with_its_geometry() -> None:
    store = make_store()
    store.insert(A, snap(range(139)))
    store.lookup(A, [*range(90), 500])
    payload = store.stats_payload()
    assert payload["reject_snapshot_diverged"] == 1
    assert payload["last_reject_reason"] == "snapshot_diverged"
    assert (payload["last_reject_context_len"], payload["last_reject_entry_len"]) == (90, 139)


def test_a_journal_that_tells_another_story_is_refused() -> None:
    journal = Journal()
    make_store(journal=journal)
    with pytest.raises(ValueError, match="its own, empty"):
        make_store(journal=journal)


def test_keys_are_whole_values_in_any_field() -> None:
    store = make_store()
    store.insert(model_key("m"), snap([1, 2]))
    assert isinstance(store.lookup(model_key("m"), [1, 2]), Hit)
    for other in (Bucket("m", lora_id="l"), Bucket("m", template_sig="t"), Bucket("m", mm_digest="d")):
        assert isinstance(store.lookup(CacheKey(other, "a"), [1, 2]), NoCandidate)


@given(st.lists(st.tuples(st.sampled_from([A, B, NOBODY]), ROW), max_size=12), ROW)
def test_the_longest_prefix_is_found_without_a_trace(stored: list, asked: list[int]) -> None:
    store = make_store(rule="off", max_entries=6)
    for key, tokens in stored:
        store.insert(key, snap(tokens))

    def seen() -> list[tuple]:
        told = [(e.snapshot_id, e.hits, e.last_used_at) for e in store.entries()]
        return [*told, (store.stats(), store.journal.next_seq)]

    before = seen()
    for key in (A, B, NOBODY):
        under = [e for e in store.entries() if e.key == key]
        prefixes = [e for e in under if e.snapshot.tokens.tolist() == asked[: e.snapshot.num_tokens]]
        longest = max(prefixes, key=lambda e: e.snapshot.num_tokens, default=None)
        found = store.longest_prefix(key, asked)
        assert (found and found.snapshot_id) == (longest and longest.snapshot_id)
        if found is not None:
            assert found.snapshot is longest.snapshot
    assert seen() == before
    store.check_integrity()


def test_the_longest_prefix_of_what_is_no_key_or_no_tokens_is_refused() -> None:
    store = make_store()
    with pytest.raises(TypeError, match="expected a CacheKey"):
        store.longest_prefix("a", [1])
    with pytest.raises(TypeError, match=r"token 1\.5 at position 0"):
        store.longest_prefix(A, [1.5])
    assert store.longest_prefix(A, []) is None
