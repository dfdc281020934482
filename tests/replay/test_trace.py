"""Traces in memory: vectors as runs, what a frame may hold, and the way to a file and back."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.replay.interner import Interner
from mlxcel_lab.replay.storage import read_trace_file
from mlxcel_lab.replay.trace import Request, Trace, common_ids, cut, ids_of, merged, num_ids, trace_from

from .random_traces import random_trace

VECTORS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=12)


def _common(one: list[int], other: list[int]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


@given(VECTORS)
def test_interned_vectors_share_ids_exactly_as_far_as_they_share_tokens(vectors: list[list[int]]) -> None:
    interner = Interner()
    runs = [interner.runs(vector) for vector in vectors]
    pool = interner.pool()
    for vector, own in zip(vectors, runs, strict=True):
        assert pool[ids_of(own)].tolist() == vector
        for other, theirs in zip(vectors, runs, strict=True):
            assert common_ids(own, theirs) == _common(vector, other)


def test_buckets_share_no_ids() -> None:
    interner = Interner()
    assert common_ids(interner.runs([1, 2], "a"), interner.runs([1, 2], "b")) == 0


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 5)), max_size=6),
    st.integers(0, 30),
    st.integers(0, 30),
)
def test_cutting_runs_is_slicing_their_ids(runs: list[tuple[int, int]], first: int, last: int) -> None:
    whole = ids_of(merged(runs)).tolist()
    assert whole == ids_of(runs).tolist()
    assert num_ids(runs) == len(whole)
    assert ids_of(cut(runs, first, max(first, last))).tolist() == whole[first : max(first, last)]


def test_requests_are_put_in_order_of_time_and_turns_are_counted() -> None:
    rows = [Request("a", 2.0, [(0, 3)], 3), Request("a", 1.0, [(0, 2)], 2), Request("b", 1.0, [(9, 1)], 1)]
    frame = trace_from("t", rows).requests
    assert frame.select("session", "turn", "time").rows() == [("a", 0, 1.0), ("b", 0, 1.0), ("a", 1, 2.0)]


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request("a", 0, [(0, 0)], 1), "request 0: an empty run"),
        (Request("a", 0, [(0, 5)], 4), "request 0: 4 prompt tokens, but its 5 ids"),
        (Request("a", 0, [(0, 5)], 5, boundaries=[6]), r"boundaries \[6\] lie outside its 5 ids"),
    ],
)
def test_a_request_that_cannot_be_is_refused_by_its_number(request_: Request, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        trace_from("t", [request_])


def test_a_frame_of_other_columns_is_no_trace() -> None:
    with pytest.raises(ValueError, match="SCHEMA"):
        Trace("t", pl.DataFrame({"session": ["a"]}))


def test_a_trace_survives_its_file(tmp_path: Path) -> None:
    interner = Interner()
    rows = [Request("a", 0.0, interner.runs([5, 6, 7]), 3, 1, boundaries=[2], reply=[(-2, 1)])]
    trace = trace_from("t", rows, pool=interner.pool(), assumptions=("made here",))
    trace.write(tmp_path / "deep" / "t.parquet")
    again = read_trace_file(tmp_path / "deep" / "t.parquet")
    assert again.requests.equals(trace.requests)
    assert (again.pool.tolist(), again.assumptions) == ([5, 6, 7], ("made here",))


def test_another_parquet_file_is_told_from_a_trace(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="not a trace"):
        read_trace_file(tmp_path / "x.parquet")


def test_rows_give_back_what_a_trace_was_made_of() -> None:
    trace = random_trace(3)
    assert trace_from(trace.name, trace.rows(), tokens_per_id=trace.tokens_per_id).requests.equals(
        trace.requests
    )
