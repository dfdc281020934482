"""`mlxcel-lab bench replay`: how long a trace takes against many budgets and rules, and how long the peer takes.

Measured are the wall clock, the processors' time of all processes and the memory of the largest one: reading, resolving
and simulating by themselves, then mlx-lm's LRUPromptCache on the same vectors, once. The peer serves one budget where
we serve all of them; both figures are printed as they are. Not measured: a model.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
import polars as pl

from ..replay.capacity import budgets_for, curves
from ..replay.generators import generate
from ..replay.peers import replay_mlx_lm
from ..replay.readers import read_trace
from ..replay.resolved import SizeOf, linear_size, resolve
from ..replay.trace import Trace

_T = TypeVar("_T")
_RULES = "off,session,origin,learned,lru"


@click.command("replay")
@click.argument("trace", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--budgets", type=click.IntRange(2), default=32, show_default=True, help="How many budgets.")
@click.option("--rules", default=_RULES, show_default=True, help="Rules, separated by commas.")
@click.option(
    "--fixed-bytes", type=click.IntRange(0), default=5_000_000, show_default=True, help="Of a snapshot."
)
@click.option(
    "--token-bytes", type=click.IntRange(0), default=1_000, show_default=True, help="Of a snapshot, a token."
)
@click.option("--workers", type=click.IntRange(1), default=None, help="Processes; default: one a core.")
@click.option(
    "--peer-requests", type=click.IntRange(0), default=None, help="Requests for mlx-lm; default: all."
)
def command(
    trace: Path | None, budgets: int, rules: str, fixed_bytes: int, token_bytes: int,
    workers: int | None, peer_requests: int | None,
) -> None:  # fmt: skip
    """Measure a replay of TRACE (default: generated traffic) and mlx-lm's cache on the same requests."""
    size_of = linear_size(fixed_bytes, token_bytes)
    click.echo(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    whole = _Watch()
    read = _timed("reading", lambda: _load(trace))
    _timed("resolving", lambda: resolve(read, size_of))
    frame = _timed(
        f"resolving and simulating {budgets} budgets, {rules}",
        lambda: curves(read, size_of, budgets_for(read, size_of, budgets), rules.split(","), workers=workers),
    )
    click.echo(f"{read!r}")
    click.echo(f"in all: {whole}, at most {_peak_mib():,.0f} MiB in one process; {frame.height} simulations of "
               f"{len(read):,} requests")  # fmt: skip
    _echo(_best(frame))
    if peer_requests != 0:
        _peer(read.head(peer_requests or len(read)), size_of, frame)


def _load(trace: Path | None) -> Trace:
    return (
        generate(["append_only", "thinking", "agent"], requests=3000) if trace is None else read_trace(trace)
    )


def _best(frame: pl.DataFrame) -> pl.DataFrame:
    """The hit rates by rule at a few of the budgets."""
    budgets = frame["capacity_bytes"].unique().sort()
    few = budgets.gather([len(budgets) * step // 6 for step in range(1, 6)])
    return frame.filter(pl.col("capacity_bytes").is_in(few.to_list())).pivot(
        "capacity_bytes", index="rule", values="token_hit_rate"
    )


def _peer(trace: Trace, size_of: SizeOf, ours: pl.DataFrame) -> None:
    budget = int(ours["capacity_bytes"].unique().sort()[len(ours["capacity_bytes"].unique()) // 2])
    asked = int(trace.requests["prompt_tokens"].to_numpy().sum())
    sides = {
        "shipped default, 10 entries": {},
        f"{budget:,} bytes": {"max_size": 1 << 62, "max_bytes": budget},
    }
    for told, limits in sides.items():
        run = replay_mlx_lm(trace, size_of, by_ids=True, **limits)  # type: ignore[arg-type]
        click.echo(
            f"mlx-lm's LRUPromptCache, {told}, {len(trace):,} requests: {run.seconds:.1f} s of a processor in its "
            f"calls, hit rate {run.outcome.tokens_reused / max(1, asked):.4f}, most entries {run.peak_entries}"
        )


class _Watch:
    """Seconds by the clock and by all processors since it was made."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.perf_counter(), sum(os.times()[:4])

    def __str__(self) -> str:
        wall, cpu = time.perf_counter() - self.wall, sum(os.times()[:4]) - self.cpu
        return f"{wall:.1f} s by the clock, {cpu:.1f} s of processors"


def _timed(what: str, work: Callable[[], _T]) -> _T:
    watch = _Watch()
    result = work()
    click.echo(f"{what}: {watch}")
    return result


def _peak_mib() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(one).ru_maxrss for one in who) * unit / 2**20


def _echo(frame: pl.DataFrame) -> None:
    with pl.Config(
        tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=4, tbl_cols=20
    ):
        click.echo(frame)
