"""Charts of results against parameters."""

import polars as pl
import pytest

from mlxcel_lab.runs.charts import compare

ROWS = [
    {"size": size, "rule": rule, "loud": loud, "counts": [size], "total": size * 10 + loud, "good": size > 1}
    for size in (1, 2, 3)
    for rule in ("off", "origin")
    for loud in (True, False)
]
FRAME = pl.LazyFrame(ROWS)


def _rows(chart):
    [rows] = chart.to_dict()["datasets"].values()
    return rows


def test_runs_that_share_a_place_are_averaged_and_their_spread_kept():
    rows = _rows(compare(FRAME, "total", "size", "rule"))
    assert len(rows) == 6
    assert rows[0] == {"size": 1, "rule": "off", "mean": 10.5, "least": 10.0, "most": 11.0, "runs": 2}


@pytest.mark.parametrize(
    ("x", "kind", "mark"), [("size", None, "line"), ("rule", None, "bar"), ("rule", "surface", "rect")]
)
def test_numbers_make_lines_other_values_bars_and_a_surface_cells(x, kind, mark):
    spec = compare(FRAME, "total", x, "loud", kind=kind).to_dict()
    assert mark in {layer["mark"]["type"] for layer in spec["layer"]}


def test_a_third_parameter_makes_panels():
    assert compare(FRAME, "total", "size", "rule", "loud").to_dict()["facet"]["column"]["field"] == "loud"


def test_true_and_false_count_as_1_and_0():
    assert {row["mean"] for row in _rows(compare(FRAME, "good", "size"))} == {0.0, 1.0}


def test_a_list_is_shown_by_its_text():
    assert {row["counts"] for row in _rows(compare(FRAME, "total", "counts"))} == {"1", "2", "3"}


def test_many_runs_are_drawn_by_their_aggregates():
    frame = pl.DataFrame({"x": range(20_000), "y": range(20_000)}).with_columns(pl.col("x") % 7)
    assert len(_rows(compare(frame, "y", "x"))) == 7


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("totals", "size"), "no column 'totals': expected one of size, rule"),
        (("total", "sise"), "no column 'sise'"),
        (("rule", "size"), "rule is String: a result to compare is a number"),
        (("total", "size", "size"), "each parameter can be used once"),
    ],
)
def test_a_bad_comparison_is_refused(args, told):
    with pytest.raises(ValueError, match=told):
        compare(FRAME, *args)


def test_an_unknown_kind_and_a_surface_of_one_side_are_refused():
    with pytest.raises(ValueError, match="expected line, bar, surface"):
        compare(FRAME, "total", "size", kind="pie")
    with pytest.raises(ValueError, match="a surface has two sides"):
        compare(FRAME, "total", "size", kind="surface")
