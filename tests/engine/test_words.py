"""A turn in words: each outcome and each doing of the store has its own."""

from __future__ import annotations

import numpy as np
import pytest

from mlxcel_lab import Origin, PromptCacheConfig, Snapshot, SnapshotStore
from mlxcel_lab.engine.words import ending, reason, shorten, store_did
from mlxcel_lab.store.types import CacheKey

KEY = CacheKey(session="A")


def _store(**config):
    return SnapshotStore(PromptCacheConfig(**{"min_prefix_tokens": 3, **config}))


def _insert(store, tokens, size=10, origin=Origin.COMPLETION):
    return store.insert(KEY, Snapshot(np.array(tokens, dtype=np.int32), size, origin))


@pytest.mark.parametrize(
    ("stored", "asked", "name", "said"),
    [
        ([], [1, 2, 3, 4], "no_candidate", "nothing is stored under this key"),
        ([[1, 2, 3]], [1, 2, 3, 4], "hit", "reused 3 of 4 tokens (a completion snapshot)"),
        ([[1, 2, 3, 9]], [1, 2, 3, 4], "diverged", "agrees for 3 of its 4 tokens, then diverges"),
        ([[1, 2, 3, 4, 5]], [1, 2, 3], "diverged", "longer than the request (5 tokens)"),
    ],
)
def test_each_outcome_has_its_words(stored, asked, name, said):
    store = _store()
    for tokens in stored:
        _insert(store, tokens)
    outcome = store.lookup(KEY, asked)
    assert outcome.name == name
    assert said in reason(outcome, len(asked))


def test_a_truncated_hit_says_from_what_it_was_cut():
    store = _store()
    _insert(store, [1, 2, 3, 9, 9])
    assert "cut from 5" in reason(store.lookup(KEY, [1, 2, 3, 4], lambda *_: True), 4)


def test_a_prefix_that_needs_the_last_token_is_too_short_to_serve():
    store = _store()
    _insert(store, [1, 2, 3])
    assert "longer than the request" in reason(store.lookup(KEY, [1, 2, 3], reserve=1), 3)


def test_a_miss_says_what_became_of_the_snapshot_that_would_have_served():
    store = _store(snapshot_max_entries=1)
    _insert(store, [1, 2, 3])
    _insert(store, [7, 8, 9])
    assert "one of 3 tokens was evicted" in reason(store.lookup(KEY, [1, 2, 3, 4]), 4)


def test_what_the_store_did_is_told_in_order():
    store = _store(snapshot_capacity_bytes=15)
    assert store_did([]) == "nothing was donated"
    _insert(store, [1, 2, 3])
    _insert(store, [1, 2, 3, 4])
    _insert(store, [5, 6, 7])
    _insert(store, [5, 6, 7, 8], size=99)
    assert store_did(store.journal) == (
        "snapshot 0 stored: 3 tokens, 10 B, completion; "
        "snapshot 0 of A superseded by snapshot 1: 3 tokens, 10 B, completion; "
        "snapshot 1 stored: 4 tokens, 10 B, completion; snapshot 2 stored: 3 tokens, 10 B, completion; "
        "snapshot 1 of A evicted for snapshot 2: 4 tokens, 10 B, completion; "
        "refused, oversized: 4 tokens, 99 B, completion"
    )


def test_endings_and_long_texts():
    assert ending("length") == "cut off at max_tokens"
    assert shorten("a  b\nc") == "a b c"
    assert shorten("x" * 50) == "x" * 39 + "…"
