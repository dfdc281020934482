"""A foreign server that has only mlxcel's counters (`GET /v1/cache/stats`): polled, drawn, and its limits said.

Counters are sums since the server's start. What can be drawn of them: resident bytes and entries at each poll, and how
often each thing happened between two polls. What happened between them in which order, and to whom, they can't tell.
"""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import altair as alt
import httpx
import ipywidgets as widgets
import polars as pl
import vl_convert

from . import theme
from .remote import ask, client_for

CANT_TELL = (
    "whose snapshots they are, and of which origin",
    "the age, the tokens and the hits of a single snapshot",
    "which snapshot superseded or evicted which",
    "why a lookup missed, and what was asked for",
    "in which order things happened between two polls, and peaks between them",
)
_GAUGES = ("snapshot_bytes", "snapshot_entries")
# wire name -> (what it is called here, the theme's mark); replacements are in mlxcel's evictions_lru and taken out
_RATES = {
    "snapshot_hits": "hit",
    "snapshot_misses": "miss",
    "snapshot_supersedes": "superseded",
    "snapshot_replacements": "replaced",
    "snapshot_evictions_lru": "evicted",
    "snapshot_evictions_ttl": "expired",
    "snapshot_rejections": "rejected",
}
_WIDTH = 680
_BARE_X = alt.X("seconds:Q", title=None, axis=alt.Axis(labels=False, ticks=False))


