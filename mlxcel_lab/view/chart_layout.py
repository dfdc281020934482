"""Where a chart puts each snapshot: its place in the stack of resident bytes, and its lane.

Works on the rows of `chart_data.snapshots`.
"""

from __future__ import annotations

from typing import cast

import polars as pl

from .chart_data import MAX_ROWS, Shaped

BLOCKS_APART = 600  # from so many snapshots on they are summed by session and origin
LANES_APART = 40  # up to so many snapshots each has a lane of its own, above that they share lanes


def blocks(alive: pl.DataFrame) -> Shaped:
    """`snapshots` stacked: a block (x, x2, y, y2 in bytes) for each snapshot and stretch in which it lies still.

    Sessions lie on one another in order of appearance, boundaries over completions, newer over older. From
    `BLOCKS_APART` snapshots on, those of one session and origin are summed on an even grid of x.
    """
    if alive.height < BLOCKS_APART:
        return Shaped(_stack(alive, sorted({*alive["x"], *alive["x2"]})))
    points = MAX_ROWS // alive.select("session", "origin").n_unique()
    low, high = cast(float, alive["x"].min()), cast(float, alive["x2"].max())
    grid = [low + (high - low) * step / points for step in range(points + 1)]
    return Shaped(
        _stack(alive, grid, summed=True), f"{alive.height:,} snapshots, summed at {points:,} points"
    )


def _stack(alive: pl.DataFrame, points: list[float], summed: bool = False) -> pl.DataFrame:
    places = pl.DataFrame({"x": points[:-1], "x2": points[1:]}, schema={"x": pl.Float64, "x2": pl.Float64})
    first = alive.group_by("session").agg(rank=pl.col("born_seq").min())
    who = alive.join(first, on="session").rename({"x": "born", "x2": "died"})
    here = places.join_where(who, pl.col("x") >= pl.col("born"), pl.col("x") < pl.col("died"))
    if summed:
        whose = ["x", "x2", "rank", "session", "origin"]
        here = here.group_by(whose).agg(pl.col("size_bytes").sum(), pl.len().alias("snapshots"))
    one = ["session", "origin"] if summed else ["snapshot_id"]
    newest_last = [False, False, True, *(False for _ in one)]  # "completion" lies under "boundary"
    stacked = here.sort("x", "rank", "origin", *one, descending=newest_last)
    stacked = stacked.with_columns(y2=pl.col("size_bytes").cum_sum().over("x"))
    return _joined(stacked.with_columns(y=pl.col("y2") - pl.col("size_bytes")), one)


def _joined(stacked: pl.DataFrame, one: list[str]) -> pl.DataFrame:
    """Neighbouring stretches in which a block keeps its place become a single row."""
    runs = stacked.sort(*one, "x")
    moved = (pl.col("y") != pl.col("y").shift()) | (pl.col("y2") != pl.col("y2").shift())
    apart = pl.col("x") != pl.col("x2").shift()
    runs = runs.with_columns(run=(moved | apart).fill_null(True).cum_sum().over(one))
    rest = [pl.col(name).first() for name in runs.columns if name not in {"x", "x2", "run", *one}]
    ends = (pl.col("x").min(), pl.col("x2").max())
    return runs.group_by(*one, "run", maintain_order=True).agg(*ends, *rest).drop("run")


def lanes(alive: pl.DataFrame) -> Shaped:
    """`snapshots` with a `lane`, sessions together in order of appearance.

    Up to `LANES_APART` snapshots each has a lane; above that a lane is used again once its snapshot is gone. Above
    `MAX_ROWS` snapshots the latest are kept.
    """
    kept = alive.tail(MAX_ROWS)
    note = f"the latest {kept.height:,} of {alive.height:,} snapshots" if kept.height < alive.height else ""
    numbers: dict[int, int] = {}
    offset = 0
    for _, group in kept.group_by("session", maintain_order=True):
        packed = _pack(group["x"].to_list(), group["x2"].to_list(), share=kept.height > LANES_APART)
        numbers |= {
            snapshot: offset + lane for snapshot, lane in zip(group["snapshot_id"], packed, strict=True)
        }
        offset += max(packed) + 1
    lane = pl.Series([numbers[snapshot] for snapshot in kept["snapshot_id"]], dtype=pl.Int64)
    return Shaped(kept.with_columns(lane=lane), note)


def _pack(births: list[float], deaths: list[float], share: bool) -> list[int]:
    """A lane for each snapshot, oldest first: the first free one where they share, else one of its own."""
    free_at: list[float] = []
    lanes: list[int] = []
    for birth, death in zip(births, deaths, strict=True):
        lane = next((i for i, free in enumerate(free_at) if share and free <= birth), len(free_at))
        free_at[lane : lane + 1] = [death]
        lanes.append(lane)
    return lanes


def links(laned: pl.DataFrame) -> pl.DataFrame:
    """Where a snapshot gave way to its successor: x, lane, lane2 (the successor's) and `fate`."""
    heirs = laned.select(successor="snapshot_id", lane2="lane")
    return laned.drop_nulls("successor").join(heirs, on="successor").select("lane", "lane2", "fate", x="x2")
