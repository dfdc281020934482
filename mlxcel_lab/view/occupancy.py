"""The widget that draws frames: occupancy, marks and lanes on one canvas a journal, with a cursor through all of them.

Its JavaScript (`occupancy.js` and the two files before it) imports nothing and asks no network. It draws what `panels`
holds and changes three traits: `cursor`, `window` and `axis`; whoever owns the widget answers by new panels.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from .frames import KINDS, REASONS
from .theme import tokens

_HERE = Path(__file__).parent
STYLE = _HERE / "occupancy.css"


def module() -> str:
    """The widget's JavaScript: one module out of three files, each of which can be read by itself."""
    names = ("occupancy_data.js", "occupancy_paint.js", "occupancy.js")
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in names)


class Occupancy(anywidget.AnyWidget):
    """`cursor` is a position of the shared time line, or -1 to follow the end."""

    _esm = module()
    _css = STYLE

    look = traitlets.Dict(help="colours, shapes and words").tag(sync=True)
    panels = traitlets.List(traitlets.Dict(), help="one a journal: payload.panel()").tag(sync=True)
    captions = traitlets.List(traitlets.List(), help="a line of figures a panel, at the cursor").tag(
        sync=True
    )
    domain = traitlets.List(traitlets.Float(), default_value=[0.0, 1.0]).tag(sync=True)
    window = traitlets.List(traitlets.Float(), help="visible x; empty: all").tag(sync=True)
    axis = traitlets.Unicode("turns").tag(sync=True)
    total = traitlets.Int(0, help="positions on the time line").tag(sync=True)
    cursor = traitlets.Int(-1).tag(sync=True)

    @staticmethod
    def make_look() -> dict[str, Any]:
        """The theme and the names behind the codes that panels hold."""
        return {**tokens(), "kinds": list(KINDS), "reasons": list(REASONS)}

    @traitlets.default("look")
    def _default_look(self) -> dict[str, Any]:
        return self.make_look()

    def __repr__(self) -> str:
        return f"Occupancy({len(self.panels)} panels, {self.total} events)"
