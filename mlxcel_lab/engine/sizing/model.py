"""The size of a snapshot as an exact function of its tokens, learnt from dry runs.

Per kind of cache state the bytes are a curve of straight pieces and a repeating tail (see curve.py), read off dry runs
at the lengths where it bends and checked at others. No ratio of one measurement: a state's fixed part, its steps and
its cap are told apart.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..geometry import Geometry, build
from .allocators import Allocator, find_allocator
from .breakdown import KINDS, totals_of
from .check import SizeMismatch
from .curve import Curve, learn

_HORIZON = 1 << 20  # the longest dry run, in tokens; a curve's tail goes on from there
_LONGEST, _BLOCK = 1 << 22, 1 << 16  # how far and in what strides an oversized length is looked for


@dataclass(frozen=True, eq=False)
class SizeModel:
    """Bytes of a snapshot of n tokens, the last `generated` of which were decoded one at a time.

    `trimmed`: cut to the tokens held. Exact for a prompt forwarded from the beginning as the allocator splits it; a
    restored conversation's allocation also hangs on where it was restored: ask `snapshot_bytes` with its calls.
    """

    geometry: Geometry
    allocator: Allocator
    generated: int
    trimmed: bool
    curves: Mapping[str, Curve]  # by kind

    @classmethod
    def learn(
        cls,
        model: Mapping[str, Any] | Geometry,
        *,
        allocator: str | Allocator = "mlx-lm",
        generated: int = 0,
        trimmed: bool = False,
    ) -> SizeModel:
        """Learn the curves from a config or a geometry. Raises ValueError where a family's size follows no rule."""
        geometry = model if isinstance(model, Geometry) else build(dict(model))
        chosen, first = find_allocator(allocator), generated + 1

        @cache
        def sizes(tokens: int) -> dict[str, int]:
            return totals_of(geometry, chosen.split(tokens - generated, generated), chosen, trimmed=trimmed)

        def of_kind(kind: str, tokens: int) -> int:
            return sizes(tokens)[kind]

        kinds = [kind for kind in KINDS if kind in sizes(first)]
        curves = {kind: learn(partial(of_kind, kind), first, _HORIZON) for kind in kinds}
        return cls(geometry, chosen, generated, trimmed, curves)

    @property
    def first(self) -> int:
        """The fewest tokens it answers for: the decoded ones and a prompt of one."""
        return self.generated + 1

    def bytes(self, tokens: int) -> int:
        """The size at that many tokens."""
        return int(self.many(tokens))

    def many(self, tokens: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The sizes at many lengths at once."""
        return np.asarray(sum(curve(tokens) for curve in self.curves.values()))

    def by_kind(self, tokens: int) -> dict[str, int]:
        """Bytes of each kind at that many tokens."""
        return {kind: int(curve(tokens)) for kind, curve in self.curves.items()}

    def longest_within(self, budget: int) -> int | None:
        """The longest length up to which no snapshot is larger than `budget` bytes: one token more is oversized.

        0 where even the shortest is too large; None where no length up to four million tokens is.
        """
        for start in range(self.first, _LONGEST, _BLOCK):
            over = np.flatnonzero(self.many(np.arange(start, start + _BLOCK)) > budget)
            if over.size:
                too_long = start + int(over[0])
                return too_long - 1 if too_long > self.first else 0
        return None

    @cached_property
    def growth(self) -> dict[str, str]:
        """For each kind in words: fixed, or how it grows, in which steps, up to where."""
        return {kind: describe(curve) for kind, curve in self.curves.items()}

    def check(self, samples: int = 8, *, longest: int = 4096, seed: int = 0, exact: bool = False) -> None:
        """Compare with dry runs at random lengths; `exact` calls the model itself. Raises SizeMismatch."""
        draw = random.Random(seed)
        for tokens in (draw.randint(self.first, self.first + longest) for _ in range(samples)):
            calls = self.allocator.split(tokens - self.generated, self.generated)
            sizes = totals_of(self.geometry, calls, self.allocator, trimmed=self.trimmed, exact=exact)
            for kind, size in sizes.items():
                if (learnt := self.by_kind(tokens).get(kind, 0)) != size:
                    raise SizeMismatch(
                        f"{kind} at {tokens} tokens: learnt {learnt:,} B, a dry run holds {size:,} B"
                    )

    def __repr__(self) -> str:
        what = "trimmed" if self.trimmed else "allocated"
        return f"<SizeModel {self.allocator.name}, {what}: {'; '.join(f'{k} {g}' for k, g in self.growth.items())}>"


def describe(curve: Curve) -> str:
    """A curve in words: fixed, or how it grows, in which steps, up to where."""
    first, last = curve.pieces[0], curve.pieces[-1]
    if curve.period and curve.rise and not last.slope:
        per_token = f"{curve.rise / curve.period:,.0f} B a token"
        return f"{first.value:,} B, growing by {curve.rise:,} B every {curve.period} tokens ({per_token})"
    if curve.period:
        highest = last.value + last.slope * (curve.period - 1)
        return f"between {last.value:,} B and {highest:,} B, every {curve.period} tokens"
    if last.slope:
        return f"{last.slope:,} B a token"
    if len(curve.pieces) == 1:
        return f"{last.value:,} B whatever the length"
    slope = max(piece.slope for piece in curve.pieces)
    how = f"by {slope:,} B a token" if slope else "in steps"
    return f"{first.value:,} B, growing {how} up to {last.value:,} B at {last.start:,} tokens"
