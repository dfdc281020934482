"""What a model's snapshots cost, as rows for a table and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..geometry import Geometry
from .allocators import Allocator
from .breakdown import Breakdown, snapshot_bytes
from .model import SizeModel


def size_rows(geometry: Geometry, allocator: Allocator, tokens: Sequence[int]) -> list[dict[str, Any]]:
    """One row a prompt length: tokens, allocated and trimmed bytes, and the allocated bytes of each kind."""
    rows = []
    for length in tokens:
        held = snapshot_bytes(geometry, allocator.split(length), allocator=allocator)
        rows.append(
            {"tokens": length, "allocated": held.allocated, "trimmed": held.trimmed, **held.by_kind()}
        )
    return rows


def growth_rows(geometry: Geometry, allocator: Allocator) -> list[dict[str, str]]:
    """One row a kind of state: how it grows as allocated, and as trimmed."""
    allocated, trimmed = (
        SizeModel.learn(geometry, allocator=allocator, trimmed=cut).growth for cut in (False, True)
    )
    return [{"kind": kind, "allocated": allocated[kind], "trimmed": trimmed[kind]} for kind in allocated]


def layer_rows(breakdown: Breakdown) -> list[dict[str, Any]]:
    """One row for each run of neighbouring layers of the same cache and size."""
    rows: list[dict[str, Any]] = []
    for layer, size in breakdown.by_layer().items():
        parts = [part for part in breakdown.parts if part.layer == layer]
        caches = "+".join(dict.fromkeys(part.cache for part in parts))
        cut = sum(part.trimmed for part in parts)
        if rows and (rows[-1]["cache"], rows[-1]["allocated"], rows[-1]["trimmed"]) == (caches, size, cut):
            rows[-1]["layers"] = f"{rows[-1]['layers'].split('-')[0]}-{layer}"
        else:
            rows.append({"layers": str(layer), "cache": caches, "allocated": size, "trimmed": cut})
    return rows


def as_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as text: numbers with commas and to the right, words to the left; a column for each key."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[_text(row.get(key, "-")) for key in keys] for row in rows]
    widths = [max(map(len, column)) for column in zip(keys, *cells, strict=True)]
    right = [any(isinstance(row.get(key), int) for row in rows) for key in keys]
    lines = [[*keys], *cells]
    return "\n".join(
        "  ".join(
            c.rjust(w) if r else c.ljust(w) for c, w, r in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def _text(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
