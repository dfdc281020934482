"""What `bench store` tells: the targets and whether they are met, as a table, as parquet and as a chart."""

from __future__ import annotations

import os
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from .store_measure import OPERATIONS, Effort, Timing

if TYPE_CHECKING:
    import altair as alt

TARGET_TOKENS = 131_072
RATIOS = {
    ("arrays", "hit"): 200.0, ("arrays", "insert"): 500.0, ("arrays", "miss"): 10_000.0,
    ("lists", "hit"): 8.0, ("lists", "insert"): 40.0, ("lists", "miss"): 1_000.0,
}  # fmt: skip
"""How many times faster than the peer at TARGET_TOKENS; these targets and the next two are this project's own."""
MOST_SLOWER = 1.5  # from the fewest entries to the most
MOST_INDEX_MEMORY = 0.01  # of the peer's

SCHEMA = {
    "part": pl.String, "operation": pl.String, "form": pl.String, "tokens": pl.Int64, "entries": pl.Int64,
    "layout": pl.String, "ours": pl.Float64, "peer": pl.Float64, "unit": pl.String, "ratio": pl.Float64,
    "target": pl.Float64, "met": pl.Boolean,
}  # fmt: skip


def results(timings: list[Timing], memory: tuple[int, int, int], effort: Effort) -> pl.DataFrame:
    """One row a measurement: both sides, their ratio, and where there is one the target and whether it is met.

    `ratio` is peer / ours for the peer's rows, ours / ours with the fewest entries for the entries' rows (there `peer`
    is null), and ours / peer for the index's memory.
    """
    fewest = {(t.operation, t.layout): t.ours_us for t in timings if t.entries == min(effort.entries)}
    rows = [_against_peer(t) if t.part == "peer" else _by_entries(t, fewest, effort) for t in timings]
    tokens, ours, peer = memory
    share = ours / peer
    rows.append(
        ("memory", "index", "arrays", max(effort.tokens), effort.memory_vectors, "default",
         ours / tokens, peer / tokens, "bytes a token", share, MOST_INDEX_MEMORY, share < MOST_INDEX_MEMORY)
    )  # fmt: skip
    return pl.DataFrame(rows, SCHEMA, orient="row")


def _against_peer(t: Timing) -> tuple[Any, ...]:
    target = RATIOS.get((t.form, t.operation)) if t.tokens == TARGET_TOKENS else None
    ratio = t.ratio or 0.0
    met = None if target is None else ratio >= target
    names = (t.part, t.operation, t.form, t.tokens, t.entries, t.layout)
    return (*names, t.ours_us, t.peer_us, "us", ratio, target, met)


def _by_entries(t: Timing, fewest: dict[tuple[str, str], float], effort: Effort) -> tuple[Any, ...]:
    slower = t.ours_us / fewest[t.operation, t.layout]
    target = MOST_SLOWER if t.entries == max(effort.entries) else None
    met = None if target is None else slower <= target
    names = (t.part, t.operation, t.form, t.tokens, t.entries, t.layout)
    return (*names, t.ours_us, None, "us", slower, target, met)


def conditions(effort: Effort) -> dict[str, str]:
    """What a reader needs to judge the figures."""
    names = ("mlx-lm", "numpy", "mlxcel_lab")
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} at the end",
        "versions": ", ".join([f"Python {platform.python_version()}", *(f"{n} {version(n)}" for n in names)]),
        "method": "median CPU time of a call, both sides in turns, no request asked twice, garbage collection on",
        "ours": "SnapshotStore, rule origin, journal of the last 1,000 events without tokens",
        "interface": "our store behind the peer's own methods, with lists, as mlx-lm's server runs on it",
        "peer": "mlx_lm LRUPromptCache with lists; default: 10 entries; byte budget: 4 snapshots; stub layers",
        "effort": ", ".join(f"{name}={value}" for name, value in asdict(effort).items()),
    }


