"""What notebook 50_sizing shows: sizes of many families as frames, and what trimming saves and costs."""

from __future__ import annotations

import csv
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from ..engine import capture
from ..engine.backend import mx
from ..engine.forward import PREFILL_STEP
from ..engine.geometry import Geometry, build
from ..engine.sizing import (
    SizeModel,
    Workload,
    find_config,
    hits_in_the_last_round,
    sizer,
    snapshot_bytes,
)
from ..engine.sizing.allocators import ALLOCATORS
from ..engine.worker import mlx_thread
from ..paths import data_dir

# One of each way to hold a past: all of it, a window of it, a sum of it, and mixtures.
FAMILIES = (
    "llama-3.1-8b", "gemma-3-4b", "gemma-4-31b-it", "gpt-oss-20b", "llama-4-scout", "qwen3.5-0.8b", "qwen3.5-27b",
    "qwen3-next-80b-a3b", "falcon-h1-1.5b", "nemotron-3-nano-30b-a3b", "granite-4.0-h-tiny", "jamba-v0.1",
    "lfm2-350m", "ring-mini-linear-2.0", "mamba2-130m", "rwkv7-world-0.1b", "kimi-k3",
)  # fmt: skip


def geometries(models: Iterable[str]) -> dict[str, Geometry]:
    """The geometry of each, by its name (the last part of a path or hub id); neutral values are filled in."""
    return {model.rstrip("/").rpartition("/")[2]: build(find_config(model), fill=True) for model in models}


def size_curves(models: dict[str, Geometry], longest: int, points: int = 120) -> pl.DataFrame:
    """Bytes against tokens, a row for each model and length: model, tokens, bytes."""
    lengths = np.unique(np.geomspace(32, longest, points).astype(int))
    rows = [
        pl.DataFrame({"model": name, "tokens": lengths, "bytes": SizeModel.learn(geometry).many(lengths)})
        for name, geometry in models.items()
    ]
    return pl.concat(rows)


def sizes_by_kind(models: dict[str, Geometry], tokens: Sequence[int]) -> pl.DataFrame:
    """What pays for what: a row for each model, length and kind; model, tokens, kind, bytes, share."""
    rows = []
    for name, geometry in models.items():
        for length in tokens:
            kinds = snapshot_bytes(geometry, ALLOCATORS["mlx-lm"].split(length)).by_kind()
            total = sum(kinds.values())
            rows += [
                {"model": name, "tokens": length, "kind": k, "bytes": size, "share": size / total}
                for k, size in kinds.items()
            ]
    return pl.DataFrame(rows)


def published_rows() -> pl.DataFrame:
    """The published byte counts beside ours: model, calls, allocator, published, ours, note."""
    with (data_dir() / "published" / "state_bytes.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    models = geometries(dict.fromkeys(row["model"] for row in rows))
    return pl.DataFrame(
        {
            "model": row["model"],
            "calls": row["calls"],
            "allocator": row["allocator"],
            "published": int(row["bytes"]),
            "ours": snapshot_bytes(models[row["model"]], row["calls"], allocator=row["allocator"]).allocated,
            "note": row["note"],
        }
        for row in rows
    )


def fitted_line(rows: pl.DataFrame, model: str) -> tuple[float, float]:
    """Slope and intercept of the least-squares line through a model's published prefill sizes, in bytes."""
    own = rows.filter(
        pl.col("model") == model, pl.col("allocator") == "mlxcel", ~pl.col("calls").str.contains("x")
    )
    slope, intercept = np.polyfit(own["calls"].cast(pl.Int64).to_numpy(), own["published"].to_numpy(), 1)
    return float(slope), float(intercept)


def around_the_cliff(geometry: Geometry, workload: Workload, capacity_bytes: int, most: int) -> pl.DataFrame:
    """How many of n conversations hit when they are served in turn: n, hits, share."""
    size = sizer(geometry, ALLOCATORS["mlx-lm"], False)
    hits = [hits_in_the_last_round(workload, size, n, capacity_bytes) for n in range(1, most + 1)]
    return pl.DataFrame({"n": range(1, most + 1), "hits": hits}).with_columns(
        share=pl.col("hits") / pl.col("n")
    )


def trimming(models: dict[str, Geometry], tokens: Sequence[int]) -> pl.DataFrame:
    """What trimming saves: a row for each model and length of a boundary (one prefill) and of a completion."""
    rows = []
    for name, geometry in models.items():
        for length in tokens:
            for origin, calls in (
                ("boundary", _chunks(length)),
                ("completion", (*_chunks(length - 33), *(1,) * 33)),
            ):
                held = snapshot_bytes(geometry, calls)
                rows.append(
                    {
                        "model": name, "tokens": length, "origin": origin, "allocated": held.allocated,
                        "trimmed": held.trimmed, "saved": 1 - held.trimmed / held.allocated,
                    }
                )  # fmt: skip
    return pl.DataFrame(rows)


def trimming_time(geometry: Geometry, tokens: int, repeats: int = 5) -> pl.DataFrame:
    """What trimming costs, on caches of the real size full of zeros: milliseconds, the median of `repeats`.

    A row each way: capture, restore, and the cache's own update with one token after a restore (a trimmed one must
    grow first). Model time isn't in it.
    """
    return mlx_thread().run(
        lambda: pl.DataFrame([_timed(geometry, tokens, trim, repeats) for trim in (False, True)])
    )


def _timed(geometry: Geometry, tokens: int, trim: bool, repeats: int) -> dict[str, Any]:
    cache = geometry.cache_after(_chunks(tokens))
    mx.eval([entry.state for entry in cache])
    spent: dict[str, list[float]] = {"capture": [], "restore": [], "next token": []}
    for _ in range(repeats):
        state = _clocked(spent["capture"], lambda: capture(cache, tokens, trim=trim))
        restored = _clocked(spent["restore"], state.restore)
        _clocked(spent["next token"], partial(_one_more, geometry, restored))
    medians = {f"{what} ms": 1000 * float(np.median(times)) for what, times in spent.items()}
    return {"snapshot": "trimmed" if trim else "allocated", "bytes": state.nbytes, **medians}


def _one_more(geometry: Geometry, cache: list[Any]) -> None:
    mx.eval(geometry.append(cache, 1))


def _clocked(spent: list[float], work: Callable[[], Any]) -> Any:
    started = time.perf_counter()
    done = work()
    spent.append(time.perf_counter() - started)
    return done


def _chunks(tokens: int) -> tuple[int, ...]:
    """The forward calls of a prompt: as many tokens each as the engine takes."""
    whole, rest = divmod(tokens, PREFILL_STEP)
    return (*(PREFILL_STEP,) * whole, *(rest,) * (rest > 0))
