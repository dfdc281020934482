"""Sweeps: many runs of one notebook, that finish, resume and can be read back."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from .frame import runs_frame
from .grid import Grid, Sweep
from .plan import Plan, duration, make_plan
from .pool import run_all
from .record import RunRecord
from .results import Results, open_results
from .spec import Experiment, RunSpec

Finished = Iterator[tuple[RunSpec, RunRecord]]


@dataclass(frozen=True, slots=True, repr=False)
class SweepResult:
    """What a sweep did. `root` is where it lies; `skipped` were done before with the same inputs."""

    notebook: str
    root: str
    finished: tuple[tuple[RunSpec, RunRecord], ...]
    skipped: int
    seconds: float

    @property
    def failed(self) -> tuple[tuple[RunSpec, RunRecord], ...]:
        return tuple((spec, record) for spec, record in self.finished if not record.done)

    def frame(self) -> pl.LazyFrame:
        """Parameters and results of every run of this notebook that is done, now and earlier."""
        return runs_frame(f"{self.root}/{self.notebook}")

    def failures(self) -> list[str]:
        """One line a failed run: its values, its error, and where its notebook is."""
        where = open_results(self.root).where
        return [f"{spec.label()}: {record.error} ({where(spec.folder)})" for spec, record in self.failed]

    def __repr__(self) -> str:
        ran, failed = len(self.finished), len(self.failed)
        return (
            f"{self.notebook}: {ran - failed} runs done in {duration(self.seconds)}, "
            f"{self.skipped} done before, {failed} failed, in {self.root}"
        )

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{html.escape(line)}</li>" for line in self.failures())
        return f"{html.escape(repr(self))}" + (f"<ul>{lines}</ul>" if lines else "")


def sweep(
    notebook: str | Path,
    grid: Grid | Sequence[Grid] = (),
    cases: Sequence[Mapping[str, Any]] = (),
    defaults: Mapping[str, Any] | None = None,
    *,
    runs: str | Path = "runs",
    workers: int = 1,
    scheduler: str | None = None,
    progress: bool | None = None,
) -> SweepResult:
    """Run a notebook once for every combination of a grid's values, and once for every case.

    `grid` is one grid or several, `defaults` the values of what a grid or case leaves out. Names and types are checked
    before anything runs (ValueError). What is done with the same inputs is skipped. A failed run keeps its notebook
    and doesn't stop the others: see the result's `failed`. `workers` run at a time on this machine, or with
    `scheduler` the Dask cluster at that address does it all. `runs` is a folder or an fsspec URL. `progress`: a bar
    and a line a run; by default only on a terminal. An interrupt leaves all finished runs whole and is raised.
    """
    grids = [grid] if isinstance(grid, Mapping) else grid
    results = open_results(runs)
    plan = make_plan(Experiment.load(notebook), Sweep(grids, cases, defaults), results)
    return run_plan(plan, results, workers=workers, scheduler=scheduler, progress=progress)


def run_plan(
    plan: Plan,
    results: Results,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    progress: bool | None = None,
) -> SweepResult:
    """Run what a plan has to do; see `sweep`."""
    if workers < 1:
        raise ValueError(f"workers={workers}: expected at least 1")
    started = time.perf_counter()
    if scheduler is None:
        finishing = run_all(plan.todo, results, workers)
    else:
        from .cluster import run_on_cluster

        finishing = run_on_cluster(plan.todo, results, scheduler)
    shown = sys.stderr.isatty() if progress is None else progress
    finished = tuple(_with_progress(finishing, len(plan.todo), results) if shown else finishing)
    took = time.perf_counter() - started
    return SweepResult(plan.experiment.name, results.root, finished, len(plan.done), took)


def _with_progress(finishing: Finished, total: int, results: Results) -> Finished:
    from tqdm import tqdm

    # On stderr, so that the lines of finished runs can be piped. The bar's own estimate is of this sweep's pace.
    with tqdm(total=total, unit="run", file=sys.stderr, dynamic_ncols=True) as bar:
        for spec, record in finishing:
            bar.write(line(spec, record, results.where), file=sys.stdout)
            bar.update()
            yield spec, record


def line(spec: RunSpec, record: RunRecord, where: Callable[[str], str]) -> str:
    """One line for a finished run; for a failed one its error and where to look."""
    told = f"{record.status:<6} {record.seconds:6.1f} s  {spec.label()}"
    return told if record.done else f"{told}  {record.error} ({where(spec.folder)})"
