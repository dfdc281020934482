"""The pictures of a journal: what was resident and why it went, when it happened, and how often.

Each takes a `Journal` and returns an Altair chart, so that it can be laid beside others or saved. A session has the
same colour in all of them, and so has a cause. Hover for the facts. What is thinned for size says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import altair as alt
import polars as pl

from ..store.types import RemovalCause
from . import chart_data, chart_layout, theme
from .chart_data import Over
from .chart_source import ChartSource

if TYPE_CHECKING:
    from ..store import Journal

WIDTH = 680
_BYTES = "replace(format({}, '.3~s'), /([a-zA-Z]*)$/, ' $1B')"  # 40 MB
_GAP: dict[str, Any] = {
    "strokeWidth": 1,
    "x2Offset": -1,
    "yOffset": -1,
    "y2Offset": 1,
}  # so that blocks lie apart
_FACTS = ["snapshot_id:Q", "session:N", "origin:N", "num_tokens:Q", "size_bytes:Q", "hits:Q", "fate:N"]


def story(journal: Journal, title: str = "", over: Over = "operation") -> alt.VConcatChart:
    """Occupancy, the time line of events under it, and the snapshots' lanes, one x for all."""
    source = ChartSource(journal, over)
    return _finished(source, [_occupancy(source), _time_line(source, title=None), _lanes(source)], title)


def occupancy(journal: Journal, title: str = "", over: Over = "operation") -> alt.VConcatChart:
    """Resident bytes, a block a snapshot, stacked by session; the budget; under it what happened, by kind."""
    source = ChartSource(journal, over)
    return _finished(source, [_occupancy(source), _time_line(source)], title)


def lanes(journal: Journal, title: str = "", over: Over = "operation") -> alt.VConcatChart:
    """A bar a snapshot from birth to death, coloured by why it went and linked to the one it gave way to."""
    source = ChartSource(journal, over)
    return _finished(source, [_lanes(source)], title)


def turns(journal: Journal, title: str = "") -> alt.VConcatChart:
    """A bar a turn of the engine: the tokens that were cached, prefilled and decoded; hover for the reason."""
    rows = chart_data.turns(journal)
    parts = alt.Scale(domain=list(theme.TURN_PARTS), range=list(theme.TURN_PARTS.values()))
    legend = alt.Legend(title="tokens", symbolType="square") if rows.height else None
    bars = alt.Chart(rows).mark_bar(height=13, x2Offset=-1).encode(
        y=alt.Y("turn:O", title="turn"), x=alt.X("tokens:Q", title=None, axis=alt.Axis(grid=False, tickMinStep=1)),
        color=alt.Color("part:N", scale=parts, legend=legend), order=alt.Order("place:Q"),
        tooltip=["turn:O", "session:N", "part:N", "tokens:Q", "reason:N"],
    )  # fmt: skip
    placed = bars.transform_calculate(place=f"indexof({list(theme.TURN_PARTS)}, datum.part)")
    source = ChartSource(journal, "operation")
    return _finished(source, [placed.properties(width=WIDTH, height=alt.Step(20))], title)


