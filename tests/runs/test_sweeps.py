"""Sweeps as a user makes them: planned, run, resumed, partly broken, interrupted, read back."""

import json

import nbformat
import polars as pl
import pytest

from mlxcel_lab.runs import pool, sweeps
from mlxcel_lab.runs.execute import _parquet, _record, _with_parameters, result_name
from mlxcel_lab.runs.plan import duration
from mlxcel_lab.runs.results import NOTEBOOK, RECORD, open_results
from mlxcel_lab.runs.spec import Experiment
from mlxcel_lab.runs.sweeps import sweep

GRID = {"size": [1, 2, 3], "rule": ["origin", "off"]}


@pytest.fixture
def ran(monkeypatch):
    """Runs without kernels: the values of each that ran; those whose size is in `ran.broken` fail."""

    class Ran(list):
        broken = frozenset()
        stop_after = None

    ran = Ran()

    def execute(spec, results, kernels=None, *, sign=True):
        if ran.stop_after is not None and len(ran) >= ran.stop_after:
            raise KeyboardInterrupt
        ran.append((spec.parameters["size"], spec.parameters["rule"]))
        error = "broken" if spec.parameters["size"] in ran.broken else None
        frame = (
            None if error else _with_parameters(pl.DataFrame({"total": [spec.parameters["size"] * 10]}), spec)
        )
        record = _record(spec, "2026-01-01T00:00:00+00:00", 2.0, 1.0, frame, error)
        files = {NOTEBOOK: spec.source.encode(), RECORD: record.to_json()}
        results.put(spec.folder, files if error else {**files, result_name(frame): _parquet(frame)})
        return record

    monkeypatch.setattr(pool, "execute", execute)
    return ran


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def test_every_combination_runs_once_and_comes_back_as_one_frame(tiny, runs, ran):
    result = sweep(tiny, GRID, runs=runs)
    assert sorted(ran) == sorted((size, rule) for size in GRID["size"] for rule in GRID["rule"])
    assert (len(result.finished), result.skipped, result.failed) == (6, 0, ())
    frame = result.frame().select("size", "rule", "total").sort("size", "rule").collect()
    assert frame.rows() == [(s, r, s * 10) for s in (1, 2, 3) for r in ("off", "origin")]


def test_the_same_sweep_again_runs_nothing(tiny, runs, ran):
    sweep(tiny, GRID, runs=runs)
    ran.clear()
    again = sweep(tiny, GRID, runs=runs)
    assert ran == []
    assert again.skipped == 6


def test_a_wider_sweep_runs_only_what_is_new(tiny, runs, ran):
    sweep(tiny, GRID, runs=runs)
    ran.clear()
    sweep(tiny, {"size": range(1, 5)}, [{"rule": "session", "size": 1}], {"rule": "off"}, runs=runs)
    assert sorted(ran) == [(1, "session"), (4, "off")]


def test_what_failed_is_told_with_where_to_look_and_runs_again(tiny, runs, ran):
    ran.broken = {2}
    result = sweep(tiny, GRID, runs=runs)
    assert len(result.failed) == 2
    assert result.failures()[0].startswith("size=2 rule=origin: broken (")
    assert (runs / "tiny" / "size=2" / "rate=0.5" / "rule=off").is_dir()
    assert "2 failed" in repr(result)
    assert "size=2 rule=off: broken" in result._repr_html_()
    ran.clear()
    ran.broken = set()
    assert sweep(tiny, GRID, runs=runs).skipped == 4
    assert sorted(ran) == [(2, "off"), (2, "origin")]


def test_a_changed_notebook_runs_again(tiny, runs, ran):
    sweep(tiny, {"size": [1]}, runs=runs)
    notebook = nbformat.read(tiny, as_version=4)
    notebook.cells[-1].source += "  # changed"
    nbformat.write(notebook, tiny)
    sweep(tiny, {"size": [1]}, runs=runs)
    assert len(ran) == 2


