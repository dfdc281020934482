"""`mlxcel-lab bench sweep`: what a run of a sweep costs beyond its own cells, and against bare papermill.

Measured are whole runs of one small notebook that hands a row over: by papermill's `execute_notebook` in this process,
by a sweep with one worker, and by a sweep with two, taking turns, so that all of them see the same machine. Bare
papermill is the cheaper way to call it: its command line also starts a Python for each run. Not measured: what real
cells cost, a cluster, slow disks.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import click
import nbformat
import polars as pl
from nbformat.v4 import new_code_cell, new_notebook

from ..runs.execute import sign_notebook
from ..runs.grid import Sweep
from ..runs.parameters import quiet_papermill
from ..runs.plan import make_plan
from ..runs.record import versions
from ..runs.results import NOTEBOOK, open_results
from ..runs.spec import Experiment
from ..runs.sweeps import sweep

LIMIT = 1.10
_BODY = "import mlxcel_lab\nmlxcel_lab.hand_over({'total': seed * 10})"


@click.command("sweep")
@click.option(
    "--rounds", type=click.IntRange(1), default=3, show_default=True, help="Times that each side runs."
)
@click.option(
    "--runs", type=click.IntRange(2), default=6, show_default=True, help="Runs of a side in a round."
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write the table as parquet."
)
def command(rounds: int, runs: int, out: Path | None) -> None:
    """Measure what a sweep adds to bare papermill."""
    with tempfile.TemporaryDirectory(prefix="mlxcel-lab-bench-") as folder:
        table = measure(Path(folder), rounds, runs)
        parts = own_parts(Path(folder))
    found = versions()
    click.echo(f"{rounds} rounds of {runs} runs a side, taking turns; {os.cpu_count()} cores, load "
               f"{os.getloadavg()[0]:.1f}, Python {found['python']}, papermill {found['papermill']}")  # fmt: skip
    with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, float_precision=3):
        click.echo(table)
    told = ", ".join(f"{name} {seconds * 1000:.1f} ms" for name, seconds in parts.items())
    click.echo(f"of a sweep's own: {told}")
    for column in ("seconds", "CPU seconds"):
        ratio = table[column][1] / table[column][0]
        verdict = "within" if ratio <= LIMIT else "over"
        click.echo(
            f"{column}, sweep with one worker / papermill: {ratio:.3f}, {verdict} the limit of {LIMIT:.2f}"
        )
    if out:
        table.write_parquet(out)


def measure(folder: Path, rounds: int, runs: int) -> pl.DataFrame:
    """A row a side, medians over the rounds: runs a minute; and of one run the seconds that it took, those in its own
    cells, those that a worker spent beyond them, and those of a processor."""
    notebook = _notebook(folder)
    sides: dict[str, Callable[[int], float]] = {
        "papermill": lambda round_: _papermill(notebook, folder / f"bare-{round_}", runs),
        "sweep, 1 worker": lambda round_: _sweep(notebook, folder / f"one-{round_}", runs, 1),
        "sweep, 2 workers": lambda round_: _sweep(notebook, folder / f"two-{round_}", runs, 2),
    }
    workers = {"papermill": 1, "sweep, 1 worker": 1, "sweep, 2 workers": 2}
    rows: list[dict[str, Any]] = []
    for round_ in range(-1, rounds):  # the first one warms caches and isn't counted
        for name, side in sides.items():
            begun, spent = time.perf_counter(), _cpu_seconds()
            cells = side(round_ + 1)
            seconds, cpu = time.perf_counter() - begun, _cpu_seconds() - spent
            if round_ >= 0:
                row = {
                    "seconds": seconds,
                    "cells": cells,
                    "cpu": cpu,
                    "beyond": seconds * workers[name] - cells,
                }
                rows.append({"side": name} | {key: value / runs for key, value in row.items()})
    return _table(rows)


def _table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    medians = pl.DataFrame(rows).group_by("side", maintain_order=True).median()
    return medians.select(
        "side",
        (60 / pl.col("seconds")).alias("runs a minute"),
        "seconds",
        pl.col("cells").alias("in cells"),
        pl.col("beyond").alias("beyond cells"),
        pl.col("cpu").alias("CPU seconds"),
    )


def _cpu_seconds() -> float:
    """Of this process and of the kernels that have ended: what others on the machine take doesn't count."""
    return sum(os.times()[:4])


def own_parts(folder: Path) -> dict[str, float]:
    """Seconds of what a sweep does and papermill doesn't: planning a run, signing its notebook, writing its files."""
    experiment, results = Experiment.load(_notebook(folder)), open_results(folder / "one-0")
    [path, *_] = Path(results.root).rglob(NOTEBOOK)
    executed = nbformat.read(path, as_version=4)
    files = {path.name: path.read_bytes() for path in path.parent.iterdir()}
    hundred = Sweep([{"seed": range(100)}])
    return {
        "planning": _seconds(lambda: make_plan(experiment, hundred, results)) / 100,
        "signing": _seconds(lambda: sign_notebook(executed)),
        "writing": _seconds(lambda: results.put("again", files)),
    }


def _seconds(call: Callable[[], Any], times: int = 10) -> float:
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return median(taken)


def _notebook(folder: Path) -> Path:
    path = folder / "measured.ipynb"
    parameters = new_code_cell("seed: int = 0  # which run", metadata={"tags": ["parameters"]})
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=[parameters, new_code_cell(_BODY)], metadata=metadata), path)
    return path


def _papermill(notebook: Path, folder: Path, runs: int) -> float:
    """Seconds in the cells of so many runs by bare papermill, one after the other."""
    import papermill

    quiet_papermill()
    folder.mkdir()
    cells = 0.0
    for seed in range(runs):
        output = folder / f"{seed}.ipynb"
        done = papermill.execute_notebook(notebook, output, {"seed": seed}, progress_bar=False)
        cells += sum(cell.metadata.papermill.duration or 0.0 for cell in done.cells)
    return cells


def _sweep(notebook: Path, folder: Path, runs: int, workers: int) -> float:
    result = sweep(notebook, {"seed": range(runs)}, runs=folder, workers=workers)
    if result.failed:
        raise click.ClickException(f"a measured run failed: {result.failures()[0]}")
    return sum(record.cells_seconds for _, record in result.finished)
