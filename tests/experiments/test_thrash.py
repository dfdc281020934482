"""The made-up vectors and the published figures that the notebook holds them against."""

import itertools

import numpy as np
import pytest

from mlxcel_lab.experiments import diverging, extending, open_store, play, published_thrash, stream


def _is_prefix(short, long):
    return len(short) < len(long) and np.array_equal(short, long[: len(short)])


@pytest.fixture
def published():
    return published_thrash()


def test_a_stream_is_one_conversation_and_no_other():
    assert _is_prefix(stream("a", 5), stream("a", 9))
    assert not _is_prefix(stream("b", 5), stream("a", 9))


def test_a_fork_leaves_its_trunk_at_its_token_and_no_later():
    trunk, fork = stream("a", 9), stream("a", 9, fork="edited", at=4)
    assert np.array_equal(trunk[:4], fork[:4])
    assert trunk[4] != fork[4]


def test_vectors_have_the_published_lengths(published):
    for made in (diverging, extending):
        turns = made("a", published.prompt_tokens, published.reply_tokens)
        assert [len(turn.stored) for turn in turns] == published.stored_tokens
        assert [len(turn.prompt) for turn in turns][1:] == published.next_prompt_tokens


def test_diverging_vectors_are_no_prefixes_of_one_another_and_extending_ones_are(published):
    lengths = published.prompt_tokens, published.reply_tokens
    for one, later in itertools.combinations(diverging("a", *lengths), 2):
        assert not _is_prefix(one.stored, later.stored)
        assert not _is_prefix(one.stored, later.prompt)
    for one, later in itertools.pairwise(extending("a", *lengths)):
        assert _is_prefix(one.stored, later.prompt)
        assert _is_prefix(one.stored, later.stored)


def test_each_turn_becomes_a_row_that_says_what_the_store_holds_after_it(published):
    store = open_store("origin", published.capacity_bytes)
    turns = extending("a", published.prompt_tokens, published.reply_tokens)
    rows = play(store, "a", turns, published.snapshot_bytes)
    assert rows["cached"].to_list() == [0, *published.stored_tokens[:-1]]
    assert rows["entries"].to_list() == [1] * 4
    assert rows["bytes"][-1] == store.total_bytes == published.snapshot_bytes


def test_a_budget_for_another_size_holds_as_many_snapshots(published):
    assert published.budget_for(published.snapshot_bytes) == published.capacity_bytes
    assert published.budget_for(22_683_648) // 22_683_648 == 3


@pytest.mark.parametrize("snapshots", [1, 2, 3, 4, 7, 9])
def test_room_for_another_number_of_snapshots_gives_what_the_store_then_counts(published, snapshots):
    other = published.with_room_for(snapshots)
    store = open_store("origin", other.capacity_bytes)
    lengths = other.prompt_tokens, other.reply_tokens
    first = play(store, "alice", diverging("alice", *lengths), other.snapshot_bytes)
    assert (first["entries"].to_list(), first["evictions"].to_list()) == (other.entries, other.evictions)
    bob = diverging("bob", other.prompt_tokens[: other.second_turns], other.reply_tokens)
    second = play(store, "bob", bob, other.snapshot_bytes)
    assert second["entries"][-1] == other.entries_after_a_second_conversation
    assert second["evictions"][-1] == other.evictions_after_a_second_conversation
    assert (other is published) == (snapshots == 3)


def test_room_for_no_snapshot_is_refused(published):
    with pytest.raises(ValueError, match="room for 0 snapshots: expected at least 1"):
        published.with_room_for(0)
