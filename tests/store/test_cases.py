"""Situations that broke similar systems, each as its small input and the right outcome."""

from __future__ import annotations

import numpy as np
import pytest

from mlxcel_lab.store import CacheKey, Diverged, Hit, NoCandidate, Origin, RejectReason, Snapshot, prefix_tree

from .making import NOBODY, A, lengths, make_store, model_key, snap

BOUNDARY, COMPLETION = Origin.BOUNDARY, Origin.COMPLETION


def test_inserts_without_a_lookup_in_between_never_pass_the_budget() -> None:
    store = make_store(capacity=100)
    for i in range(200):
        store.insert(A, snap([i], 1 + i % 40))
        assert store.total_bytes <= 100
    assert store.peak_bytes <= 100


def test_one_oversized_insert_leaves_the_others_untouched() -> None:
    store = make_store(capacity=10)
    for i in range(3):
        store.insert(A, snap([i], 3))
    assert store.insert(A, snap([9], 11)).rejected == RejectReason.OVERSIZED
    assert len(store) == 3
    assert store.stats().evictions_lru == 0


def test_a_budget_for_one_snapshot_lets_the_next_turn_take_over_without_an_eviction() -> None:
    store = make_store(capacity=100)
    for turn in range(1, 6):
        store.insert(A, snap(range(10 * turn), 100))
        assert len(store) == 1
    stats = store.stats()
    assert (stats.supersedes, stats.evictions_lru, stats.self_evictions) == (4, 0, 0)


def test_of_prompts_with_nothing_in_common_the_last_that_fit_hit() -> None:
    store = make_store(capacity=5 * 7)
    for i in range(18):
        store.insert(A, snap([i, *range(40)], 7))
    assert store.total_bytes <= 35
    hits = [i for i in range(18) if isinstance(store.lookup(A, [i, *range(40), 99]), Hit)]
    assert hits == [13, 14, 15, 16, 17]


@pytest.mark.parametrize(("rule", "most"), [("origin", 2), ("session", 1)])
def test_a_twenty_turn_chain_keeps_at_most_one_entry_an_origin(rule: str, most: int) -> None:
    store = make_store(rule=rule)
    for turn in range(20):
        start = 30 * turn
        store.insert(A, snap(range(start + 10), origin=BOUNDARY))
        store.insert(A, snap(range(start + 25), origin=COMPLETION))
        assert len(store) <= most
        by_origin = [entry.snapshot.origin for entry in store.entries()]
        assert len(by_origin) == len(set(by_origin))


def test_statistics_tell_a_bounded_cache_from_a_leak() -> None:
    store = make_store(capacity=30)
    for i in range(50):
        store.insert(A, snap([i], 10))
    stats = store.stats()
    assert (stats.bytes, stats.peak_bytes, stats.capacity_bytes) == (30, 30, 30)
    payload = store.stats_payload()
    assert (
        payload["snapshot_bytes"]
        == payload["snapshot_peak_bytes"]
        == payload["snapshot_capacity_bytes"]
        == 30
    )


def test_a_boundary_still_hits_where_the_completion_diverged() -> None:
    store = make_store()
    history = [*range(150)]
    store.insert(A, snap(history, origin=BOUNDARY))
    store.insert(A, snap([*history, *range(1_000, 1_020)], origin=COMPLETION))
    hit = store.lookup(A, [*history, *range(2_000, 2_034)], reserve=1)
    assert (hit.cached_tokens, hit.truncated) == (150, False)
    store.insert(A, snap([*history, *range(2_000, 2_034)], origin=BOUNDARY))
    assert lengths(store) == [170, 184]  # the completion is no prefix of the new boundary


def test_one_token_stored_one_token_asked_and_nothing_asked() -> None:
    store = make_store()
    assert isinstance(store.lookup(A, []), NoCandidate)
    store.insert(A, snap([5]))
    assert store.lookup(A, [5]).cached_tokens == 1
    assert store.lookup(A, [5, 6], reserve=1).cached_tokens == 1
    assert isinstance(
        store.lookup(A, [5], lambda *_: True, reserve=1), Diverged
    )  # nothing would be left to reuse
    empty = store.lookup(A, [], lambda *_: True)
    assert (empty.common_prefix_len, empty.stored_len) == (0, 1)


def test_the_last_forks_ancestor_is_not_the_first_victim_for_being_short() -> None:
    store = make_store(max_entries=3, rule="off")
    trunk = np.arange(10_000, dtype=np.int32)
    for other in (1, 2):
        store.insert(A, snap([*trunk[:9_000], -other]))
    store.insert(A, snap(trunk[:8_192]))  # the third conversation forks here
    store.insert(A, snap([*trunk[:8_192], -3]))
    assert store.lookup(A, [*trunk[:8_192], -4]).cached_tokens == 8_192


def test_sharing_ends_at_the_token_where_it_ends() -> None:
    store = make_store()
    shared = [*range(1_500)]
    store.insert(A, snap([*shared, *range(5_000, 5_700)]))
    miss = store.lookup(A, [*shared, *range(6_000, 6_700)])
    assert (miss.common_prefix_len, miss.stored_len) == (1_500, 2_200)


