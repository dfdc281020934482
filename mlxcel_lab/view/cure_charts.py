"""Pictures of the cure: what each turn reuses, and what real templates keep."""

from __future__ import annotations

import altair as alt
import polars as pl

from ..store.types import RemovalCause
from . import theme

_CURES = ("no cure", "boundary", "boundary and warm-up")
_KEPT, _BROKEN = theme.HIT.colour, theme.CAUSES[RemovalCause.EVICTED].colour


def reuse_by_turn(frame: pl.DataFrame) -> alt.FacetChart:
    """`cure.by_cure` as one panel a template: the share of each turn's prompt that was reused, a line a cure."""
    shares = frame.with_columns((pl.col("cached") / pl.col("prompt")).alias("share"))
    colours = alt.Scale(domain=list(_CURES), range=[theme.SESSION_COLOURS[i] for i in (5, 1, 0)])
    line = (
        alt.Chart(shares)
        .mark_line(point=alt.OverlayMarkDef(size=55), strokeWidth=2.5)
        .encode(
            x=alt.X("turn:O", title="turn", axis=alt.Axis(labelAngle=0)),
            y=alt.Y(
                "share:Q",
                title="of the prompt reused",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=alt.Color("cure:N", scale=colours, title=None, sort=list(_CURES)),
            strokeDash=alt.StrokeDash("cure:N", sort=list(_CURES), legend=None),
            tooltip=["template:N", "cure:N", "turn:O", "cached:Q", "prompt:Q"],
        )
        .properties(width=170, height=130)
    )
    facets = line.facet(facet=alt.Facet("template:N", title=None, sort=None), columns=3)
    return facets.configure(**theme.altair_config())


def survival_map(frame: pl.DataFrame) -> alt.FacetChart:
    """`survival.pinned` as a map: a row a template and scene, a mark for each vector that survives the next turn."""
    long = frame.with_columns((pl.col("mode") + " · " + pl.col("scene")).alias("case")).unpivot(
        on=["prompt", "completion", "boundary", "warmup"],
        index=["family", "case", "why"],
        variable_name="vector",
        value_name="survives",
    )
    order = ["prompt", "completion", "boundary", "warmup"]
    kept = alt.Scale(domain=[True, False], range=[_KEPT, _BROKEN])
    marks = (
        alt.Chart(long)
        .mark_point(filled=True, size=110)
        .encode(
            x=alt.X("vector:N", sort=order, title=None, axis=alt.Axis(labelAngle=-35, orient="top")),
            y=alt.Y("case:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
            color=alt.Color("survives:N", scale=kept, title="survives the next turn"),
            shape=alt.Shape("survives:N", scale=alt.Scale(domain=[True, False], range=["circle", "cross"])),
            tooltip=["family:N", "case:N", "vector:N", "survives:N", "why:N"],
        )
        .properties(width=130, height=alt.Step(19))
    )
    facet = alt.Facet("family:N", title=None, sort=None)
    facets = marks.facet(facet=facet, columns=2).resolve_scale(y="independent", x="independent")
    return facets.configure(**theme.altair_config())
