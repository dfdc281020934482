"""One journal at one moment, shaped once for all parts of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from . import chart_data, chart_layout
from .chart_data import Axis, Over, Shaped
from .theme import FAR_ABOVE

if TYPE_CHECKING:
    from ..store import Journal
    from ..store.frames import JournalFrames

_TITLES = {"operation": "operation (a lookup or an insert)", "time": "seconds"}


@dataclass
class ChartSource:
    """The tables of a picture, each made when a part asks for it, and their common x."""

    journal: Journal
    over: Over

    @cached_property
    def _frames(self) -> JournalFrames:
        return self.journal.frame()

    @cached_property
    def axis(self) -> Axis:
        return Axis(self._frames.events, self.over)

    @cached_property
    def alive(self) -> Shaped:
        return chart_data.snapshots(self._frames.lifetimes, self.axis)

    @cached_property
    def blocks(self) -> Shaped:
        return chart_layout.blocks(self.alive.rows)

    @cached_property
    def happenings(self) -> Shaped:
        return chart_data.happenings(self.axis)

    @cached_property
    def lanes(self) -> Shaped:
        return chart_layout.lanes(self.alive.rows)

    @cached_property
    def budget(self) -> pl.DataFrame:
        return chart_data.budget(self.journal, self.axis)

    @property
    def budget_in_view(self) -> bool:
        """Whether the budget's line belongs into the picture."""
        budgets, peak = (
            self.budget["capacity_bytes"].to_list(),
            max(self.blocks.rows["y2"].to_list(), default=0),
        )
        return bool(budgets) and (not peak or max(budgets) <= FAR_ABOVE * peak)

    def x(self, shown: bool = False, **axis: Any) -> alt.X:
        look = {"title": _TITLES[self.over], "tickMinStep": 1, "format": "~s", "grid": False, **axis}
        scale = alt.Scale(domain=[0, self.axis.end], nice=False)
        return alt.X("x:Q", axis=alt.Axis(**look) if shown else None, scale=scale)

    def notes(self) -> list[str]:
        """What a reader must know about the picture: what is pale in it, out of its sight, or thinned."""
        made = [
            self.__dict__[name]
            for name in ("alive", "blocks", "happenings", "lanes")
            if name in self.__dict__
        ]
        notes = self._notes_on_blocks() if "blocks" in self.__dict__ else []
        return list(dict.fromkeys([*notes, *(part.note for part in made if part.note)]))

    def _notes_on_blocks(self) -> list[str]:
        origins = self.blocks.rows["origin"].n_unique() > 1
        far = not self.budget_in_view and not self.budget.is_empty()
        return [
            *(["full colour: completions, pale: boundaries"] if origins else []),
            *([f"the budget, {self.budget['capacity_bytes'][-1]:,} bytes, lies far above"] if far else []),
        ]
