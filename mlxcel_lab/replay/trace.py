"""The one in-memory form of a trace: a polars frame, one row a request, in the order in which they were served.

Prompts are vectors of *ids*. An id stands for `tokens_per_id` tokens: 1 where the tokens themselves are known, 64, 512
or 16 in the public traces of hashed blocks. A vector is kept as runs of consecutive ids, `starts` and `counts`, so that
a conversation of 2,000 blocks is a handful of numbers. Within one bucket equal ids mean equal tokens; negative ids
are private to one request. Nothing here knows a store, a model or a rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

Runs: TypeAlias = list[tuple[int, int]]
"""A vector of ids as (first id, how many) pairs."""

_COLUMNS: dict[str, Any] = {
    "session": pl.String,  # whose conversation; None is no conversation
    "turn": pl.Int32,  # counts a session's requests from 0
    "time": pl.Float64,  # seconds, never falling
    "bucket": pl.String,  # what must agree for a state to be usable: model, template
    "kind": pl.String,  # what asked: user, tool, subagent or request
    "starts": pl.List(pl.Int64),  # the prompt's ids as runs
    "counts": pl.List(pl.Int64),
    "prompt_tokens": pl.Int64,  # can exceed the ids' tokens by less than one block
    "output_tokens": pl.Int64,
    "boundaries": pl.List(pl.Int64),  # ids of the prompt after which a boundary snapshot is taken, ascending
    "reply_starts": pl.List(pl.Int64),  # ids that follow the prompt's in the completion snapshot; empty: none
    "reply_counts": pl.List(pl.Int64),
    "warm_starts": pl.List(pl.Int64),  # a whole vector warmed up after the reply; empty: none
    "warm_counts": pl.List(pl.Int64),
}
SCHEMA = pl.Schema(_COLUMNS)


@dataclass(frozen=True, slots=True)
class Request:
    """One row of a trace while it is being read."""

    session: str | None
    time: float
    prompt: Runs
    prompt_tokens: int
    output_tokens: int = 0
    bucket: str = ""
    kind: str = "request"
    boundaries: Sequence[int] = ()
    reply: Runs = field(default_factory=list)
    warm: Runs = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Problem:
    """A line that could not be read, or could only be read in part, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class Trace:
    """Requests in the order in which they were served, and how they were obtained.

    `pool[i]` is the token that id `i` stands for, where the tokens are known (then `tokens_per_id` is 1).
    `assumptions` says in words what the source didn't hold and the reader supplied.
    """

    name: str
    requests: pl.DataFrame
    tokens_per_id: int = 1
    pool: npt.NDArray[np.int32] | None = None
    problems: tuple[Problem, ...] = ()
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.requests.schema != SCHEMA:
            raise ValueError(
                f"a trace's frame has the columns and types of SCHEMA, not {self.requests.schema}"
            )
        if self.tokens_per_id < 1:
            raise ValueError(f"tokens_per_id is {self.tokens_per_id}: expected a block of at least 1 token")

    def __len__(self) -> int:
        return self.requests.height

    def __repr__(self) -> str:
        info = self.info()
        return (
            f"Trace({self.name!r}: {info['requests']:,} requests of {info['sessions']:,} sessions, "
            f"{info['prompt_tokens']:,} prompt tokens, {info['problems']} problems)"
        )

    def info(self) -> dict[str, Any]:
        """What is in the trace, as plain values: counts, token sums, the median and largest prompt, the span."""
        frame = self.requests
        prompt, time = frame["prompt_tokens"].to_numpy(), frame["time"].to_numpy()
        return {
            "name": self.name,
            "requests": frame.height,
            "sessions": frame["session"].n_unique(),
            "buckets": frame["bucket"].n_unique(),
            "tokens_per_id": self.tokens_per_id,
            "prompt_tokens": int(prompt.sum()),
            "output_tokens": int(frame["output_tokens"].to_numpy().sum()),
            "median_prompt": int(np.median(prompt)) if len(self) else 0,
            "longest_prompt": int(prompt.max(initial=0)),
            "span_seconds": float(time[-1] - time[0]) if len(self) else 0.0,
            "kinds": dict(frame["kind"].value_counts(sort=True).iter_rows()),
            "with_boundary": int((frame["boundaries"].list.len() > 0).sum()),
            "with_reply": int((frame["reply_starts"].list.len() > 0).sum()),
            "problems": len(self.problems),
        }

    def rows(self) -> Iterator[Request]:
        """The requests one by one."""
        for row in self.requests.iter_rows():
            session, _, time, bucket, kind, starts, counts, prompt, output, cuts, *rest = row
            reply, warm = zip(rest[0], rest[1], strict=True), zip(rest[2], rest[3], strict=True)
            runs = list(zip(starts, counts, strict=True))
            yield Request(session, time, runs, prompt, output, bucket, kind, cuts, list(reply), list(warm))

    def head(self, num_requests: int) -> Trace:
        """The trace's first requests."""
        return replace(self, requests=self.requests.head(num_requests))

    def write(self, path: str | Path) -> None:
        """Write the requests as parquet, everything else beside them in its metadata."""
        from .storage import write_trace

        write_trace(self, Path(path))


