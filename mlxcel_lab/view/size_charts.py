"""Pictures of what snapshots cost: bytes against tokens, what pays for them, the budget's cliff, and trimming."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import polars as pl

from .theme import BUDGET, HIT, INK, SESSION_COLOURS, STATE_KINDS, altair_config

_BYTES = alt.Axis(format="~s", title="bytes of a snapshot", grid=False)
_LABEL = 0.15  # decades that a label takes


def against_tokens(sizes: pl.DataFrame, budget: int | None = None) -> alt.LayerChart | alt.FacetChart:
    """Lines of bytes over tokens, one a model, both axes logarithmic: columns model, tokens, bytes; a dashed budget."""
    held = sizes["tokens"].to_numpy()
    reach = alt.Scale(
        type="log", nice=False, domain=[int(held.min()), 5 * int(held.max())]
    )  # room for the labels
    over = alt.X("tokens:Q", scale=reach, axis=alt.Axis(format="~s", title="tokens held", grid=False))
    size = alt.Y("bytes:Q", scale=alt.Scale(type="log"), axis=_BYTES)
    facts = ["model:N", alt.Tooltip("tokens:Q", format=","), alt.Tooltip("bytes:Q", format=",")]
    lines = (
        alt.Chart(sizes)
        .mark_line()
        .encode(x=over, y=size, detail="model:N", tooltip=facts, color=_models(sizes))
    )
    last = sizes.group_by("model").agg(pl.all().sort_by("tokens").last())
    labels = (
        alt.Chart(_apart(last))
        .mark_text(align="left", dx=6, fontSize=10)
        .encode(x=over, y=alt.Y("label:Q"), text="model:N", color=_models(sizes))
    )
    return (
        alt.layer(lines, labels, *_budget(budget))
        .properties(width=560, height=420)
        .configure(**altair_config())
    )


def _apart(last: pl.DataFrame) -> pl.DataFrame:
    """The lines' ends with the height of a label each, pushed apart on the logarithmic axis until none overlap."""
    ends = last.sort("bytes")
    heights = np.log10(ends["bytes"].to_numpy().astype(float))
    for _ in range(400):
        short = np.maximum(_LABEL - np.diff(heights), 0) / 2
        heights = heights + np.append(0, short) - np.append(short, 0)
    return ends.with_columns(label=10**heights)


def _models(sizes: pl.DataFrame) -> alt.Color:
    return alt.Color("model:N", legend=None, scale=alt.Scale(scheme="tableau20"))


def _budget(budget: int | None) -> list[alt.Chart]:
    if budget is None:
        return []
    line = pl.DataFrame({"bytes": [budget]})
    return [alt.Chart(line).mark_rule(color=BUDGET, strokeDash=[6, 4]).encode(y="bytes:Q")]


def by_kind(kinds: pl.DataFrame) -> alt.FacetChart:
    """Shares of a snapshot's bytes by kind of state, a panel for each length: model, tokens, kind, bytes, share."""
    present = [kind for kind in STATE_KINDS if kind in set(kinds["kind"])]
    colour = alt.Color(
        "kind:N", scale=alt.Scale(domain=present, range=[STATE_KINDS[k] for k in present]), title=None
    )
    share = alt.X(
        "share:Q", axis=alt.Axis(format="%", title=None, tickCount=4), scale=alt.Scale(domain=[0, 1])
    )
    facts = ["model:N", "kind:N", alt.Tooltip("bytes:Q", format=","), alt.Tooltip("share:Q", format=".1%")]
    order = pl.col("kind").replace_strict({k: i for i, k in enumerate(present)}, return_dtype=pl.Int64)
    bars = (
        alt.Chart(kinds.with_columns(order=order))
        .mark_bar()
        .encode(
            y=alt.Y("model:N", title=None, sort=None), x=share, color=colour, order="order:Q", tooltip=facts
        )
    )
    return bars.properties(width=190).facet(_panel("tokens:Q", "tokens")).configure(**altair_config())


def cliff(
    hits: pl.DataFrame, all_cold: int | None, title: str, told: str = ""
) -> alt.LayerChart | alt.FacetChart:
    """The share of n conversations that hit when served in turn: n, hits, share; a dashed line where all are cold;
    `told` stands below the title."""
    over = alt.X("n:O", title="conversations served in turn", axis=alt.Axis(labelAngle=0, labelOverlap=True))
    share = alt.Y(
        "share:Q", axis=alt.Axis(format="%", title="hit in the last round"), scale=alt.Scale(domain=[0, 1])
    )
    bars = alt.Chart(hits).mark_bar(color=HIT.colour).encode(x=over, y=share, tooltip=["n:O", "hits:Q"])
    heading = alt.TitleParams(title, subtitle=told, anchor="start")
    layers: list[Any] = [bars]
    if all_cold is not None:
        mark = pl.DataFrame({"n": [all_cold], "text": [f"all cold from {all_cold} on"]})
        at = alt.Chart(mark).encode(x=alt.X("n:O"))
        layers.append(at.mark_rule(color=BUDGET, strokeDash=[6, 4]))
        layers.append(
            at.mark_text(align="left", dx=6, dy=-8, color=INK).encode(text="text:N", y=alt.datum(0.5))
        )
    return alt.layer(*layers).properties(width=560, height=220, title=heading).configure(**altair_config())


def savings(rows: pl.DataFrame) -> alt.FacetChart:
    """What trimming saves of a snapshot's bytes, a panel for each length: model, tokens, origin, saved."""
    colour = alt.Color(
        "origin:N",
        title=None,
        scale=alt.Scale(domain=["boundary", "completion"], range=[SESSION_COLOURS[4], SESSION_COLOURS[0]]),
    )
    facts = ["model:N", "origin:N", *(alt.Tooltip(f"{n}:Q", format=",") for n in ("allocated", "trimmed"))]
    bars = alt.Chart(rows).mark_bar().encode(
        y=alt.Y("model:N", title=None, sort=None), yOffset="origin:N", color=colour, tooltip=facts,
        x=alt.X("saved:Q", axis=alt.Axis(format="%", title=None, tickCount=4)),
    )  # fmt: skip
    return bars.properties(width=190).facet(_panel("tokens:Q", "tokens")).configure(**altair_config())


def _panel(field: str, title: str) -> alt.Column:
    header = alt.Header(labelExpr=f"format(datum.value, ',') + ' {title}'", labelColor=INK, title=None)
    return alt.Column(field, header=header)
