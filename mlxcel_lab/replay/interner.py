"""Token vectors as runs of ids: what two vectors of a bucket share from their start gets the same ids.

A radix tree whose edges are ranges of one growing pool of tokens. A conversation of n turns costs its new tokens once,
not n times, and later work compares a few numbers where it would have compared thousands of tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..store import common_prefix
from .trace import Runs, merged


class Interner:
    """Gives token vectors their ids; `pool()[id]` is the token that an id stands for."""

    def __init__(self) -> None:
        self._pool = np.zeros(1024, np.int32)
        self._used = 0
        # Per node, by number: where its edge starts in the pool, how long it is, and its children by first token.
        self._start: list[int] = []
        self._count: list[int] = []
        self._children: list[dict[int, int]] = []
        self._roots: dict[str, int] = {}

    def pool(self) -> npt.NDArray[np.int32]:
        """The token of each id given out so far."""
        return self._pool[: self._used].copy()

    def runs(self, tokens: Sequence[int] | npt.NDArray[np.int32], bucket: str = "") -> Runs:
        """The ids of a vector, as runs. Vectors of different buckets share nothing."""
        vector = np.ascontiguousarray(tokens, dtype=np.int32)
        if bucket not in self._roots:
            self._roots[bucket] = self._add(0, 0)
        node, at, path = self._roots[bucket], 0, []
        while at < len(vector):
            child = self._children[node].get(int(vector[at]))
            if child is None:
                child = self._leaf(node, vector[at:])
            shared = self._shared(child, vector[at:])
            if shared < self._count[child]:
                self._split(child, shared)
            path.append((self._start[child], shared))
            node, at = child, at + shared
        return merged(path)

    def _add(self, start: int, count: int) -> int:
        self._start.append(start)
        self._count.append(count)
        self._children.append({})
        return len(self._start) - 1

    def _leaf(self, parent: int, tail: npt.NDArray[np.int32]) -> int:
        end = self._used + len(tail)
        if end > len(self._pool):
            self._pool = np.concatenate([self._pool, np.zeros(max(end, len(self._pool)), np.int32)])
        self._pool[self._used : end] = tail
        leaf = self._add(self._used, len(tail))
        self._children[parent][int(tail[0])] = leaf
        self._used = end
        return leaf

    def _shared(self, node: int, tail: npt.NDArray[np.int32]) -> int:
        start, most = self._start[node], min(self._count[node], len(tail))
        return common_prefix(self._pool[start : start + most], tail)

    def _split(self, node: int, at: int) -> None:
        """Cut a node's edge after `at` tokens. The node keeps the upper part, and every id stays what it was."""
        lower = self._add(self._start[node] + at, self._count[node] - at)
        self._children[lower] = self._children[node]
        self._children[node] = {int(self._pool[self._start[lower]]): lower}
        self._count[node] = at
