"""An integer function of a count, learnt exactly from few of its values: straight pieces, then a repeating tail.

That is every shape a cache's size has: constant (a state), steps (an allocation in blocks), a straight line (one slot
a token), a line up to a cap (a window), a sawtooth (a window between blocks of a prompt).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_MAX_PIECES = 64


@dataclass(frozen=True, slots=True)
class Piece:
    """From `start` on, the value is `value` and changes by `slope` for each step of one."""

    start: int
    value: int
    slope: int


@dataclass(frozen=True)
class Curve:
    """The learnt function on [pieces[0].start, infinity).

    Where `period` isn't 0, from `repeat_from` on the function repeats with that period, `rise` higher each time; else
    the last piece goes on for ever.
    """

    pieces: tuple[Piece, ...]
    repeat_from: int = 0
    period: int = 0
    rise: int = 0

    @property
    def first(self) -> int:
        return self.pieces[0].start

    def __call__(self, counts: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The values at `counts`, an integer or an array of them, each at least `first`."""
        n = np.asarray(counts, dtype=np.int64)
        if n.size and n.min() < self.first:
            raise ValueError(f"this size begins at {self.first} tokens, not at {n.min()}")
        laps = np.zeros_like(n)
        if self.period:
            laps = np.maximum(n - self.repeat_from, 0) // self.period
        folded = n - laps * self.period
        starts, values, slopes = (np.array([getattr(p, f) for p in self.pieces]) for f in Piece.__slots__)
        at = np.searchsorted(starts, folded, side="right") - 1
        result: npt.NDArray[np.int64] = values[at] + slopes[at] * (folded - starts[at]) + laps * self.rise
        return result


def learn(value: Callable[[int], int], first: int, horizon: int) -> Curve:
    """The curve of `value`, read at a few counts in [first, horizon] and checked at others drawn at random.

    Raises ValueError where it is none of straight pieces and a repeating tail: nothing is approximated.
    """
    pieces: list[Piece] = []
    start = first
    while len(pieces) < _MAX_PIECES:
        piece, end = _straight(value, start, horizon)
        pieces.append(piece)
        if end >= horizon:
            return _checked(Curve(tuple(pieces)), value, first, horizon)
        if (curve := _repeating(pieces, end + 1, value(end + 1))) and _agrees(curve, value, first, horizon):
            return curve
        start = end + 1
    raise ValueError(f"no exact rule found within {_MAX_PIECES} pieces from {first} on")


def _straight(value: Callable[[int], int], start: int, horizon: int) -> tuple[Piece, int]:
    """The longest straight piece from `start`, and its last count: doubling strides, then halving."""
    base = value(start)
    slope = value(start + 1) - base if start < horizon else 0
    good, stride = start, 1
    while good < horizon and value(ahead := min(start + stride, horizon)) == base + slope * (ahead - start):
        good, stride = ahead, stride * 2
    bad = min(start + stride, horizon + 1)
    while bad - good > 1:
        middle = (good + bad) // 2
        if value(middle) == base + slope * (middle - start):
            good = middle
        else:
            bad = middle
    return Piece(start, base, slope), good


def _repeating(pieces: list[Piece], end: int, value: int) -> Curve | None:
    """The curve in which the last half of `pieces` repeats, if the half before it had the same lengths and slopes."""
    ends = [*(p.start for p in pieces[1:]), end]
    lengths = [stop - p.start for p, stop in zip(pieces, ends, strict=True)]
    for count in range(1, len(pieces) // 2 + 1):
        last, before = pieces[-count:], pieces[-2 * count : -count]
        alike = [p.slope for p in last] == [p.slope for p in before] and lengths[-count:] == lengths[
            -2 * count : -count
        ]
        if alike and value - last[0].value == last[0].value - before[0].value:
            period, rise = sum(lengths[-count:]), value - last[0].value
            return Curve(tuple(pieces[:-count]), before[0].start, period, rise)
    return None


def _agrees(curve: Curve, value: Callable[[int], int], first: int, horizon: int) -> bool:
    draw = random.Random(horizon)
    counts = [first, horizon, *(draw.randint(first, horizon) for _ in range(6))]
    return all(int(curve(n)) == value(n) for n in counts)


def _checked(curve: Curve, value: Callable[[int], int], first: int, horizon: int) -> Curve:
    if not _agrees(curve, value, first, horizon):
        raise ValueError(f"the size from {first} tokens on is no straight line although it looked like one")
    return curve
