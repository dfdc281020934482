"""A trace as one parquet file: the requests as its rows, everything else in its metadata."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import polars as pl

from ..files import reading_parquet
from .trace import SCHEMA, Problem, Trace

KEY = "mlxcel_lab.trace"


def write_trace(trace: Trace, path: Path) -> None:
    """Write `trace` to `path`; its folder is made where it is missing."""
    about = {
        "name": trace.name,
        "tokens_per_id": trace.tokens_per_id,
        "problems": [[problem.line, problem.reason] for problem in trace.problems],
        "assumptions": trace.assumptions,
        "pool": None if trace.pool is None else _packed(trace.pool),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    trace.requests.write_parquet(path, metadata={KEY: json.dumps(about)})


def read_trace_file(path: Path) -> Trace:
    """The trace that `write_trace` wrote; ValueError where the file is another parquet file."""
    with reading_parquet(path):
        about, requests = pl.read_parquet_metadata(path).get(KEY), pl.read_parquet(path)
    if about is None:
        raise ValueError(f"{path} is a parquet file, but not a trace that Trace.write wrote")
    known = json.loads(about)
    return Trace(
        known["name"],
        requests.cast(dict(SCHEMA)),  # type: ignore[arg-type]
        known["tokens_per_id"],
        None if known["pool"] is None else _unpacked(known["pool"]),
        tuple(Problem(line, reason) for line, reason in known["problems"]),
        tuple(known["assumptions"]),
    )


def _packed(pool: np.ndarray) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(pool, dtype="<i4").tobytes())).decode()


def _unpacked(text: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype="<i4").astype(np.int32)
