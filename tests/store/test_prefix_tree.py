"""The tree alone: what a walk finds, what it costs in comparisons, and what it keeps alive."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from mlxcel_lab.store import prefix_tree
from mlxcel_lab.store.prefix_tree import Item, PrefixTree
from mlxcel_lab.store.tokens import as_tokens


class _Tree:
    """A tree with its clock: `use` adds or touches, as a store does."""

    def __init__(self) -> None:
        self.tree = PrefixTree()
        self.ticks = 0

    def use(self, tokens: object) -> Item:
        item = Item()
        self.ticks += 1
        item.vector, item.alive, item.tick = as_tokens(tokens), True, self.ticks
        self.tree.attach(self.tree.walk(item.vector), item)
        return item

    def touch(self, item: Item) -> None:
        self.ticks += 1
        item.tick = self.ticks
        self.tree.touch(item)

    def kill(self, item: Item) -> None:
        self.tree.bury(item)
        self.tree.detach(item)

    def closest(self, tokens: object) -> tuple[Item, int] | None:
        return self.tree.closest(self.tree.walk(as_tokens(tokens)))


class _Counted:
    """Counts the tokens that walks compare."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = self.tokens = 0
        compare = prefix_tree.common_prefix

        def counting(a: np.ndarray, b: np.ndarray, start: int = 0) -> int:
            end = compare(a, b, start)
            self.calls += 1
            self.tokens += end - start
            return end

        monkeypatch.setattr(prefix_tree, "common_prefix", counting)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> _Counted:
    return _Counted(monkeypatch)


def test_a_walk_matches_as_far_as_anything_stored_agrees() -> None:
    tree = _Tree()
    tree.use([1, 2, 3, 4])
    tree.use([1, 2, 5])
    for tokens, matched in [([1, 2, 3, 9], 3), ([1, 2, 5, 6], 3), ([1, 2], 2), ([7], 0), ([], 0)]:
        assert tree.tree.walk(as_tokens(tokens)).matched == matched


def test_the_closest_of_equals_is_the_one_used_last() -> None:
    tree = _Tree()
    older, newer = tree.use([1, 2, 3]), tree.use([1, 2, 4])
    assert tree.closest([1, 2, 9]) == (newer, 2)
    tree.touch(older)
    assert tree.closest([1, 2, 9]) == (older, 2)


def test_nearest_falls_by_common_prefix_then_by_recency() -> None:
    tree = _Tree()
    far, near, nearer = tree.use([1, 9]), tree.use([1, 2, 3]), tree.use([1, 2, 4, 5])
    other = tree.use([8])
    walk = tree.tree.walk(as_tokens([1, 2, 4, 7]))
    assert [*tree.tree.nearest(walk)] == [(nearer, 3), (near, 2), (far, 1), (other, 0)]


def test_a_walk_compares_each_token_once_however_many_vectors_share_the_path(compared: _Counted) -> None:
    tree, chain = _Tree(), as_tokens(range(2_000))
    for length in range(1, 2_001):
        tree.use(chain[:length])
    compared.calls = compared.tokens = 0
    tree.tree.walk(as_tokens(range(2_000)))
    assert compared.calls == 1
    assert compared.tokens == 2_000


@pytest.mark.parametrize("forks", [1, 10, 1_000])
def test_the_work_of_a_walk_does_not_grow_with_the_entries_beside_its_path(
    forks: int, compared: _Counted
) -> None:
    tree = _Tree()
    for fork in range(forks):
        tree.use([*range(100), 1_000 + fork, *range(100)])
    compared.calls = compared.tokens = 0
    tree.tree.walk(as_tokens([*range(100), 1_000, *range(100)]))
    assert compared.calls <= 2
    assert compared.tokens == 201


def test_the_one_used_longest_ago_dies_without_a_node_changing_hands() -> None:
    tree = _Tree()
    items = [tree.use([*range(50), fork]) for fork in range(100)]
    tree.touch(items[0])
    handed_over: list[Item] = []
    for victim in items[1:]:
        before = victim.node.parent.owner
        tree.tree.bury(victim)
        if victim.node.parent.owner is not before:
            handed_over.append(victim)
    assert handed_over == []
    assert tree.tree.root.owner is items[0]


@pytest.mark.parametrize("step", [1, -1])
def test_what_is_removed_is_not_kept_alive_by_those_that_stay(step: int) -> None:
    tree, shared = _Tree(), [*range(100)]
    items = [tree.use([*shared, fork, *range(fork)]) for fork in range(1, 20)]
    items = items[::step]
    for item in items:
        tree.touch(item)
    stays = tree.use([*shared, 99])
    gone = []
    for item in items:
        gone.append(weakref.ref(item.vector))
        tree.kill(item)
    del items, item
    gc.collect()
    assert [ref for ref in gone if ref() is not None] == []
    assert tree.closest([*shared, 99]) == (stays, 101)
    assert tree.tree.root.children[0].end == 101  # the forks have merged back into one edge


def test_a_ghost_that_outlives_its_longer_kin_keeps_only_its_own_tokens() -> None:
    tree = _Tree()
    short = tree.use([1, 2, 3])
    long = tree.use([1, 2, 3, 4, 5])
    tree.tree.bury(short)
    assert short.vector is None  # the longer one spells it
    tree.kill(long)
    assert short.path_tokens().tolist() == [1, 2, 3]
    assert short.path_tokens().base is None


def test_an_emptied_tree_holds_nothing() -> None:
    tree = _Tree()
    for item in [tree.use([1, 2]), tree.use([1, 3]), tree.use([1])]:
        tree.kill(item)
    assert not tree.tree.root.lives()
    assert not tree.tree.root.children
    assert tree.closest([1, 2]) is None


def test_a_ghost_laid_on_a_path_that_others_spell_keeps_no_vector() -> None:
    tree = _Tree()
    tree.use([1, 2, 3])
    ghost = Item()
    ghost.vector, ghost.alive, ghost.tick = as_tokens([1, 2]), False, 0
    tree.tree.attach(tree.tree.walk(ghost.vector), ghost)
    assert ghost.vector is None
    assert ghost.path_tokens().tolist() == [1, 2]
