"""What notebook 50_sizing shows adds up, and its pictures are drawn from it."""

import altair as alt
import polars as pl
import pytest

from mlxcel_lab.engine.sizing import Workload, keeps_warm
from mlxcel_lab.experiments import sizes
from mlxcel_lab.view import size_charts


@pytest.fixture(scope="module")
def models():
    return sizes.geometries(["gemma-3-270m", "falcon-h1-tiny-90m", "dense"])


def test_every_published_row_is_ours_to_the_byte():
    rows = sizes.published_rows()
    assert rows.height == 25
    assert rows["published"].to_list() == rows["ours"].to_list()


def test_a_line_fitted_to_the_published_sizes_misses_the_fixed_state():
    slope, intercept = sizes.fitted_line(sizes.published_rows(), "qwen3.8-27b")
    assert slope == pytest.approx(65_536, rel=0.01)
    assert intercept - 78_446_592 > 10_000_000


def test_curves_and_kinds_agree_with_each_other(models):
    kinds = sizes.sizes_by_kind(models, [300])
    totals = kinds.group_by("model").agg(pl.col("bytes").sum(), pl.col("share").sum())
    assert totals["share"].to_list() == pytest.approx([1.0] * 3)
    curves = sizes.size_curves(models, 5000, points=12)
    assert set(curves["model"]) == set(models)
    assert curves.filter(pl.col("tokens") == 5000).height == 3


def test_around_the_cliff_all_are_warm_then_all_are_cold(models):
    workload = Workload(1, 400, 2, 20)
    cliff = keeps_warm(models["dense"], 3_000_000, workload)
    hits = sizes.around_the_cliff(models["dense"], workload, 3_000_000, cliff.all_cold + 1)
    assert hits["hits"].to_list()[: cliff.all_warm] == list(range(1, cliff.all_warm + 1))
    assert hits["hits"].to_list()[-2:] == [0, 0]


def test_trimming_saves_and_is_timed_on_the_real_size(models):
    saved = sizes.trimming(models, [150])
    assert saved["saved"].min() > 0
    spent = sizes.trimming_time(models["dense"], 150, repeats=1)
    dense = saved.filter(pl.col("model") == "dense", pl.col("origin") == "boundary")
    assert spent["bytes"].to_list() == [dense["allocated"].item(), dense["trimmed"].item()]


def test_the_pictures_are_drawn(models):
    kinds, saved = sizes.sizes_by_kind(models, [100, 300]), sizes.trimming(models, [150])
    charts = [
        size_charts.against_tokens(sizes.size_curves(models, 3000, points=9), 10**8),
        size_charts.by_kind(kinds),
        size_charts.savings(saved),
        size_charts.cliff(pl.DataFrame({"n": [1, 2], "hits": [1, 0], "share": [1.0, 0.0]}), 2, "the cliff"),
    ]
    assert all(isinstance(chart, alt.TopLevelMixin) and chart.to_dict() for chart in charts)


def test_labels_at_the_lines_ends_never_overlap():
    ends = pl.DataFrame({"model": list("abcd"), "tokens": [9] * 4, "bytes": [100, 101, 102, 90_000]})
    heights = size_charts._apart(ends)["label"].log10()
    assert heights.diff().drop_nulls().min() > 0.9 * size_charts._LABEL