def counters(journal: Journal, title: str = "") -> alt.VConcatChart:
    """How often each kind of thing happened."""
    source = ChartSource(journal, "operation")
    y = alt.Y("what:N", sort=None, title=None)
    counts = chart_data.counts(source.axis.events)
    base = alt.Chart(counts).encode(y=y, x=alt.X("count:Q", axis=None))
    bars = base.mark_bar(height=12, cornerRadiusEnd=3).encode(color=_by_mark(alt.Color, counts, "what"))
    figures = base.mark_text(align="left", dx=5, color=theme.INK).encode(text=alt.Text("count:Q", format=","))
    return _finished(source, [(bars + figures).properties(width=WIDTH // 2, height=alt.Step(20))], title)


def _finished(source: ChartSource, parts: list[Any], title: str) -> alt.VConcatChart:
    chart = alt.vconcat(*parts, spacing=8).resolve_scale(
        x="shared", color="independent", stroke="independent", shape="independent"
    )
    notes = source.notes()
    if title or notes:
        chart = chart.properties(title=alt.TitleParams(title, subtitle=notes, anchor="start", offset=8))
    return chart.configure(**theme.altair_config())


def _occupancy(source: ChartSource) -> alt.LayerChart | alt.FacetChart:
    rows = source.blocks.rows
    y = alt.Y("y:Q", title="resident", axis=alt.Axis(labelExpr=_BYTES.format("datum.value"), tickCount=5))
    filled = alt.Scale(domain=list(theme.ORIGINS), range=[fill.opacity for fill in theme.ORIGINS.values()])
    blocks = alt.Chart(rows).mark_rect(**_GAP).encode(
        x=source.x(), x2="x2:Q", y=y, y2="y2:Q", color=_by_session(alt.Color, source, "session"),
        stroke=_by_session(alt.Stroke, source), fillOpacity=alt.FillOpacity("origin:N", scale=filled),
        tooltip=_facts(rows),
    )  # fmt: skip
    line = _budget_line(source) if source.budget_in_view else []
    return alt.layer(blocks, *line).properties(width=WIDTH, height=180)


def _budget_line(source: ChartSource) -> list[alt.Chart]:
    base = alt.Chart(source.budget).encode(y=alt.Y("capacity_bytes:Q"))
    line = base.mark_rule(color=theme.BUDGET, strokeDash=[6, 4], strokeWidth=1.5).encode(
        x=source.x(), x2="x2:Q"
    )
    words = base.transform_calculate(words="'budget ' + " + _BYTES.format("datum.capacity_bytes"))
    text = words.mark_text(align="right", dy=-7, dx=-2, color=theme.BUDGET, fontSize=11)
    return [line, text.encode(x="x2:Q", text="words:N")]


def _time_line(source: ChartSource, **axis: Any) -> alt.Chart:
    rows = source.happenings.rows
    order = _labels(rows, "what")
    y = alt.Y("what:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False, grid=True))
    marks = alt.Chart(rows).mark_point(filled=True, size=70, opacity=1).encode(
        x=source.x(shown=True, **axis), y=y, tooltip=["words:N", "session:N", "snapshot_id:Q", "seq:Q"],
        color=_by_mark(alt.Color, rows, "what"), shape=_by_mark(alt.Shape, rows, "what"),
    )  # fmt: skip
    return marks.properties(width=WIDTH, height=alt.Step(18))


def _lanes(source: ChartSource) -> alt.LayerChart | alt.FacetChart:
    rows = source.lanes.rows
    count = 1 if rows.is_empty() else cast(int, rows["lane"].max()) + 1
    apart = rows.height <= chart_layout.LANES_APART
    y = alt.Y("top:Q", axis=None, scale=alt.Scale(domain=[0, count], reverse=True, nice=False))
    fate = _by_mark(alt.Color, rows, "fate", "what became of it")
    bars = alt.Chart(rows.with_columns(top=pl.col("lane") + 0.14, bottom=pl.col("lane") + 0.86)).encode(
        x=source.x(shown=True), y=y
    )
    lives = bars.mark_rect(cornerRadius=3, strokeWidth=1).encode(
        x2="x2:Q", y2="bottom:Q", color=fate, stroke=_by_mark(alt.Stroke, rows, "fate"), tooltip=_facts(rows)
    )
    sizes = (
        bars.transform_filter(alt.datum.x2 - alt.datum.x > source.axis.end / 20)
        .mark_text(align="left", dx=5, dy=6, fontSize=9, color="white")
        .encode(text=alt.Text("num_tokens:Q", format=","))
    )
    lives_and_links = [_links(source, y, fate), lives, *([sizes] if apart else [])]
    return (
        alt.layer(alt.layer(*_session_bands(source, y)), alt.layer(*lives_and_links))
        .resolve_scale(color="independent")
        .properties(width=WIDTH, height=max(24, count * (16 if apart else 7)))
    )


def _links(source: ChartSource, y: alt.Y, fate: alt.Color) -> alt.Chart:
    """From where a snapshot ended to the newcomer that took its place: solid, or dashed where it was pushed out."""
    heirs = chart_layout.links(source.lanes.rows).with_columns(
        top=pl.col("lane") + 0.5, bottom=pl.col("lane2") + 0.5
    )
    pushed_out = alt.datum.fate == theme.CAUSES[RemovalCause.EVICTED].label
    dash = alt.when(pushed_out).then(alt.value([2, 3])).otherwise(alt.value([1, 0]))
    rule = alt.Chart(heirs).mark_rule(strokeWidth=1.5)
    return rule.encode(x=source.x(shown=True), y=y, y2="bottom:Q", color=fate, strokeDash=dash)


def _session_bands(source: ChartSource, y: alt.Y) -> list[alt.Chart]:
    """Each session's lanes under one tint of its colour, named at the left."""
    ends = {"top": pl.col("lane").min(), "bottom": pl.col("lane").max() + 1}
    bands = source.lanes.rows.group_by("session", maintain_order=True).agg(**ends)
    base = alt.Chart(bands).encode(y=y, y2="bottom:Q", color=_by_session(alt.Color, source))
    tint = base.mark_rect(opacity=0.12).encode(x=alt.value(0), x2=alt.value(WIDTH))
    edge = base.mark_rect().encode(x=alt.value(-6), x2=alt.value(-2))
    name = alt.Chart(bands.with_columns(middle=(pl.col("top") + pl.col("bottom")) / 2)).mark_text(
        align="right", color=theme.INK, fontSize=11
    )
    return [tint, edge, name.encode(y=alt.Y("middle:Q", axis=None), x=alt.value(-10), text="session:N")]


def _facts(rows: pl.DataFrame) -> list[str]:
    return [fact for fact in _FACTS if fact[:-2] in rows.columns]


def _labels(rows: pl.DataFrame, field: str) -> list[str]:
    present = set(rows[field])
    return [label for label in theme.MARKS if label in present]


def _by_mark(channel: Any, rows: pl.DataFrame, field: str, legend: str = "") -> Any:
    """Colour or shape by what happened, of the kinds that did."""
    labels = _labels(rows, field)
    look = [getattr(theme.MARKS[label], "shape" if channel is alt.Shape else "colour") for label in labels]
    shown = alt.Legend(title=legend, symbolType="square") if legend and labels else None
    return channel(f"{field}:N", scale=alt.Scale(domain=labels, range=look), legend=shown)


def _by_session(channel: Any, source: ChartSource, legend: str = "") -> Any:
    colours = theme.session_colours(source.alive.rows["session"])
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return channel("session:N", scale=scale, legend=alt.Legend(title=legend) if legend and colours else None)
