"""The widget's picture as SVG and PNG, from the same panels: for where no widget can live, and to take away.

Colours are the theme's mid-tones on no ground, so that one picture reads on light and on dark pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import vl_convert

from ..store.words import size
from . import theme
from .frames import CODE, KINDS, SIGNS
from .payload import Array
from .picture_marks import RAIL, rail_of, symbol

WIDTH, LEFT, RIGHT = 920, 104, 14
STACK, RAIL_ROW, LANE_ROW, GAP, AXIS = 130, 17, 13, 7, 24


def svg(
    panels: Sequence[dict[str, Any]], domain: Sequence[float], axis: str, captions: Sequence[Any] = ()
) -> str:
    """Panels (see `payload.panel`) one above the other over the same x. `captions` are lines of (what, value)."""
    kinds = [kind for kind in RAIL if any(_has(panel, kind) for panel in panels)]
    drawn, y = [_hatches(len(theme.SESSION_COLOURS))], 0.0
    for i, panel in enumerate(panels):
        part = _Part(panel, domain, kinds, captions[i] if i < len(captions) else (), y)
        drawn.append(part.draw())
        y = part.bottom
    drawn.append(_axis(domain, axis, y))
    height = y + AXIS
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" viewBox="0 0 {WIDTH} {height:g}" '
        f'font-family="{escape(theme.FONT)}" font-size="11" fill="{theme.INK}">{"".join(drawn)}</svg>'
    )


def png(drawing: str, scale: float = 1.25) -> bytes:
    """A drawing of `svg` as a PNG."""
    picture: bytes = vl_convert.svg_to_png(drawing, scale=scale)
    return picture


class _Part:
    """One panel at its place; `draw` finds out where it ends."""

    def __init__(
        self, panel: dict[str, Any], domain: Sequence[float], kinds: list[str], captions: Any, top: float
    ) -> None:
        self.panel, self.kinds, self.captions = panel, kinds, captions
        self.low, self.high = domain
        self.points = panel["points"]
        self.x_of = np.frombuffer(self.points["x"], "<f8")
        self.stack = _stack(panel)
        peak = max(float(self.stack.sum(axis=0).max(initial=1)), 1.0)
        capacity = panel["capacity"] or 0
        self.budget = capacity if 0 < capacity <= theme.FAR_ABOVE * peak else 0
        self.top_bytes = max(peak, self.budget) * 1.12
        self.top = top + 24
        self.bottom = top

    def draw(self) -> str:
        parts = [self._caption(), self._stack(), self._budget()]
        y = self.top + STACK + 16
        for kind in self.kinds:
            parts.append(self._rail(kind, y))
            y += RAIL_ROW
        self.bottom = y
        return "".join([*parts, self._lanes()])

    def x(self, value: Array) -> Array:
        within = np.clip((np.asarray(value, float) - self.low) / (self.high - self.low), 0, 1)
        return LEFT + (WIDTH - LEFT - RIGHT) * within

    def y(self, value: Array) -> Array:
        return self.top + STACK * (1 - np.asarray(value) / self.top_bytes)

    def _caption(self) -> str:
        said = "".join(
            f'<tspan dx="12" font-weight="600">{escape(v)}</tspan> {escape(k)}' for k, v in self.captions
        )
        title = f'<tspan font-weight="700" font-size="13">{escape(self.panel["title"])}</tspan>'
        return f'<text x="4" y="{self.top - 10}">{title}{said}</text>'

    def _stack(self) -> str:
        shown = _thinned(self.x(self.x_of))
        edges = np.append(self.x(self.x_of[shown]), WIDTH - RIGHT)
        lower = np.zeros(len(shown))
        out = []
        for layer, values in enumerate(self.stack[:, shown]):
            upper = lower + values
            if values.any():
                out.append(_area(edges, self.y(lower), self.y(upper), self._fill(layer // 2, layer % 2 == 1)))
            lower = upper
        base = f'<path d="M{LEFT} {self.top + STACK}H{WIDTH - RIGHT}" stroke="{theme.GRID}"/>'
        return "".join([*out, base, _text("0", LEFT - 8, self.top + STACK + 3)])

    def _fill(self, session: int, boundary: bool) -> str:
        index = session % len(theme.SESSION_COLOURS)
        colour = self._colour(session)
        return f'fill="url(#h{index})"' if boundary else f'fill="{colour}" fill-opacity="0.92"'

    def _colour(self, session: int) -> str:
        sessions = self.panel["sessions"]
        if session >= len(sessions):
            return theme.NO_SESSION_COLOUR
        return theme.session_colours(None if s == theme.NO_SESSION else s for s in sessions)[
            sessions[session]
        ]

    def _budget(self) -> str:
        if not self.budget:
            return ""
        y = float(self.y(np.array(self.budget)))
        line = f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{theme.BUDGET}" stroke-dasharray="7 4"/>'
        return line + _text(f"budget {size(self.budget)}", WIDTH - RIGHT, y - 5, theme.BUDGET)

    def _rail(self, kind: str, y: float) -> str:
        label = _text(kind, LEFT - 8, y + 4)
        mark = theme.MARKS[kind]
        if not self.panel["exact"]:
            counts = _bin_counts(self.points, kind)
            at = self.x(self.x_of[counts > 0])
            ticks = "".join(f"M{x:.1f} {y - 5}v10" for x in at)
            return label + f'<path d="{ticks}" stroke="{mark.colour}" stroke-width="1"/>'
        codes = np.frombuffer(self.points["kind"], "u1")
        at = self.x(self.x_of[[k < len(KINDS) and rail_of(KINDS[k]) == kind for k in codes]])
        return label + "".join(symbol(mark, x, y, 5, kind == "miss") for x in np.unique(np.round(at, 1)))

    def _lanes(self) -> str:
        bars = {name: np.frombuffer(self.panel["bars"][name], kind) for name, kind in _BARS.items()}
        tall = [0] * (2 * len(self.panel["sessions"]))
        for lane, row in zip(bars["lane"].tolist(), bars["row"].astype(int).tolist(), strict=True):
            tall[lane] = max(tall[lane], row + 1)
        height = min(LANE_ROW, 240 / max(sum(tall), 1))
        out, tops = [], []
        for session, label in enumerate(self.panel["sessions"]):
            start = self.bottom
            for lane in (2 * session, 2 * session + 1):
                tops.append(self.bottom)
                self.bottom += tall[lane] * height
            side = (
                f'<rect x="{LEFT - 6}" y="{start:.1f}" width="3" height="{max(self.bottom - start, 2):.1f}"'
            )
            out.append(f'{side} fill="{self._colour(session)}"/>{_text(label, LEFT - 12, start + 10)}')
            self.bottom += GAP
        return "".join(
            [*out, *(self._bar(bars, b, tops, height) for b in range(self.panel["bars"]["count"]))]
        )

    def _bar(self, bars: dict[str, Array], b: int, tops: list[float], height: float) -> str:
        alive = bars["diedPos"][b] < 0
        mark = theme.RESIDENT if alive else theme.MARKS[KINDS[bars["cause"][b]]]
        x, end = self.x(bars["start"][b]), self.x(bars["end"][b])
        y = tops[bars["lane"][b]] + bars["row"][b] * height
        opacity = 0.4 if bars["lane"][b] % 2 else 0.85
        width = max(end - x - (1.5 if height > 5 else 0), 0.6)
        bar = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height - 1:.1f}" rx="2" '
        bar += f'fill="{mark.colour}" fill-opacity="{opacity}"/>'
        wide = end - x > 10 and height > 6 and not alive
        return bar + (symbol(mark, float(end), y + height / 2 - 0.5, 4) if wide else "")


_BARS = {"start": "<f8", "end": "<f8", "row": "<i4", "lane": "<i4", "diedPos": "<i4", "cause": "u1"}


def _stack(panel: dict[str, Any]) -> Array:
    """Bytes by display layer from each point on."""
    points, layers = panel["points"], 2 * (len(panel["sessions"]) + 1)
    if not panel["exact"]:
        return np.frombuffer(points["stack"], "<f8").reshape(layers, points["count"])
    sign = np.append(SIGNS, [0] * (256 - len(KINDS)))
    change = np.zeros((layers, points["count"]))
    of_layer = np.frombuffer(points["layer"], "<i4")
    used = np.flatnonzero(of_layer >= 0)
    delta = sign[np.frombuffer(points["kind"], "u1")] * np.frombuffer(points["size"], "<f8")
    change[of_layer[used], used] = delta[used]
    return np.array(points["base"])[:, None] + np.cumsum(change, axis=1)


def _has(panel: dict[str, Any], kind: str) -> bool:
    if panel["exact"]:
        return any(rail_of(KINDS[k]) == kind for k in set(panel["points"]["kind"]) if k < len(KINDS))
    return bool(_bin_counts(panel["points"], kind).any())


def _bin_counts(points: dict[str, Any], kind: str) -> Array:
    counts = np.frombuffer(points["kinds"], "<u4").reshape(len(KINDS), points["count"])
    found: Array = counts[[CODE[k] for k in KINDS if rail_of(k) == kind]].sum(axis=0)
    return found


def _thinned(x: Array) -> Array:
    """The last point of each half pixel."""
    column = np.round(2 * x)
    return np.flatnonzero(np.append(column[:-1] != column[1:], True))


def _area(edges: Array, lower: Array, upper: Array, fill: str) -> str:
    def steps(level: Array) -> list[str]:
        return [
            f"{a:.1f} {y:.1f}L{b:.1f} {y:.1f}" for a, b, y in zip(edges[:-1], edges[1:], level, strict=True)
        ]

    back = [f"{b:.1f} {y:.1f}L{a:.1f} {y:.1f}" for a, b, y in zip(edges[:-1], edges[1:], lower, strict=True)][
        ::-1
    ]
    return f'<path d="M{"L".join([*steps(upper), *back])}Z" {fill}/>'


def _hatches(count: int) -> str:
    tiles = "".join(
        f'<pattern id="h{i}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="6" height="6" fill="{colour}" fill-opacity="0.28"/>'
        f'<rect width="1.6" height="6" fill="{colour}"/></pattern>'
        for i, colour in enumerate(theme.SESSION_COLOURS[:count])
    )
    return f"<defs>{tiles}</defs>"


def _axis(domain: Sequence[float], axis: str, y: float) -> str:
    span = domain[1] - domain[0]
    step = next(s for s in (m * 10**e for e in range(-9, 15) for m in (1, 2, 5)) if s >= span / 10)
    if axis != "time":
        step = max(round(step), 1)
    ticks = np.arange(np.ceil(domain[0] / step) * step, domain[1], step)
    at = LEFT + (WIDTH - LEFT - RIGHT) * (ticks - domain[0]) / span
    unit = " s" if axis == "time" else ""
    labels = "".join(
        _text(f"{t:g}{unit}", x, y + 12, anchor="middle") for t, x in zip(ticks, at, strict=True)
    )
    return labels + _text({"turns": "turn", "events": "event"}.get(axis, axis), LEFT - 8, y + 12)


def _text(words: str, x: float, y: float, colour: str = theme.INK, anchor: str = "end") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
