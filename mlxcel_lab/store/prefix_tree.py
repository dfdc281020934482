"""A radix tree of token vectors: longest stored prefix, ancestors and common prefix of a request, in one walk.

One tree holds one bucket and session. An item sits on the node where its vector ends. An edge stores no tokens: its
label is a stretch of the vector of its node's *owner*, the living item used last of all those below the node (or, where
nothing below lives, one of the ghosts). Two things follow:

- a walk compares once per owner instead of once per edge: an owner's nodes are a connected stretch of its path;
- the item used longest ago owns no node above a living one, so that its death has nothing to re-label: O(1).

| who | changes |
|---|---|
| attach | adds a leaf, or splits an edge in two; a living item then owns its whole path |
| touch | the owner along a path |
| bury | nothing but the item: it becomes a ghost |
| detach (ghosts only) | hands the ghost's nodes to another ghost below, removes the leaf, merges an edge pair |

Cost: walk, attach and touch O(tokens), whatever the number of items; detach O(nodes owned).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from .compare import common_prefix
from .types import TokenVector


class Item:
    """What a node holds: `alive` (a resident snapshot) or a ghost. `tick` orders the living by their last use.

    `vector` is the item's own; a ghost that owns no node gives it up, as the path above its node spells it too.
    """

    __slots__ = ("alive", "node", "tick", "vector")

    vector: TokenVector | None
    node: Node
    alive: bool
    tick: int

    def path_tokens(self) -> TokenVector:
        """The item's tokens, also where it gave its vector up."""
        if self.vector is not None:
            return self.vector
        return self.node.label()[: self.node.end]


NOBODY = Item()
"""Owns the root of an empty tree."""
NOBODY.vector, NOBODY.alive, NOBODY.tick = None, False, 0


class Node:
    """The end of an edge; `end` is its depth in tokens, the edge begins at the parent's."""

    __slots__ = ("children", "end", "item", "owner", "parent")

    def __init__(self, end: int, parent: Node | None, owner: Item) -> None:
        self.end = end
        self.parent = parent
        self.owner = owner
        self.item: Item | None = None
        self.children: dict[int, Node] | None = None  # by first token; None saves a leaf its dict

    def label(self) -> TokenVector:
        """A vector whose first `end` tokens spell the path from the root to here."""
        assert self.owner.vector is not None
        return self.owner.vector

    def lives(self) -> bool:
        return self.owner.alive

    def adopt(self, child: Node) -> None:
        if self.children is None:
            self.children = {}
        self.children[child.label().item(self.end)] = child
        child.parent = self


@dataclass(slots=True)
class Walk:
    """How far a vector leads: `path`, the nodes it passes whole (the root first), then perhaps into `partial`'s edge.

    `matched` is the longest common prefix with anything in the tree, ghosts included.
    """

    path: list[Node]
    partial: Node | None
    matched: int


