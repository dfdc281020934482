"""Who is evicted first: orders of eviction side by side, to compare.

An order holds the resident targets. `add` when one is stored, `use` when one serves a hit, `drop` when one leaves for
another reason, `victim` takes out the next to evict. Only `Recency` is the real store's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np

from .resolved import Resolved


class Recency:
    """Least recently used first: last hit or insert, ties by insertion."""

    def __init__(self, resolved: Resolved) -> None:
        self._used: OrderedDict[int, int] = OrderedDict()
        # By target the request of its last use. The dictionary's own methods: this is the hot path.
        self.add = self._used.__setitem__
        self.drop = self._used.__delitem__

    def use(self, target: int, request: int) -> None:
        self._used[target] = request
        self._used.move_to_end(target)

    def victim(self, request: int) -> int:
        return self._used.popitem(False)[0]

    def __len__(self) -> int:
        return len(self._used)

    def oldest(self) -> Iterator[tuple[int, int]]:
        """(target, request of its last use), the next victim first."""
        return iter(self._used.items())


class Fifo(Recency):
    """First in, first out: a hit changes nothing."""

    def use(self, target: int, request: int) -> None:
        pass


class Ranked:
    """Base of the orders by a number: the smallest rank goes first, ties by insertion."""

    def __init__(self, resolved: Resolved) -> None:
        self.resolved = resolved
        self.evicted_rank = 0.0
        self._entries: dict[int, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, int]] = []
        self._ticket = 0

    def rank(self, target: int, request: int) -> float:
        """The rank of a target that is stored or used at `request`."""
        raise NotImplementedError

    def add(self, target: int, request: int) -> None:
        self._ticket += 1
        entry = self._entries[target] = self.rank(target, request), self._ticket
        heappush(self._heap, (*entry, target))

    def use(self, target: int, request: int) -> None:
        self.add(target, request)

    def drop(self, target: int) -> None:
        del self._entries[target]

    def victim(self, request: int) -> int:
        while True:
            rank, ticket, target = heappop(self._heap)
            # A target that was used since, or has left, has outdated entries in the heap: they are passed over.
            if self._entries.get(target) == (rank, ticket):
                self.drop(target)
                self.evicted_rank = rank
                return target

    def __len__(self) -> int:
        return len(self._entries)


class Gdsf(Ranked):
    """Greedy-dual-size with frequency (Cherkasova, 1998): age + uses * cost / size, where the cost is the tokens.

    The age is the rank of the last victim, so that what isn't used any more gives way in the end.
    """

    def __init__(self, resolved: Resolved) -> None:
        super().__init__(resolved)
        self._uses: dict[int, int] = {}

    def rank(self, target: int, request: int) -> float:
        uses = self._uses[target] = self._uses.get(target, 0) + 1
        return self.evicted_rank + uses * self.resolved.tokens[target] / max(1, self.resolved.size[target])

    def drop(self, target: int) -> None:
        super().drop(target)
        del self._uses[target]


class Clairvoyant(Ranked):
    """Belady's rule: who serves again last goes first; it knows whom each target serves in an endless cache."""

    def __init__(self, resolved: Resolved) -> None:
        super().__init__(resolved)
        self._serves = serving_requests(resolved)

    def rank(self, target: int, request: int) -> float:
        return -self.next_use(target, request)

    def next_use(self, target: int, request: int) -> float:
        """The next request after `request` that the target serves; infinite where there is none."""
        serves = self._serves.get(target, [])
        at = bisect_right(serves, request)
        return serves[at] if at < len(serves) else float("inf")


def serving_requests(resolved: Resolved) -> dict[int, list[int]]:
    """By target the requests that it would serve if nothing ever left the store, in order."""
    serves: dict[int, list[int]] = {}
    offered = bytearray(len(resolved.up))
    for request, target in enumerate(resolved.deepest):
        while target >= 0 and not offered[target]:
            target = resolved.up[target]
        if target >= 0:
            serves.setdefault(target, []).append(request)
        for made, _ in resolved.offers[request]:
            offered[made] = 1
    return serves


class FlopAware:
    """After Marconi (Pan et al., 2024): score = recency + weight * (compute saved / bytes), the lowest goes first.

    Both terms are scaled to 0..1 over the residents of the moment, as there. The compute that a snapshot of n tokens
    saves is n + n²/`crossover`, the quadratic part being attention's: `crossover` is the length at which it equals the
    rest. O(entries) an eviction, as every score moves.
    """

    weight = 1.0
    crossover = 50_000

    def __init__(self, resolved: Resolved) -> None:
        tokens = np.asarray(resolved.tokens, dtype=np.float64)
        saved = tokens + tokens**2 / self.crossover
        self._efficiency = saved / np.maximum(1, np.asarray(resolved.size, dtype=np.float64))
        self._slot: dict[int, int] = {}
        self._target: list[int] = []
        self._used = np.zeros(64)
        self._saves = np.zeros(64)

    def add(self, target: int, request: int) -> None:
        slot = self._slot[target] = len(self._target)
        self._target.append(target)
        if slot == len(self._used):
            self._used, self._saves = np.resize(self._used, 2 * slot), np.resize(self._saves, 2 * slot)
        self._used[slot] = request + 1
        self._saves[slot] = self._efficiency[target]

    def use(self, target: int, request: int) -> None:
        self._used[self._slot[target]] = request + 1

    def drop(self, target: int) -> None:
        slot, last = self._slot.pop(target), self._target.pop()
        if last != target:  # the last one moves into the gap
            self._slot[last], self._target[slot] = slot, last
            self._used[slot] = self._used[len(self._target)]
            self._saves[slot] = self._saves[len(self._target)]

    def victim(self, request: int) -> int:
        size = len(self._target)
        score = _scaled(self._used[:size]) + self.weight * _scaled(self._saves[:size])
        target = self._target[int(score.argmin())]
        self.drop(target)
        return target

    def __len__(self) -> int:
        return len(self._target)


def _scaled(values: np.ndarray) -> np.ndarray:
    low, high = values.min(), values.max()
    return (values - low) / (high - low or 1.0)
