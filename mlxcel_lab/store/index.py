"""Where records are kept: a prefix tree per bucket and session, the residents by recency, the ghosts by age.

No rule, budget or counter is known here. Every operation leaves the three in agreement.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import cast

from .prefix_tree import NOBODY, PrefixTree, Walk
from .records import Fate, Record
from .types import CacheKey, Snapshot, TokenVector


class Found:
    """One walk of a token vector through a key's tree, and what the store asks of it."""

    __slots__ = ("tokens", "tree", "walk")

    def __init__(self, tree: PrefixTree, tokens: TokenVector) -> None:
        self.tree = tree
        self.tokens = tokens
        self.walk: Walk = tree.walk(tokens)

    @property
    def anything(self) -> bool:
        """Whether anything is resident under the key."""
        return self.tree.root.lives()

    def prefixes(self) -> Iterator[Record]:
        """The residents that are prefixes of the vector, equal length included, longest first."""
        path = reversed(self.walk.path)
        return (cast(Record, node.item) for node in path if node.item is not None and node.item.alive)

    def ghost(self, shortest: int, longest: int) -> Record | None:
        """The longest ghost that is a prefix and has `shortest` to `longest` tokens."""
        path = reversed(self.walk.path)
        ghosts = (
            node.item
            for node in path
            if node.item is not None and not node.item.alive and shortest <= node.end <= longest
        )
        return cast("Record | None", next(ghosts, None))

    def closest(self) -> tuple[Record, int]:
        """The resident with the longest common prefix, and that length; ties go to the most recently used."""
        pair = self.tree.closest(self.walk)
        assert pair is not None
        return cast(Record, pair[0]), pair[1]

    def nearest(self) -> Iterator[tuple[Record, int]]:
        """All residents under the key, from `closest` on; lazy."""
        return cast(Iterator[tuple[Record, int]], self.tree.nearest(self.walk))


class Index:
    """The records of one store. `max_ghosts` and `max_ghost_tokens` bound what is remembered of the gone."""

    def __init__(self, max_ghosts: int, max_ghost_tokens: int) -> None:
        self.max_ghosts = max_ghosts
        self.max_ghost_tokens = max_ghost_tokens
        self.trees: dict[CacheKey, PrefixTree] = {}
        self.residents: OrderedDict[int, Record] = OrderedDict()  # least recently used first
        self.ghosts: OrderedDict[Record, None] = OrderedDict()  # longest gone first
        self.total_bytes = 0
        self.ghost_tokens = 0
        self._ticks = 0

    def find(self, key: CacheKey, tokens: TokenVector) -> Found:
        tree = self.trees.get(key)
        return Found(PrefixTree() if tree is None else tree, tokens)

    def add(self, found: Found, key: CacheKey, snapshot: Snapshot, snapshot_id: int, now: float) -> Record:
        """The snapshot becomes resident; a ghost of the same tokens is forgotten, a resident's place is taken."""
        record = Record(key, snapshot, snapshot_id, now, self._tick())
        self.trees.setdefault(key, found.tree)
        displaced = cast("Record | None", found.tree.attach(found.walk, record))
        if displaced is not None and not displaced.alive:
            self._forget(displaced)
        self.residents[snapshot_id] = record
        self.total_bytes += record.size_bytes
        return record

    def use(self, record: Record, now: float) -> None:
        """A hit: most recently used from now on."""
        record.tick, record.last_used_at = self._tick(), now
        record.hits += 1
        self.residents.move_to_end(record.number)
        PrefixTree.touch(record)

    def bury(self, record: Record, fate: Fate) -> None:
        """A resident leaves; its ghost stays for a while. O(1), ghosts that this pushes out apart."""
        del self.residents[record.number]
        self.total_bytes -= record.size_bytes
        record.snapshot, record.fate = None, fate
        displaced = record.node.item is not record
        self.trees[record.key].bury(record)
        if not displaced:
            self._remember(record)

    def add_ghost(self, found: Found, key: CacheKey, snapshot: Snapshot, fate: Fate) -> None:
        """Remember a snapshot that was refused, unless the same tokens are resident."""
        end = found.walk.path[-1]
        held = end.item if found.walk.partial is None and end.end == len(snapshot.tokens) else None
        if held is not None and held.alive:
            return
        record = Record(key, snapshot, None, fate.at, 0)
        record.snapshot, record.fate = None, fate
        self.trees.setdefault(key, found.tree)
        found.tree.attach(found.walk, record)
        if held is not None:
            self._forget(cast(Record, held))
        self._remember(record)

    def _remember(self, record: Record) -> None:
        self.ghosts[record] = None
        self.ghost_tokens += record.num_tokens
        while len(self.ghosts) > self.max_ghosts or self.ghost_tokens > self.max_ghost_tokens:
            self._drop(next(iter(self.ghosts)))

    def _drop(self, record: Record) -> None:
        self._forget(record)
        tree = self.trees[record.key]
        tree.detach(record)
        if tree.root.owner is NOBODY:
            del self.trees[record.key]

    def _forget(self, record: Record) -> None:
        del self.ghosts[record]
        self.ghost_tokens -= record.num_tokens

    def _tick(self) -> int:
        self._ticks += 1
        return self._ticks
