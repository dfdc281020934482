"""One look for every picture: the colours, shapes and words of sessions, causes and origins.

Charts, the dashboard's JavaScript and the HTML summaries all read them from here. Session colours are Okabe and Ito's
six and two more, kept apart under simulated protanopia, deuteranopia and tritanopia; what happened to a snapshot also
has a shape of its own, so that no fact is told by colour alone. Nothing here knows the page's theme: ink and marks are
mid-tones that read on JupyterLab's light and on its dark background alike (`tests/view/test_theme.py` measures it).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ..store.types import Origin, RemovalCause

INK = "#797979"  # text and axes: contrast 4.3 on white as on JupyterLab's dark #111111
GRID = "#80808033"
NOTHING = "#80808022"  # the middle of a scale that runs both ways
BUDGET = "#C0392B"  # the budget line, always dashed
FAR_ABOVE = (
    3.0  # a budget beyond so many times the peak is told in words: its line would flatten everything else
)
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"

SESSION_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#A0A040",
    "#9C86E6",
)
GREY = NO_SESSION_COLOUR = "#8A8F98"
NO_SESSION = "no session"


@dataclass(frozen=True, slots=True)
class Mark:
    """How one kind of event is drawn: `shape` is one of Vega's symbol names, `sign` the same among words."""

    label: str
    colour: str
    shape: str

    @property
    def sign(self) -> str:
        return _SIGNS[self.shape]


_SIGNS = {
    "triangle-up": "▲",
    "triangle-down": "▼",
    "triangle-right": "▶",
    "diamond": "◆",
    "square": "■",
    "circle": "●",
    "cross": "✚",
    "stroke": "▬",
}


@dataclass(frozen=True, slots=True)
class Fill:
    """How an origin's bytes are filled: `opacity` of the session's colour, and whether hatched over it."""

    label: str
    opacity: float
    hatched: bool


HIT = Mark("hit", "#009E73", "triangle-up")
MISS = Mark("miss", GREY, "circle")
REJECTED = Mark("rejected", "#A8327A", "cross")
RESIDENT = Mark("resident", "#009E73", "circle")
CAUSES: dict[RemovalCause, Mark] = {
    RemovalCause.SUPERSEDED: Mark("superseded", "#3D6FD9", "diamond"),
    RemovalCause.REPLACED: Mark("replaced", "#56A8E0", "triangle-right"),
    RemovalCause.EVICTED: Mark("evicted", "#D55E00", "triangle-down"),
    RemovalCause.EXPIRED: Mark("expired", "#D07FC0", "square"),
    RemovalCause.CLEARED: Mark("cleared", GREY, "stroke"),
}
# The one place to look a mark up, by what happened: `hit`, `miss`, `rejected`, a cause of removal, `resident`.
MARKS: dict[str, Mark] = {mark.label: mark for mark in (HIT, MISS, REJECTED, *CAUSES.values(), RESIDENT)}
# A turn's tokens: found in the cache, prefilled anew, and decoded.
TURN_PARTS = {"cached": HIT.colour, "prefilled": SESSION_COLOURS[1], "reply": GREY}
# What pays for a snapshot: the kinds of cached state, in stacking order.
STATE_KINDS = {
    "kv": SESSION_COLOURS[0], "window": SESSION_COLOURS[4], "recurrent": SESSION_COLOURS[5],
    "convolution": SESSION_COLOURS[1], "scalars": NO_SESSION_COLOUR,
}  # fmt: skip
ORIGINS: dict[Origin, Fill] = {
    Origin.COMPLETION: Fill("completion", 0.95, hatched=False),
    Origin.BOUNDARY: Fill("boundary", 0.5, hatched=True),
}


def session_label(session: str | None) -> str:
    """The name under which a session is shown."""
    return NO_SESSION if session is None else session


def session_colours(sessions: Iterable[str | None]) -> dict[str, str]:
    """Label -> colour in order of first appearance; colours repeat after the eighth session."""
    labels = dict.fromkeys(session_label(session) for session in sessions)
    named = [label for label in labels if label != NO_SESSION]
    colours = {label: SESSION_COLOURS[i % len(SESSION_COLOURS)] for i, label in enumerate(named)}
    return {label: colours.get(label, NO_SESSION_COLOUR) for label in labels}


def altair_config() -> dict[str, Any]:
    """Altair's configuration: transparent, in mid-tones, so that one chart fits a light page and a dark one."""
    text = {
        "labelColor": INK,
        "titleColor": INK,
        "labelFont": FONT,
        "titleFont": FONT,
        "titleFontWeight": "normal",
    }
    lines = {"domainColor": INK, "tickColor": INK, "gridColor": GRID}
    title = {"color": INK, "subtitleColor": INK, "font": FONT, "subtitleFont": FONT, "fontSize": 14}
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "axis": {**text, **lines, "labelLimit": 200},
        "legend": {
            **text,
            "orient": "top",
            "direction": "horizontal",
            "titleOrient": "left",
            "symbolStrokeWidth": 0,
            "symbolSize": 120,
        },
        "header": text,
        "text": {"color": INK},
        "title": title,
    }


def tokens() -> dict[str, Any]:
    """The whole look as plain JSON values, for the dashboard's JavaScript."""
    return {
        "ink": INK,
        "grid": GRID,
        "budget": BUDGET,
        "farAbove": FAR_ABOVE,
        "font": FONT,
        "sessions": list(SESSION_COLOURS),
        "noSession": NO_SESSION_COLOUR,
        "marks": {kind: asdict(mark) for kind, mark in MARKS.items()},
        "origins": {origin.value: asdict(fill) for origin, fill in ORIGINS.items()},
    }
