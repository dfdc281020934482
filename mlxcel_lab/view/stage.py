"""The view of one or two journals: picture, figures, selected turn, residents, settings. Driven by journals alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from . import panels
from .frames import Follower, FrameModel
from .occupancy import Occupancy
from .payload import panel, shown_sessions
from .picture import svg
from .reasons import Reasons
from .sources import Source
from .timeline import Timeline
from .turn_card import lookup_of, turn_card, turn_events


class Stage:
    """Call `refresh` for what is new in the journals, `draw` after zooming, `describe` after the cursor moved.

    Not thread-safe: its owner holds a lock.
    """

    def __init__(self) -> None:
        self.occupancy = Occupancy()
        self.turn, self.counters, self.residents, self.settings = (widgets.HTML() for _ in range(4))
        self.sources: list[Source] = []
        self._followers: list[Follower] = []
        self._reasons: list[Reasons] = []
        self._line = Timeline([])
        self.details = self._layout()

    @property
    def models(self) -> list[FrameModel]:
        return [follower.model for follower in self._followers]

    def seen(self) -> list[tuple[Source, FrameModel]]:
        return list(zip(self.sources, self.models, strict=True))

    def watch(self, sources: Sequence[Source], reasons: Sequence[Reasons] = ()) -> None:
        """Look at other journals from now on; the next `refresh` draws them."""
        self.sources = list(sources)
        self._followers = [Follower(source.journal) for source in sources]
        self._reasons = list(reasons) or [Reasons(source.journal) for source in sources]
        self._line = Timeline([])

    def refresh(self) -> bool:
        """Take in what is new and draw it; whether anything was."""
        if not self.sources:
            return False
        for source in self.sources:
            source.update()
        news = [follower.poll() for follower in self._followers]  # all of them, not only the first with news
        if not any(news) and self._line.models:
            return False
        if self._line.models != tuple(self.models):
            self._line = Timeline(self.models)
        self.draw()
        self.describe()
        return True

    def draw(self) -> None:
        """Send the picture of the window that is shown."""
        shown, line = self.occupancy, self._line
        domain = line.domain(shown.axis)
        drawn = self._panels((shown.window[0], shown.window[1]) if len(shown.window) == 2 else domain)
        with shown.hold_sync():
            shown.domain, shown.total = list(domain), len(line)
            shown.cursor = min(shown.cursor, len(line) - 1)
            shown.panels = drawn
            shown.captions = self._captions()

    def describe(self) -> None:
        """Show everything below the picture, and the figures above it, as they were at the cursor."""
        rows, titles = self._rows(), [source.title for source in self.sources]
        self.occupancy.captions = self._captions()
        cards = [
            self._card(i, row, title) for i, (row, title) in enumerate(zip(rows, self._titles(), strict=True))
        ]
        self.turn.value = f'<div class="mlxl-columns">{"".join(f"<div>{card}</div>" for card in cards)}</div>'
        self.counters.value = panels.counters(self.models, rows, titles)
        parts = zip(self.models, rows, self._titles(), strict=True)
        self.residents.value = "".join(panels.residents(model, row, title) for model, row, title in parts)
        self.settings.value = panels.settings(self.models, titles)

    def drawing(self) -> str:
        """The picture of all time, as SVG."""
        domain = self._line.domain(self.occupancy.axis)
        ends = [panels.captions(model, len(model) - 1) for model in self.models]
        return svg(self._panels(domain), domain, self.occupancy.axis, ends)

    def _panels(self, window: tuple[float, float]) -> list[dict[str, Any]]:
        sessions, line = shown_sessions(self.models), self._line
        parts = zip(self.models, line.positions(), line.x(self.occupancy.axis), self._titles(), strict=True)
        return [panel(model, positions, x, window, sessions, title) for model, positions, x, title in parts]

    def _titles(self) -> list[str]:
        """A journal alone needs no title."""
        return [source.title if len(self.sources) > 1 else "" for source in self.sources]

    def _rows(self) -> list[int]:
        return self._line.rows_at(self.occupancy.cursor)

    def _captions(self) -> list[Any]:
        return [
            list(map(list, panels.captions(m, row))) for m, row in zip(self.models, self._rows(), strict=True)
        ]

    def _card(self, index: int, row: int, title: str) -> str:
        model = self.models[index]
        events = turn_events(self.sources[index].journal, model, row)
        looked = lookup_of(events)
        why = self._reasons[index].of(looked) if looked is not None else None
        if row < 0:
            return turn_card([], 0, -1, None, title)
        return turn_card(events, int(model.events["turn"][row]), int(model.events["seq"][row]), why, title)

    def _layout(self) -> widgets.VBox:
        """What stands below the picture; the picture itself is placed by the owner."""
        wrapped = widgets.Layout(flex_flow="row wrap", grid_gap="0 36px")
        left = widgets.VBox([self.residents, self.settings])
        box = widgets.VBox([self.turn, widgets.HBox([left, self.counters], layout=wrapped)])
        box.add_class("mlxl-panels")
        return box