class CounterWatch:
    """The counters of one server, poll by poll. A server that starts anew begins a new count: no rate is negative."""

    def __init__(self, client: httpx.Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._rows: list[dict[str, float]] = []
        self.latest: Mapping[str, Any] = {}
        self.poll()

    def poll(self) -> None:
        """Ask once. Raises what `remote.ask` raises, and ValueError where the server has no such counters."""
        answer = ask(self._client, "/v1/cache/stats")
        stats = answer.json() if answer is not None else {}
        missing = [name for name in (*_GAUGES, "snapshot_hits", "snapshot_lookups") if name not in stats]
        if missing:
            raise ValueError(f"{self._client.base_url} has no mlxcel counters: {', '.join(missing)} missing")
        self.latest = stats
        self._rows.append({"time": self._clock(), **_counts(stats)})

    def frame(self) -> pl.DataFrame:
        """A row a poll: `seconds` since the first one, bytes, entries, and per cause how often since the last poll."""
        rows = pl.DataFrame(self._rows)
        deltas = [
            pl.when(pl.col(name).diff() < 0)
            .then(pl.col(name))
            .otherwise(pl.col(name).diff())
            .fill_null(0)
            .alias(said)
            for name, said in _RATES.items()
        ]
        return rows.select((pl.col("time") - pl.col("time").first()).alias("seconds"), *_GAUGES, *deltas)

    def chart(self) -> alt.VConcatChart:
        """Resident bytes under the budget, entries, and per cause how often it happened between two polls."""
        frame = self.frame()
        area = alt.Chart(frame).mark_area(
            interpolate="step-after", opacity=0.6, color=theme.SESSION_COLOURS[0]
        )
        size = alt.Y("snapshot_bytes:Q", title="resident bytes", axis=alt.Axis(format=".3~s"))
        held = alt.layer(area.encode(x=_BARE_X, y=size), *self._budget_line(frame))
        line = alt.Chart(frame).mark_line(interpolate="step-after", color=theme.INK)
        entries = line.encode(
            x=_BARE_X, y=alt.Y("snapshot_entries:Q", title="entries", axis=alt.Axis(tickMinStep=1))
        )
        heights = ((held, 160), (entries, 60))
        charts = [chart.properties(width=_WIDTH, height=height) for chart, height in heights]
        return (
            alt.vconcat(*charts, _rates(frame), spacing=6)
            .resolve_scale(x="shared")
            .configure(**theme.altair_config())
        )

    def _budget_line(self, frame: pl.DataFrame) -> list[alt.Chart]:
        """The budget, where the bytes come near enough to it to be seen under it."""
        budget, most = self.latest.get("snapshot_capacity_bytes", 0), frame["snapshot_bytes"].max()
        if not isinstance(most, int | float) or not 0 < budget <= theme.FAR_ABOVE * most:
            return []
        line = alt.Chart(pl.DataFrame({"budget": [budget]})).mark_rule(strokeDash=[6, 4], color=theme.INK)
        return [line.encode(y="budget:Q")]

    def facts(self) -> dict[str, str]:
        """The latest counters in words, the last rejection among them."""
        stats = self.latest
        lookups, hits = stats["snapshot_lookups"], stats["snapshot_hits"]
        shown = {
            "entries": f"{stats['snapshot_entries']:,}",
            "bytes": f"{stats['snapshot_bytes']:,} of {stats.get('snapshot_capacity_bytes', 0):,}",
            "hit rate": f"{hits:,} of {lookups:,} lookups ({hits / lookups:.0%})"
            if lookups
            else "no lookups yet",
        }
        counted = {
            said: f"{round(value):,}" for name, said in _RATES.items() if (value := _counts(stats)[name])
        }
        last = {
            name.removeprefix("last_reject_"): stats[name]
            for name in stats
            if name.startswith("last_reject_")
        }
        said = ", ".join(f"{name} {value}" for name, value in last.items() if value is not None)
        return {**shown, **counted, "last rejection": said or "none"}


class CounterView(widgets.VBox):
    """Polls a foreign server's counters every `seconds` and shows them, until it is closed."""

    def __init__(self, address: str, *, api_key: str | None = None, seconds: float = 1.0) -> None:
        self._client = client_for(address, api_key)
        self.watch = CounterWatch(self._client)
        self._picture, self._facts = widgets.HTML(), widgets.HTML()
        super().__init__(
            [widgets.HTML(_heading(address)), self._picture, self._facts, widgets.HTML(_limits())]
        )
        self._ended = threading.Event()
        self.refresh()
        self._thread = threading.Thread(target=self._follow, args=(seconds,), name="counters", daemon=True)
        self._thread.start()

    def refresh(self) -> None:
        """Draw what was polled last."""
        self._picture.value = vl_convert.vegalite_to_svg(self.watch.chart().to_dict())
        cells = "".join(
            f"<tr><th>{k}</th><td>{html.escape(v)}</td></tr>" for k, v in self.watch.facts().items()
        )
        self._facts.value = f"<table>{cells}</table>"

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._client.close()
        super().close()

    def _follow(self, seconds: float) -> None:
        while not self._ended.wait(seconds):
            try:
                self.watch.poll()
                self.refresh()
            except (httpx.HTTPError, ValueError) as error:
                self._facts.value = f"<b>not reached:</b> {html.escape(str(error))}; asking on"


def _rates(frame: pl.DataFrame) -> alt.Chart:
    """A dot where something happened between two polls, the larger the more often."""
    happened = frame.unpivot(list(_RATES.values()), index="seconds", variable_name="what", value_name="count")
    happened = happened.filter(pl.col("count") > 0)
    shown = [what for what in _RATES.values() if what in happened["what"]]
    colours = alt.Scale(domain=shown, range=[theme.MARKS[what].colour for what in shown])
    encoding = {
        "x": alt.X("seconds:Q", title="seconds watched"),
        "y": alt.Y("what:N", title=None, sort=shown),
        "size": alt.Size("count:Q", legend=None),
        "color": alt.Color("what:N", scale=colours, legend=None),
    }
    return alt.Chart(happened).mark_circle().encode(**encoding).properties(width=_WIDTH)


def _counts(stats: Mapping[str, Any]) -> dict[str, float]:
    """The wire's counters by their names in `_RATES`, and the gauges."""
    replaced = stats.get("snapshot_replacements", 0)
    # mlxcel counts diverged lookups among its rejections; here they are misses.
    reasons = [
        name for name in stats if name.startswith("reject_") and not name.endswith(("_diverged", "_total"))
    ]
    rejected = [stats[name] for name in reasons if isinstance(stats[name], int)]
    derived = {
        "snapshot_misses": stats["snapshot_lookups"] - stats["snapshot_hits"],
        "snapshot_evictions_lru": stats.get("snapshot_evictions_lru", 0) - replaced,
        "snapshot_rejections": sum(rejected) if rejected else stats.get("snapshot_rejections_oversized", 0),
    }
    return {name: derived.get(name, stats.get(name, 0)) for name in (*_GAUGES, *_RATES)}


def _heading(address: str) -> str:
    return f"<b>{html.escape(address)}</b> offers counters only: what they tell, as it is polled."


def _limits() -> str:
    return (
        "<details><summary>What counters can't tell</summary><ul>"
        + "".join(f"<li>{text}</li>" for text in CANT_TELL)
        + "</ul></details>"
    )