def trace_from(
    name: str, requests: Iterable[Request], *, tokens_per_id: int = 1, sort: bool = True, **rest: Any
) -> Trace:
    """A trace of these requests, put in order of time (a stable sort: ties stay as they came).

    Raises ValueError for a request whose runs, boundaries or token counts can't be, naming the request.
    """
    rows = [_row(number, request, tokens_per_id) for number, request in enumerate(requests)]
    frame = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    if sort:
        frame = frame.sort("time", maintain_order=True)
    turn = (pl.int_range(pl.len()).over("session", "bucket")).cast(pl.Int32)
    return Trace(name, frame.with_columns(turn=turn), tokens_per_id, **rest)


def check_request(request: Request, tokens_per_id: int) -> None:
    """ValueError where a request's runs, boundaries or token counts can't be."""
    ids = num_ids(request.prompt)
    if any(count < 1 for _, count in (*request.prompt, *request.reply, *request.warm)):
        raise ValueError("an empty run of ids: every run holds at least one")
    if not ids * tokens_per_id <= request.prompt_tokens:
        raise ValueError(
            f"{request.prompt_tokens} prompt tokens, but its {ids} ids stand for {ids * tokens_per_id}"
        )
    if any(not 0 < cut <= ids for cut in request.boundaries):
        raise ValueError(f"boundaries {list(request.boundaries)} lie outside its {ids} ids")


def _row(number: int, request: Request, tokens_per_id: int) -> tuple[Any, ...]:
    try:
        check_request(request, tokens_per_id)
    except ValueError as error:
        raise ValueError(f"request {number}: {error}") from error
    prompt, reply, warm = (_unzip(runs) for runs in (request.prompt, request.reply, request.warm))
    return (
        *(request.session, 0, request.time, request.bucket, request.kind, *prompt),
        *(request.prompt_tokens, request.output_tokens, sorted(set(request.boundaries)), *reply, *warm),
    )


def _unzip(runs: Runs) -> tuple[list[int], list[int]]:
    runs = merged(runs)
    return [start for start, _ in runs], [count for _, count in runs]


def num_ids(runs: Runs) -> int:
    """How many ids the runs hold."""
    return sum(count for _, count in runs)


def merged(runs: Iterable[tuple[int, int]]) -> Runs:
    """The same vector in the fewest runs: then two vectors agree exactly as far as their runs do."""
    out: Runs = []
    for start, count in runs:
        if out and out[-1][0] + out[-1][1] == start:
            out[-1] = (out[-1][0], out[-1][1] + count)
        else:
            out.append((start, count))
    return out


def common_ids(one: Runs, other: Runs) -> int:
    """How many leading ids two merged vectors share."""
    shared = 0
    for (start, count), (start2, count2) in zip(one, other, strict=False):
        if start != start2:
            break
        shared += min(count, count2)
        if count != count2:
            break
    return shared


def cut(runs: Runs, first: int, last: int) -> Runs:
    """The ids first..last-1 of a vector."""
    out: Runs = []
    at = 0
    for start, count in runs:
        low, high = max(first - at, 0), min(last - at, count)
        if low < high:
            out.append((start + low, high - low))
        at += count
    return out


def ids_of(runs: Runs) -> npt.NDArray[np.int64]:
    """The vector written out, shape (num_ids,)."""
    if not runs:
        return np.zeros(0, np.int64)
    return np.concatenate([np.arange(start, start + count, dtype=np.int64) for start, count in runs])