def test_every_donation_that_was_skipped_has_a_counted_reason() -> None:
    store = make_store(min_prefix=2, capacity=10)
    offered = [snap([1]), snap([1, 2], 11), snap([1, 2], 5), snap([3], 99)]
    refused = [store.insert(A, snapshot).rejected for snapshot in offered]
    assert refused == ["prefix_too_short", "oversized", None, "prefix_too_short"]
    assert store.stats().rejected == 3
    assert store.stats().inserts + store.stats().rejected == len(offered)
    assert make_store(enabled=False).insert(A, snap([1])).rejected == RejectReason.DISABLED


def test_the_same_prompt_twice_in_a_row_hits() -> None:
    store = make_store()
    prompt = [*range(50)]
    store.insert(A, snap(prompt))
    assert store.lookup(A, prompt).cached_tokens == 50
    assert store.lookup(A, prompt).cached_tokens == 50
    assert store.lookup(A, prompt, lambda *_: True, reserve=1).cached_tokens == 49


def test_a_reply_that_retokenises_shorter_diverges_and_says_where() -> None:
    store = make_store()
    prompt, sampled, again = (
        [*range(200)],
        [*range(1_000, 1_120)],
        [*range(1_000, 1_090), *range(3_000, 3_028)],
    )
    store.insert(A, snap(prompt + sampled))
    miss = store.lookup(A, prompt + again + [7])
    assert (miss.common_prefix_len, miss.stored_len) == (290, 320)


def test_a_whole_prompt_hit_leaves_one_token_to_run_by_truncation_or_by_the_next_shorter() -> None:
    store = make_store(rule="off")
    prompt = [*range(40)]
    store.insert(A, snap(prompt[:30]))
    store.insert(A, snap(prompt))
    cut = store.lookup(A, prompt, lambda _snapshot, length: length == 39, reserve=1)
    assert (cut.cached_tokens, cut.truncated, cut.snapshot.num_tokens) == (39, True, 40)
    shorter = store.lookup(A, prompt, lambda *_: False, reserve=1)
    assert (shorter.cached_tokens, shorter.truncated, shorter.snapshot.num_tokens) == (30, False, 30)
    store.clear()
    store.insert(A, snap(prompt))
    cold = store.lookup(A, prompt, reserve=1)
    assert (cold.common_prefix_len, cold.stored_len) == (40, 40)


@pytest.mark.parametrize("can_truncate", [None, lambda *_: False])
def test_a_snapshot_longer_than_the_request_is_no_hit_in_an_untrimmable_family(can_truncate) -> None:
    store = make_store()
    store.insert(A, snap(range(50)))
    miss = store.lookup(A, range(40), can_truncate)
    assert (miss.common_prefix_len, miss.stored_len) == (40, 50)


def test_two_models_served_in_turn_never_see_each_others_state() -> None:
    store, tokens = make_store(), [*range(64)]
    for turn in range(4):
        for model in ("m", "n"):
            outcome = store.lookup(model_key(model), tokens)
            assert isinstance(outcome, Hit) == (turn > 0)
            assert turn == 0 or outcome.snapshot.state == model
            store.insert(model_key(model), snap(tokens, state=model))


def test_the_donors_own_vector_may_change_afterwards() -> None:
    store = make_store()
    tokens = np.arange(10, dtype=np.int32)
    store.insert(A, Snapshot(tokens, 1))
    tokens[:] = 0
    assert store.lookup(A, range(10)).cached_tokens == 10


def test_keys_that_read_alike_differ_and_nobody_shares_with_no_one() -> None:
    ours = CacheKey(model_key("org_1").bucket, "2345")
    theirs = CacheKey(model_key("org_12345").bucket, "")
    assert ours.digest() != theirs.digest()
    assert len({key.digest() for key in (NOBODY, CacheKey(session=""), CacheKey(session="-"))}) == 3
    store = make_store()
    store.insert(ours, snap([1, 2]))
    store.insert(CacheKey(session=""), snap([1, 2]))
    assert isinstance(store.lookup(theirs, [1, 2]), NoCandidate)
    assert isinstance(store.lookup(NOBODY, [1, 2]), NoCandidate)


def test_a_long_request_that_diverges_half_way_is_compared_only_that_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, compared = make_store(), []
    real = prefix_tree.common_prefix

    def counting(a: np.ndarray, b: np.ndarray, start: int = 0) -> int:
        end = real(a, b, start)
        compared.append(end - start)
        return end

    monkeypatch.setattr(prefix_tree, "common_prefix", counting)
    stored = np.arange(131_072, dtype=np.int32)
    asked = stored.copy()
    asked[65_536:] += 1
    store.insert(A, snap(stored))
    miss = store.lookup(A, asked)
    assert miss.common_prefix_len == 65_536
    assert compared == [65_536]


@pytest.mark.parametrize("shared", [0, 3, 8])
def test_whoever_shares_too_little_to_serve_is_not_asked_whether_it_can_be_cut(shared: int) -> None:
    store, asked = make_store(min_prefix=4), []
    for number in range(50):
        store.insert(A, snap([*range(shared), 100 + number, 0, 0, 0, 0], origin=Origin.BOUNDARY))
    miss = store.lookup(A, range(8), lambda snapshot, length: asked.append(length))
    assert isinstance(miss, Diverged)
    assert asked == ([] if shared < 4 else [8] * 50)