class PrefixTree:
    """See the module's text."""

    __slots__ = ("root",)

    def __init__(self) -> None:
        self.root = Node(0, None, NOBODY)

    def walk(self, tokens: TokenVector) -> Walk:
        path, size, token_at = [self.root], len(tokens), tokens.item
        children, end = self.root.children, 0
        known: TokenVector | None = None
        agreed = 0  # tokens[:agreed] == known[:agreed], and no further
        while children and end < size:
            child = children.get(token_at(end))
            if child is None:
                break
            vector = child.owner.vector
            if vector is not known:
                known = child.label()
                agreed = common_prefix(tokens, known, end)
            if agreed < child.end:
                return Walk(path, child, agreed)
            path.append(child)
            children, end = child.children, child.end
        return Walk(path, None, end)

    def bury(self, item: Item) -> None:
        """`item`, the one used longest ago or one that the newest covers, dies: it stays as a ghost. O(1)."""
        item.alive = False
        if item.node.owner is not item:
            item.vector = None

    def attach(self, walk: Walk, item: Item) -> Item | None:
        """Put `item` where its vector ends, `walk` being the fresh walk of that vector; returns whom it displaces."""
        assert item.vector is not None
        node = walk.path[-1] if walk.partial is None else self._split(walk.partial, walk.matched)
        if node.end < len(item.vector):
            leaf = Node(len(item.vector), node, item)
            node.adopt(leaf)
            node = leaf
        displaced, node.item, item.node = node.item, item, node
        if item.alive:
            self.touch(item)
        elif displaced is not None and node.owner is displaced:
            self._hand_over(node, displaced, item)
        elif node.owner is not item:
            item.vector = None
        if self.root.owner is NOBODY:
            self.root.owner = item
        return displaced

    @staticmethod
    def touch(item: Item) -> None:
        """`item`, with the greatest tick of all, owns its path from now on."""
        node: Node | None = item.node
        while node is not None:
            node.owner = item
            node = node.parent

    def detach(self, item: Item) -> None:
        """Take a ghost out; nothing of it is referenced from the tree afterwards."""
        assert not item.alive
        node = item.node
        node.item = None
        if not node.children and node.parent is not None:
            node = self._drop_leaf(node)
        if node.owner is item:
            self._hand_over(node, item, self._heir(node, item))
        if node.item is None and node.parent is not None and node.children and len(node.children) == 1:
            (child,) = node.children.values()
            node.parent.adopt(child)

    def closest(self, walk: Walk) -> tuple[Item, int] | None:
        """The living item that shares most with the walked vector, most recent first, and how many tokens: O(path)."""
        if walk.partial is not None and walk.partial.lives():
            return walk.partial.owner, walk.matched
        node = next((node for node in reversed(walk.path) if node.lives()), None)
        return None if node is None else (node.owner, node.end)

    def nearest(self, walk: Walk) -> Iterator[tuple[Item, int]]:
        """All living items, `closest` first: by falling common prefix, then by falling recency.

        Lazy: the first costs what `closest` does; going on costs O(n log n) for the n items of the tree.
        """
        first = self.closest(walk)
        if first is None:
            return
        yield first
        below = walk.partial
        found = ((item, walk.matched) for item in _recent_first([below] if below else []))
        yield from (pair for pair in found if pair[0] is not first[0])
        for node in reversed(walk.path):
            beside = [child for child in (node.children or {}).values() if child is not below]
            for item in _recent_first(beside, node.item):
                if item is not first[0]:
                    yield item, node.end
            below = node

    def _split(self, node: Node, at: int) -> Node:
        middle = Node(at, node.parent, node.owner)
        assert node.parent is not None
        node.parent.adopt(middle)
        middle.adopt(node)
        return middle

    def _drop_leaf(self, leaf: Node) -> Node:
        parent = leaf.parent
        assert parent is not None
        assert parent.children is not None
        del parent.children[leaf.label().item(parent.end)]
        return parent

    def _heir(self, node: Node, item: Item) -> Item:
        """Who spells the path to `node` once `item` is gone: a ghost below, else the node's own, with a copy."""
        if node.children:
            # popitem is O(1) where the first of a dict with many deleted entries isn't.
            token, child = node.children.popitem()
            node.children[token] = child
            return child.owner
        if node.item is not None and node.item.vector is None:
            copy = item.path_tokens()[: node.end].copy()
            copy.flags.writeable = False
            node.item.vector = copy
        return node.item or NOBODY

    def _hand_over(self, node: Node | None, old: Item, new: Item) -> None:
        while node is not None and node.owner is old:
            node.owner = new
            node = node.parent


def _recent_first(nodes: list[Node], own: Item | None = None) -> Iterator[Item]:
    """The living items below `nodes`, and `own`, by falling tick: best first, as an owner has its node's best tick."""
    heap: list[tuple[int, Node | Item]] = [(-n.owner.tick, n) for n in nodes if n.lives()]
    if own is not None and own.alive:
        heap.append((-own.tick, own))
    heapq.heapify(heap)
    while heap:
        _, best = heapq.heappop(heap)
        if isinstance(best, Item):
            yield best
            continue
        for child in (best.children or {}).values():
            if child.lives():
                heapq.heappush(heap, (-child.owner.tick, child))
        if best.item is not None and best.item.alive:
            heapq.heappush(heap, (-best.item.tick, best.item))