def test_a_run_that_another_version_recorded_in_another_form_runs_again(tiny, runs, ran):
    sweep(tiny, {"size": [1]}, runs=runs)
    [record] = runs.rglob(RECORD)
    for form in (b"{}", b'{"status": "done", "given": []}', b"not json"):
        record.write_bytes(form)
        assert len(sweep(tiny, {"size": [1]}, runs=runs).finished) == 1


def test_an_interrupt_leaves_what_is_finished_and_the_next_sweep_goes_on(tiny, runs, ran):
    ran.stop_after = 4
    with pytest.raises(KeyboardInterrupt):
        sweep(tiny, GRID, runs=runs)
    assert len(list(runs.rglob(RECORD))) == 4
    ran.stop_after = None
    assert sweep(tiny, GRID, runs=runs).skipped == 4
    assert len(ran) == len(set(ran)) == 6


@pytest.mark.parametrize(
    ("grid", "told"),
    [
        ({"sizes": [1]}, "did you mean size"),
        ({"size": [1, "2"]}, "size='2': expected a whole number"),
        ({"size": []}, "has no values"),
        ({}, None),
        ([], "nothing to sweep"),
    ],
)
def test_a_bad_sweep_is_refused_before_anything_runs(tiny, runs, ran, grid, told):
    if told is None:  # a grid of no axes is the one combination of defaults
        assert len(sweep(tiny, grid, runs=runs).finished) == 1
        return
    with pytest.raises(ValueError, match=told):
        sweep(tiny, grid, runs=runs)
    assert ran == []


def test_a_notebook_that_hands_nothing_over_is_refused_before_anything_runs(make_notebook, runs, ran):
    with pytest.raises(ValueError, match="let its last cell call mlxcel_lab"):
        sweep(make_notebook("1 + 1"), {"size": [1]}, runs=runs)


def test_workers_must_be_at_least_one(tiny, runs, ran):
    with pytest.raises(ValueError, match="workers=0: expected at least 1"):
        sweep(tiny, {"size": [1]}, runs=runs, workers=0)


def test_the_estimate_comes_from_earlier_runs(tiny, runs, ran):
    experiment, results = Experiment.load(tiny), open_results(runs)
    plan = sweeps.make_plan(experiment, sweeps.Sweep([GRID]), results)
    assert "6 runs, 0 done, 6 to run, no earlier run to estimate from" in plan.describe(1)
    sweep(tiny, {"size": [9]}, runs=runs)
    plan = sweeps.make_plan(experiment, sweeps.Sweep([GRID]), results)
    assert "6 to run, about 6 s on 2 workers" in plan.describe(2)


def test_progress_is_a_line_a_run(tiny, runs, ran, capsys):
    ran.broken = {2}
    sweep(tiny, {"size": [1, 2]}, runs=runs, progress=True)
    first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["done", "2.0", "s", "size=1"]
    assert second.startswith("failed    2.0 s  size=2  broken (")


def test_results_may_lie_behind_a_url(tiny, ran, tmp_path):
    where = f"memory://{tmp_path.name}"
    assert sweep(tiny, GRID, runs=where).frame().collect().height == 6
    assert sweep(tiny, GRID, runs=where).skipped == 6


def test_a_real_sweep_records_versions_seed_and_duration(make_notebook, runs):
    code = "import mlxcel_lab\nmlxcel_lab.hand_over({'total': size * seed})"
    notebook = make_notebook(code, parameters="size: int = 1\nseed: int = 5\n")
    result = sweep(notebook, {"size": [1, 2]}, runs=runs, workers=2)
    assert result.frame().sort("size").collect()["total"].to_list() == [5, 10]
    record = json.loads((runs / "made" / "size=2" / "seed=5" / RECORD).read_text())
    assert record["seed"] == 5
    assert record["seconds"] > 0
    assert {"mlxcel_lab", "mlx", "papermill"} <= set(record["versions"])


@pytest.mark.parametrize(("seconds", "told"), [(4.4, "4 s"), (600, "10 min"), (10_000, "2.8 h")])
def test_a_duration_is_told_in_its_own_unit(seconds, told):
    assert duration(seconds) == told
