"""The rail's marks as SVG: which kinds of event share a row, and the theme's shapes."""

from __future__ import annotations

from ..store.types import RemovalCause
from .theme import Mark

RAIL = ("hit", "miss", *(cause.value for cause in RemovalCause), "rejected")

_CORNERS = {
    "diamond": ((0, -1.15), (0.95, 0), (0, 1.15), (-0.95, 0)),
    "triangle-up": ((0, -1), (1, 0.8), (-1, 0.8)),
    "triangle-down": ((0, 1), (1, -0.8), (-1, -0.8)),
    "triangle-right": ((1, 0), (-0.8, 1), (-0.8, -1)),
    "square": ((-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)),
    "stroke": ((-1, -0.25), (1, -0.25), (1, 0.25), (-1, 0.25)),
    "cross": ((-1, -0.36), (-0.36, -0.36), (-0.36, -1), (0.36, -1), (0.36, -0.36), (1, -0.36), (1, 0.36),
              (0.36, 0.36), (0.36, 1), (-0.36, 1), (-0.36, 0.36), (-1, 0.36)),
}  # fmt: skip


def rail_of(kind: str) -> str:
    """The row of the rail that an event's kind belongs to; kinds without a row name themselves."""
    return "miss" if kind in ("diverged", "no_candidate") else kind


def symbol(mark: Mark, x: float, y: float, radius: float, hollow: bool = False) -> str:
    paint = f'fill="none" stroke="{mark.colour}" stroke-width="1.4"' if hollow else f'fill="{mark.colour}"'
    if mark.shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{0.85 * radius:.1f}" {paint}/>'
    corners = " ".join(f"{x + dx * radius:.1f},{y + dy * radius:.1f}" for dx, dy in _CORNERS[mark.shape])
    return f'<polygon points="{corners}" {paint}/>'
