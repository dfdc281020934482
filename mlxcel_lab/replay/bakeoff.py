"""Rules against each other over many traces: at which budgets one wins, ties or loses, and by how much."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from .capacity import curves
from .conversations import Lengths
from .generators import generate
from .peers import replay_mlx_lm
from .readers import read_trace
from .readers.rendering import FamilyRenderer
from .resolved import SizeOf, linear_size, resolve
from .simulation import Budget, simulate
from .trace import Trace

CONTENDERS = ("off", "session", "origin", "learned", "lru", "fifo", "anchor", "gdsf", "flop", "belady")
FIXED = ("off", "session", "origin")
"""What a server of today can be set to."""


def bake_off(
    traces: Mapping[str, Trace],
    size_of: SizeOf,
    rules: Sequence[str] = CONTENDERS,
    *,
    steps: int = 6,
) -> pl.DataFrame:
    """All rules over all traces, at budgets from tight to ample: the rows of `curves` with `trace` and `step`.

    Step 0 holds two of the largest snapshots, the last but one all that rule `origin` would ever keep, and the last
    everything that is ever offered.
    """
    frames = []
    for name, trace in traces.items():
        budgets = _budgets(trace, size_of, steps)
        frame = curves(trace, size_of, budgets, rules, workers=1)
        step = pl.DataFrame({"capacity_bytes": budgets, "step": range(len(budgets))})
        frames.append(
            frame.join(step, on="capacity_bytes", maintain_order="left").with_columns(trace=pl.lit(name))
        )
    return pl.concat(frames)


def _budgets(trace: Trace, size_of: SizeOf, steps: int) -> list[int]:
    resolved = resolve(trace, size_of)
    endless = Budget(resolved.distinct_bytes, 2**62, ttl_seconds=0)
    ample = max(simulate(resolved, "origin", endless).peak_bytes, 3 * max(resolved.size))
    budgets = np.geomspace(2 * max(resolved.size), ample, steps).round().astype(np.int64)
    return sorted({*budgets.tolist(), max(resolved.distinct_bytes, ample + 1)})


def verdicts(
    frame: pl.DataFrame, rule: str = "learned", against: Iterable[str] = FIXED, tie: float = 0.005
) -> pl.DataFrame:
    """For each trace and budget the rule beside the best of the others, chosen in hindsight.

    `ahead` is the difference in token hit rate; below `tie` either way it is a tie.
    """
    keys = ["trace", "step", "capacity_bytes"]
    others = frame.filter(pl.col("rule").is_in(list(against)) & (pl.col("rule") != rule))
    best = others.sort("token_hit_rate", descending=True).group_by(keys, maintain_order=True).first()
    mine = frame.filter(pl.col("rule") == rule).select(*keys, pl.col("token_hit_rate").alias(rule))
    ahead = pl.col(rule) - pl.col("best")
    verdict = (
        pl.when(ahead > tie)
        .then(pl.lit("win"))
        .when(ahead < -tie)
        .then(pl.lit("loss"))
        .otherwise(pl.lit("tie"))
    )
    return (
        mine.join(
            best.select(*keys, pl.col("rule").alias("best_rule"), pl.col("token_hit_rate").alias("best")),
            on=keys,
        )
        .with_columns(ahead=ahead, verdict=verdict)
        .sort("trace", "step")
    )


def standings(frame: pl.DataFrame) -> pl.DataFrame:
    """The learned rule against each other over all traces and budgets: wins, ties, losses, mean, worst and best."""
    rows = []
    for other in frame["rule"].unique(maintain_order=True):
        if other == "learned":
            continue
        table = verdicts(frame, against=[other])
        count = dict(table["verdict"].value_counts().iter_rows())
        ahead = table["ahead"].to_numpy()
        row = {"against": other, **{name: count.get(name, 0) for name in ("win", "tie", "loss")}}
        rows.append(
            row | {"mean_ahead": float(ahead.mean()), "worst": float(ahead.min()), "best": float(ahead.max())}
        )
    return pl.DataFrame(rows)


def published_setting(*, requests: int = 2000, seed: int = 0) -> pl.DataFrame:
    """The setting of the published hypothesis on our traffic: a row a habit of the template, a column a rule."""
    size_of = linear_size(5_000_000, 1_000)
    # Short turns, so that the 50 MB hold several conversations, as they did there.
    lengths = Lengths(system=300, user=60, reply=80, thinking=120)
    rows = []
    for kind, words in (
        ("append_only", "extends prompt + output"),
        ("thinking", "template drops the reasoning"),
    ):
        trace = generate(kind, requests=requests, seed=seed, lengths=lengths)
        frame = curves(trace, size_of, [50_000_000], ("lru", "session", "origin", "learned"), workers=1)
        peer = replay_mlx_lm(trace, size_of, max_size=1 << 62, max_bytes=50_000_000).outcome
        rates = dict(frame.select("rule", "token_hit_rate").iter_rows())
        asked = int(trace.requests["prompt_tokens"].to_numpy().sum())
        rows.append({"next_prompt": words, "mlx_lm": peer.tokens_reused / asked, **rates})
    return pl.DataFrame(rows)


def through_templates(path: str | Path, families: Sequence[str], limit: int | None = 500) -> dict[str, Trace]:
    """Conversations in `path` rendered by real templates, by family; those that reason get a made-up reasoning.

    A family whose packages aren't installed is left out with a warning.
    """
    traces = {}
    for family in families:
        try:
            renderer = FamilyRenderer(family)
        except ImportError as error:
            warnings.warn(f"{family} is left out: {error}", stacklevel=2)
            continue
        words = 80 if renderer.mode == "thinking on" else 0
        traces[f"talks, {family}"] = read_trace(path, renderer=renderer, reasoning_words=words, limit=limit)
    return traces
