"""Where the charts put each snapshot: never two in one place, and as high as the store was full."""

import itertools

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab.store import Origin
from mlxcel_lab.view import chart_data, chart_layout

from .chart_traffic import insert, long_journal, open_store, shaped_of


def _height_at(rows, x):
    return rows.filter((pl.col("x") <= x) & (x < pl.col("x2")))["y2"].max() or 0


def test_sessions_are_stacked_by_appearance_and_boundaries_over_completions():
    store = open_store()
    insert(store, "late", 2, first=7)
    insert(store, "early", 5, 20, Origin.BOUNDARY)
    insert(store, "early", 3, 30)
    axis, alive = shaped_of(store.journal)
    last = chart_layout.blocks(alive).rows.filter(pl.col("x2") == axis.end).sort("y")
    assert last.select("session", "origin", "y", "y2").rows() == [
        ("late", "completion", 0, 10), ("early", "completion", 10, 40), ("early", "boundary", 40, 60),
    ]  # fmt: skip


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(1, 6), st.integers(0, 1), st.integers(1, 40)),
    max_size=25,
)


@given(OPERATIONS)
@settings(deadline=None, max_examples=60)
def test_the_stack_is_as_high_as_the_store_was_full_after_each_operation(operations):
    store, full = open_store(capacity=60), []
    for session, length, first, size in operations:
        insert(store, session, length, size, first=first)
        full.append(store.total_bytes)
    _, alive = shaped_of(store.journal)
    rows = chart_layout.blocks(alive).rows
    assert [_height_at(rows, operation) for operation in range(1, len(full) + 1)] == full


@given(OPERATIONS, st.booleans())
@settings(deadline=None, max_examples=60)
def test_no_two_snapshots_share_a_lane_at_the_same_time(operations, share):
    store = open_store(capacity=60)
    for session, length, first, size in operations:
        insert(store, session, length, size, first=first)
    _, alive = shaped_of(store.journal)
    lane = chart_layout._pack(alive["x"].to_list(), alive["x2"].to_list(), share)
    lives = list(zip(lane, alive["x"], alive["x2"], strict=True))
    for (one, x, x2), (other, y, y2) in itertools.combinations(lives, 2):
        assert one != other or x2 <= y or y2 <= x


def test_a_long_journal_stays_below_what_altair_takes_and_says_so():
    axis, alive = shaped_of(long_journal(6_000))
    shaped = [chart_layout.blocks(alive), chart_layout.lanes(alive), chart_data.happenings(axis)]
    assert all(0 < part.rows.height <= chart_data.MAX_ROWS for part in shaped)
    assert [part.note for part in shaped] == [
        "6,000 snapshots, summed at 1,000 points", "the latest 4,000 of 6,000 snapshots", "one in 2 of 5,950 marks",
    ]  # fmt: skip
    assert _height_at(shaped[0].rows, axis.end / 2) == 500
