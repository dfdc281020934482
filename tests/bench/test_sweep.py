"""`mlxcel-lab bench sweep`: its arithmetic on given times, and its own parts on a real notebook."""

import polars as pl
import pytest
from click.testing import CliRunner

from mlxcel_lab.bench import sweep as bench


@pytest.fixture
def taken(monkeypatch):
    """Each side takes as many seconds of a clock of our own as it is told, half of them in its cells."""
    now = {"wall": 0.0, "cpu": 0.0}

    def spend(seconds):
        now["wall"] += seconds
        now["cpu"] += seconds * 2
        return seconds / 2

    monkeypatch.setattr(bench.time, "perf_counter", lambda: now["wall"])
    monkeypatch.setattr(bench, "_cpu_seconds", lambda: now["cpu"])
    monkeypatch.setattr(bench, "_papermill", lambda notebook, folder, runs: spend(10.0))
    monkeypatch.setattr(bench, "_sweep", lambda notebook, folder, runs, workers: spend(12.0 / workers))
    monkeypatch.setattr(bench, "own_parts", lambda folder: {"signing": 0.01})


def test_a_row_a_side_with_the_medians_of_one_run(taken, tmp_path):
    bare, one, two = bench.measure(tmp_path, rounds=3, runs=4).to_dicts()
    assert bare == {"side": "papermill", "runs a minute": 24.0, "seconds": 2.5, "in cells": 1.25,
                    "beyond cells": 1.25, "CPU seconds": 5.0}  # fmt: skip
    assert (one["runs a minute"], two["runs a minute"]) == (20.0, 40.0)
    assert two["beyond cells"] == pytest.approx(2 * 1.5 - 0.75)


def test_the_ratio_is_held_against_the_limit_and_the_table_written(taken, tmp_path):
    done = CliRunner().invoke(bench.command, ["--rounds", "1", "--out", str(tmp_path / "sweep.parquet")])
    assert done.exit_code == 0, done.output
    assert "seconds, sweep with one worker / papermill: 1.200, over the limit of 1.10" in done.output
    assert "signing 10.0 ms" in done.output
    assert pl.read_parquet(tmp_path / "sweep.parquet").height == 3


@pytest.mark.slow
def test_the_two_sides_run_the_same_cells(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    notebook = bench._notebook(tmp_path)
    assert bench._papermill(notebook, tmp_path / "bare", 1) > 0
    assert bench._sweep(notebook, tmp_path / "one-0", 1, 1) > 0
    assert all(seconds > 0 for seconds in bench.own_parts(tmp_path).values())
