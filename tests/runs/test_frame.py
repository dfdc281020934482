"""Reading a sweep back: typed, lazy, over runs of different shapes."""

import uuid

import polars as pl
import pytest

from mlxcel_lab.runs.execute import _parquet, _with_parameters, result_name
from mlxcel_lab.runs.frame import runs_frame
from mlxcel_lab.runs.results import RECORD, open_results
from mlxcel_lab.runs.spec import Experiment


@pytest.fixture
def put(tiny):
    """Write a run of the tiny notebook with a result, as `execute` does: put(results, rows, **parameters)."""
    experiment = Experiment.load(tiny)

    def put(results, rows, **parameters):
        spec = experiment.spec(parameters)
        frame = _with_parameters(pl.DataFrame(rows), spec)
        results.put(spec.folder, {result_name(frame): _parquet(frame), RECORD: b"{}"})

    return put


@pytest.mark.parametrize("root", ["folder", "job=3/runs", "url"])
def test_parameters_and_results_come_back_typed(put, tmp_path, root):
    where = f"memory://{uuid.uuid4()}" if root == "url" else str(tmp_path / root)
    results = open_results(where)
    put(results, [{"total": 1.5}, {"total": 2.5}], size=1, loud=True, counts=[4], rule="a/b")
    put(results, [{"total": 3.5}], size=2, rule="x" * 200)
    frame = runs_frame(f"{where}/tiny").sort("total").collect()
    assert frame.schema == {"total": pl.Float64, "size": pl.Int64, "rate": pl.Float64, "rule": pl.String,
                            "loud": pl.Boolean, "counts": pl.List(pl.Int64)}  # fmt: skip
    assert frame.rows() == [
        (1.5, 1, 0.5, "a/b", True, [4]),
        (2.5, 1, 0.5, "a/b", True, [4]),
        (3.5, 2, 0.5, "x" * 200, False, [1, 2]),
    ]


def test_results_of_other_columns_and_types_are_put_below_each_other(put, tmp_path):
    results = open_results(tmp_path)
    put(results, [{"total": 1, "first": None}], size=1)
    put(results, [{"total": 0.5, "first": 7}], size=2)
    put(results, [{"other": "x"}], size=3)
    frame = runs_frame(tmp_path).sort("size").collect()
    assert frame["total"].to_list() == [1.0, 0.5, None]
    assert frame["first"].to_list() == [None, 7, None]
    assert frame["other"].to_list() == [None, None, "x"]


def test_a_filter_on_a_parameter_opens_only_the_files_it_leaves(put, tmp_path):
    results = open_results(tmp_path)
    for size in (1, 2, 3):
        put(results, [{"total": size}], size=size)
    [broken] = (tmp_path / "tiny" / "size=3").rglob("*.parquet")
    broken.write_bytes(b"not parquet")
    frame = runs_frame(tmp_path / "tiny")
    assert sorted(frame.filter(pl.col("size") < 3).collect()["total"]) == [1, 2]


def test_a_part_of_the_tree_is_read_with_all_its_parameters(put, tmp_path):
    results = open_results(tmp_path)
    for size in (1, 2):
        put(results, [{"total": size}], size=size)
    frame = runs_frame(tmp_path / "tiny" / "size=2").collect()
    assert frame.select("size", "total").rows() == [(2, 2)]


def test_a_half_written_run_is_not_read(put, tmp_path):
    results = open_results(tmp_path)
    put(results, [{"total": 1}], size=1)
    aside = tmp_path / ".writing-x"
    aside.mkdir()
    (aside / "result-0.parquet").write_bytes(b"half")
    assert runs_frame(tmp_path).collect().height == 1


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no finished run below"):
        runs_frame(tmp_path)