def table(frame: pl.DataFrame) -> str:
    """The results as text, a block a part."""
    head = f"{'':<20}{'':<15}{'tokens':>8}{'entries':>9}{'ours':>14}{'peer':>15}{'ratio':>11}  target"
    titles = {
        "peer": "against LRUPromptCache (us; ratio: times faster)",
        "entries": "by the number of entries (us; ratio: times slower than with the fewest)",
        "memory": "index memory beside the tokens (bytes a token; ratio: of the peer's)",
    }
    lines: list[str] = []
    for part, title in titles.items():
        rows = frame.filter(pl.col("part") == part).iter_rows(named=True)
        lines += ["", title, head, *(_line(row) for row in rows)]
    return "\n".join(lines[1:])


def _line(row: dict[str, Any]) -> str:
    peer = "" if row["peer"] is None else f"{row['peer']:,.1f}"
    told = "" if row["target"] is None else f"{row['target']:,g} {'met' if row['met'] else 'MISSED'}"
    name = f"{row['operation']}, {row['form']}"
    digits = 5 if row["part"] == "memory" else 2
    numbers = (
        f"{row['tokens']:>8,}{row['entries']:>9,}{row['ours']:>14,.{digits if digits > 2 else 1}f}{peer:>15}"
    )
    return f"{name:<20}{row['layout']:<15}{numbers}{row['ratio']:>11,.{digits}f}  {told}".rstrip()


def write(frame: pl.DataFrame, told: dict[str, str], folder: Path) -> list[Path]:
    """results.parquet (the conditions as columns), chart.png and chart.svg in that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in ("results.parquet", "chart.png", "chart.svg")]
    frame.with_columns(
        pl.lit(value).alias(f"conditions_{name}") for name, value in told.items()
    ).write_parquet(paths[0])
    picture = chart(frame)
    picture.save(paths[1], scale_factor=2)
    picture.save(paths[2])
    return paths


def chart(frame: pl.DataFrame) -> alt.VConcatChart:
    """Above: both sides by length. Below: our own cost by the number of entries. Microseconds, logarithmic."""
    import altair as alt

    peer = frame.filter(pl.col("part") == "peer")
    ours = peer.select("operation", "tokens", us="ours", side=pl.format("ours, {}", "form"))
    theirs = peer.select("operation", "tokens", us="peer", side=pl.format("peer, {}", "layout"))
    # The median over the peers of ours; the two peers have a line each.
    lines = (
        pl.concat([ours, theirs])
        .group_by("operation", "tokens", "side")
        .agg(pl.col("us").median())
        .sort("tokens")
    )
    entries = frame.filter(pl.col("part") == "entries").select("operation", "entries", "layout", us="ours")
    above = _small_multiples(lines, "tokens", "side", "tokens", "LRUPromptCache and SnapshotStore")
    below = _small_multiples(
        entries, "entries", "layout", "entries resident", "SnapshotStore by the number of entries"
    )
    return alt.vconcat(above, below).resolve_scale(color="independent").configure(background="white")


def _small_multiples(frame: pl.DataFrame, x: str, colour: str, x_title: str, title: str) -> alt.FacetChart:
    import altair as alt

    at = sorted(frame[x].unique())
    scale = alt.Scale(type="log", base=2)
    in_k = "datum.value < 1024 ? datum.value : datum.value / 1024 + 'k'"
    axis = alt.Axis(values=at, labelExpr=in_k, title=x_title, grid=False)
    base = alt.Chart(frame).encode(
        x=alt.X(f"{x}:Q", scale=scale, axis=axis),
        y=alt.Y("us:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", title="microseconds a call")),
        color=alt.Color(f"{colour}:N", title=None, scale=alt.Scale(range=_colours())),
    )
    drawn = (base.mark_line() + base.mark_point(filled=True, size=50)).properties(width=210, height=190)
    return drawn.facet(column=alt.Column("operation:N", sort=list(OPERATIONS), title=None), title=title)


def _colours() -> list[str]:
    from ..view.theme import SESSION_COLOURS

    return list(SESSION_COLOURS[:5])
