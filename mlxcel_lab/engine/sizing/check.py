"""Predicted against measured: a live snapshot's bytes against what a config alone says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..state import CapturedState
from .allocators import ALLOCATORS
from .breakdown import Breakdown, Part, parts_of


class SizeMismatch(ValueError):
    """A size that isn't what was predicted; the text names the layer or the kind."""


def verify(held: CapturedState | Sequence[Any], predicted: Breakdown, *, trimmed: bool = False) -> None:
    """Compare a captured state, or a live cache, with its prediction (by mlx-lm's allocator), array by array.

    `trimmed`: the state was captured with `trim`. Raises SizeMismatch, which names the first layer that differs.
    """
    entries = held.entries() if isinstance(held, CapturedState) else held
    measured = _by_array((part, part.allocated) for part in parts_of(entries, ALLOCATORS["mlx-lm"]))
    wanted = _by_array((p, p.trimmed if trimmed else p.allocated) for p in predicted.parts)
    for layer, cache, name in sorted({*measured, *wanted}):
        have, want = (sizes.get((layer, cache, name), 0) for sizes in (measured, wanted))
        if have != want:
            raise SizeMismatch(
                f"layer {layer} ({cache} {name}) after {predicted.calls}: predicted {want:,} B, measured {have:,} B"
            )


def _by_array(sizes: Iterable[tuple[Part, int]]) -> dict[tuple[int, str, str], int]:
    totals: dict[tuple[int, str, str], int] = {}
    for part, size in sizes:
        key = (part.layer, part.cache, part.name)
        totals[key] = totals.get(key, 0) + size
    return totals
