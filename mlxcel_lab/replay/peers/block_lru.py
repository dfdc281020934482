"""Block LRU, as vLLM's and Mooncake's prefix caches do: whole blocks, shared by everybody, least recently used first.

A request is served by its leading blocks that are resident; then all of its blocks are stored or refreshed, in order.
LRU keeps the blocks of a smaller cache inside a larger one, so one pass gives every capacity at once: a block is found
in each cache that is larger than the number of other blocks used since it was. (libCacheSim isn't used: it asks for one
object at a time and one capacity at a time, where a request here is served by its leading blocks alone.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..trace import Runs, Trace, ids_of


@dataclass(frozen=True)
class BlockCurve:
    """Hits by capacity. `needed[i]`: the capacity, in blocks, from which on the i-th block served is served."""

    requests: int
    blocks: int
    unique: int
    needed: npt.NDArray[np.int64]

    def hits(self, capacity_blocks: int) -> int:
        """Blocks served out of a cache of that many."""
        return int(np.searchsorted(self.needed, capacity_blocks, side="right"))

    def hit_rate(self, capacity_blocks: int) -> float:
        return self.hits(capacity_blocks) / max(1, self.blocks)

    @property
    def ideal(self) -> float:
        """The hit rate without a limit."""
        return len(self.needed) / max(1, self.blocks)


def block_lru(vectors: Trace | Iterable[npt.ArrayLike]) -> BlockCurve:
    """The curve of a trace, or of requests given as their block ids.

    A request's leading blocks all need the capacity of the deepest of them. Cost O(blocks * log blocks).
    """
    requests = [np.asarray(v, np.int64) for v in (_ids(vectors) if isinstance(vectors, Trace) else vectors)]
    total = sum(map(len, requests))
    last: dict[int, int] = {}
    alive = _Counts(total)
    needed: list[int] = []
    clock = 0
    for ids in requests:
        needed += _needed(ids.tolist(), last, alive, clock)
        for block in ids.tolist():
            if block in last:
                alive.add(last[block], -1)
            alive.add(clock, 1)
            last[block] = clock
            clock += 1
    return BlockCurve(len(requests), total, len(last), np.sort(np.array(needed, np.int64)))


def _needed(ids: list[int], last: dict[int, int], alive: _Counts, clock: int) -> list[int]:
    """The capacities that the leading blocks need before any of the request's blocks is refreshed."""
    found: list[int] = []
    deepest = 0
    for block in ids:
        if block not in last:
            break
        deepest = max(deepest, alive.since(last[block], clock))
        found.append(deepest)
    return found


def _ids(trace: Trace) -> Iterable[npt.NDArray[np.int64]]:
    for starts, counts in trace.requests.select("starts", "counts").iter_rows():
        runs: Runs = list(zip(starts, counts, strict=True))
        yield ids_of(runs)


class _Counts:
    """A Fenwick tree: how many positions from one on are marked."""

    def __init__(self, size: int) -> None:
        self._tree = [0] * (size + 1)
        self._total = 0

    def add(self, at: int, change: int) -> None:
        self._total += change
        at += 1
        while at < len(self._tree):
            self._tree[at] += change
            at += at & -at

    def since(self, at: int, clock: int) -> int:
        """Marked positions from `at` up to the clock."""
        before = 0
        while at > 0:
            before += self._tree[at]
            at -= at & -at
        return self._total - before
