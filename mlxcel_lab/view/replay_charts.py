"""Pictures of replays: hit rates over budgets, rules side by side, and who is ahead where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from .theme import GREY, INK, NOTHING, SESSION_COLOURS, altair_config

_FIRST = ("learned", "origin", "session", "off", "lru", "anchor", "gdsf", "flop")
RULE_COLOURS = dict(zip(_FIRST, (SESSION_COLOURS[i] for i in (5, 0, 2, 1, 4, 3, 6, 7)), strict=True))
_DASHES = {"belady": [2, 2], "bound": [6, 3], "mlx-lm": [8, 2], "fifo": [1, 2]}


def capacity(
    frame: pl.DataFrame, title: str = "", value: str = "token_hit_rate", current: int | None = None
) -> Any:
    """Capacity curves: a line a rule over budgets in GiB (logarithmic); `current` marks the budget in force.

    `frame` has `rule`, `capacity_bytes` and the value, as `curves` gives it.
    """
    rows = frame.select("rule", pl.col(value), gib=pl.col("capacity_bytes") / 2**30)
    rules = rows["rule"].unique(maintain_order=True).to_list()
    axis = alt.Axis(format="%") if value.endswith("rate") else alt.Axis(format=",.3~s")
    lines = (
        alt.Chart(rows)
        .mark_line(point={"size": 26, "filled": True}, strokeWidth=2)
        .encode(
            x=alt.X("gib:Q", title="budget, GiB", scale=alt.Scale(type="log", nice=False)),
            y=alt.Y(f"{value}:Q", title=_WORDS.get(value, value), axis=axis),
            color=_rule_colour(rules),
            strokeDash=alt.StrokeDash(
                "rule:N",
                legend=None,
                scale=alt.Scale(domain=rules, range=[_DASHES.get(r, [1, 0]) for r in rules]),
            ),
            tooltip=["rule:N", alt.Tooltip("gib:Q", format=",.3f"), alt.Tooltip(f"{value}:Q", format=",.4f")],
        )
    )
    marks = [lines]
    if current is not None:
        here = alt.Chart(pl.DataFrame({"gib": [current / 2**30]}))
        marks.append(here.mark_rule(color=INK, strokeDash=[4, 4]).encode(x="gib:Q"))
    return _finished(alt.layer(*marks).properties(width=620, height=300, title=title))


_WORDS = {"token_hit_rate": "prompt tokens served", "prefill_seconds_saved": "seconds of prefill saved"}


def _rule_colour(rules: Sequence[str]) -> alt.Color:
    return alt.Color(
        "rule:N",
        title="",
        scale=alt.Scale(domain=list(rules), range=[RULE_COLOURS.get(rule, GREY) for rule in rules]),
        legend=alt.Legend(columns=10),
    )


def ahead(table: pl.DataFrame, title: str = "") -> Any:
    """Where a rule is ahead of the best other one, in points of the token hit rate: a square a trace and budget.

    `table` is of `bakeoff.verdicts`. Blue is ahead, orange behind; the number stands in the square.
    """
    rows = table.select("trace", "step", "best_rule", points=pl.col("ahead") * 100)
    reach = max(1.0, float(rows["points"].abs().max() or 0.0))  # type: ignore[arg-type]
    base = alt.Chart(rows).encode(
        x=alt.X("step:O", title="budget, from tight to ample", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("trace:N", title=None, sort=rows["trace"].unique(maintain_order=True).to_list()),
    )
    colour = alt.Color(
        "points:Q",
        title="points ahead",
        scale=alt.Scale(domain=[-reach, 0, reach], range=[SESSION_COLOURS[5], NOTHING, SESSION_COLOURS[0]]),
    )
    squares = base.mark_rect(cornerRadius=3, stroke=None).encode(
        color=colour, tooltip=["trace:N", "best_rule:N", alt.Tooltip("points:Q", format="+.2f")]
    )
    strong = f"abs(datum.points) > {0.4 * reach}"
    text = base.mark_text(fontSize=11).encode(
        text=alt.Text("points:Q", format="+.1f"),
        color=alt.condition(strong, alt.value("white"), alt.value(INK)),
    )
    return _finished(alt.layer(squares, text).properties(width=460, height=alt.Step(26), title=title))


def side_by_side(frame: pl.DataFrame, title: str = "") -> Any:
    """Hit rates of several caches on several traces as bars: columns `trace`, `rule`, `token_hit_rate`."""
    rules = frame["rule"].unique(maintain_order=True).to_list()
    colours = [RULE_COLOURS.get(rule, GREY) for rule in rules]
    return _finished(
        alt.Chart(frame.select("trace", "rule", "token_hit_rate"))
        .mark_bar()
        .encode(
            y=alt.Y("rule:N", title=None, sort=rules),
            x=alt.X("token_hit_rate:Q", title="prompt tokens served", axis=alt.Axis(format="%")),
            color=alt.Color("rule:N", legend=None, scale=alt.Scale(domain=rules, range=colours)),
            row=alt.Row(
                "trace:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left", labelColor=INK)
            ),
            tooltip=["trace:N", "rule:N", alt.Tooltip("token_hit_rate:Q", format=".4f")],
        )
        .properties(width=440, height=alt.Step(16), title=title)
    )


def over_time(frame: pl.DataFrame, title: str = "") -> Any:
    """Hit rates over time, a line a setting: columns `time`, `rule`, `token_hit_rate`."""
    names = frame["rule"].unique(maintain_order=True).to_list()
    return _finished(
        alt.Chart(frame.select("time", "rule", "token_hit_rate"))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("time:Q", title="seconds into the trace"),
            y=alt.Y("token_hit_rate:Q", title="prompt tokens served", axis=alt.Axis(format="%")),
            color=alt.Color(
                "rule:N",
                title="",
                scale=alt.Scale(domain=names, range=[GREY, SESSION_COLOURS[0]]),
                legend=alt.Legend(symbolType="stroke", symbolStrokeWidth=3),
            ),
        )
        .properties(width=620, height=200, title=title)
    )


def _finished(chart: Any) -> Any:
    return chart.configure(**altair_config())
