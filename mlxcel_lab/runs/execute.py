"""One run, from its specification to its three files: the executed notebook, its result, its record."""

from __future__ import annotations

import io
import json
import platform
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import nbformat
import polars as pl

from .handover import result_of
from .kernels import Kernels
from .parameters import quiet_papermill
from .results import NOTEBOOK, RECORD, RESULT, Results
from .spec import RunSpec

_PACKAGES = ("mlxcel_lab", "mlx", "mlx-lm", "numpy", "polars", "papermill", "ipykernel")


@cache
def versions() -> dict[str, str]:
    """The versions that a result may depend on; a package that isn't installed is left out."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What came of a run, as `run.json` keeps it. `cells_seconds`: spent in the notebook's own cells."""

    notebook: str
    status: str  # "done" or "failed"
    parameters: dict[str, Any]
    given: tuple[str, ...]
    fingerprint: str
    seed: int | None
    started: str
    seconds: float
    cells_seconds: float
    rows: int | None
    error: str | None
    inputs: dict[str, str]
    package: str
    versions: dict[str, str] = field(default_factory=lambda: dict(versions()))

    @property
    def done(self) -> bool:
        return self.status == "done"

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=2).encode()


class Interrupted(Exception):
    """The run was ended from outside; nothing of it is kept."""


def execute(
    spec: RunSpec, results: Results, kernels: Kernels | None = None, *, sign: bool = True
) -> RunRecord:
    """Execute the run and write it whole, failed or not; an error in its cells is a failed record, not a raise.

    Kernel `python3` whatever the notebook says. `sign`: make Jupyter on this machine trust the output. Raises
    Interrupted, with nothing written, once `kernels` was killed.
    """
    kernels = kernels or Kernels()
    started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    notebook, error = _papermill(spec, kernels)
    if kernels.killed:
        raise Interrupted(spec.label())
    files, rows = {}, None
    if error is None:
        try:
            frame = _result(notebook, spec)
            files[RESULT], rows = _parquet(frame), frame.height
        except ValueError as problem:
            error = str(problem)
    files[NOTEBOOK] = nbformat.writes(notebook).encode()
    if sign:
        sign_notebook(notebook)
    record = RunRecord(
        notebook=spec.notebook, status="failed" if error else "done", parameters=spec.parameters, given=spec.given,
        fingerprint=spec.fingerprint, seed=_seed(spec.parameters), started=started,
        seconds=round(time.perf_counter() - clock, 4), cells_seconds=_cells_seconds(notebook), rows=rows, error=error,
        inputs=spec.inputs, package=spec.package,
    )  # fmt: skip
    results.put(spec.folder, {**files, RECORD: record.to_json()})
    return record


def sign_notebook(notebook: nbformat.NotebookNode) -> None:
    """Let this user's Jupyter trust the notebook's outputs, so that saved widgets and pictures show."""
    from nbformat.sign import NotebookNotary

    with NotebookNotary() as notary:
        notary.sign(notebook)


def _papermill(spec: RunSpec, kernels: Kernels) -> tuple[nbformat.NotebookNode, str | None]:
    """The executed notebook, and what went wrong in it."""
    import papermill

    quiet_papermill()
    given = {name: spec.parameters[name] for name in spec.given}
    # Papermill saves after each cell, so that what a dead kernel got to is not lost.
    with tempfile.TemporaryDirectory(prefix="mlxcel-lab-run-") as folder:
        output = Path(folder) / NOTEBOOK
        output.write_text(spec.source, encoding="utf-8")
        try:
            papermill.execute_notebook(
                nbformat.reads(spec.source, as_version=4), output, given, kernel_name="python3", language="python",
                progress_bar=False, kernel_manager_class=kernels.manager_class,
                extra_arguments=["--IPKernelApp.log_level=50"],  # it calls its own orderly end an error
            )  # fmt: skip
        except papermill.PapermillExecutionError as error:
            return nbformat.read(
                output, as_version=4
            ), f"In [{error.exec_count}]: {error.ename}: {error.evalue}"
        except Exception as error:  # a dead kernel, or none: whatever it is, it is this run's failure
            return _with_error(nbformat.read(output, as_version=4), error), f"{type(error).__name__}: {error}"
        return nbformat.read(output, as_version=4), None


def _with_error(notebook: nbformat.NotebookNode, error: Exception) -> nbformat.NotebookNode:
    """Put an error that no cell could report into the cell that ran last."""
    started = [c for c in notebook.cells if c.cell_type == "code" and _status(c) not in (None, "pending")]
    if started:
        name, text = type(error).__name__, str(error)
        told = nbformat.v4.new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])
        started[-1].outputs = [*started[-1].get("outputs", []), told]
    return notebook


def _status(cell: nbformat.NotebookNode) -> str | None:
    status: str | None = cell.metadata.get("papermill", {}).get("status")
    return status


def _cells_seconds(notebook: nbformat.NotebookNode) -> float:
    durations = (cell.metadata.get("papermill", {}).get("duration") for cell in notebook.cells)
    return round(sum(seconds or 0.0 for seconds in durations), 4)


def _result(notebook: nbformat.NotebookNode, spec: RunSpec) -> pl.DataFrame:
    """The handed-over frame with every parameter as a column of its own."""
    frame = result_of(notebook)
    if frame is None:
        raise ValueError(
            "the notebook handed nothing over: let its last cell call mlxcel_lab.hand_over(result)"
        )
    columns = [pl.Series(n, [value], polars_type(spec.types[n])) for n, value in spec.parameters.items()]
    values = pl.DataFrame(columns)
    for name in set(frame.columns) & set(values.columns):
        if not frame[name].eq_missing(values[name][0]).all():
            raise ValueError(
                f"the result's column {name!r} has a parameter's name but not its value: rename it"
            )
    frame = frame.drop(values.columns, strict=False)
    return frame.with_columns(pl.lit(values[name]).first().alias(name) for name in values.columns)


def polars_type(kind: str) -> pl.DataType:
    """The column type of a parameter's type: `int`, `list[str]`, …"""
    if kind.startswith("list["):
        return pl.List(polars_type(kind[5:-1]))
    return {"int": pl.Int64(), "float": pl.Float64(), "bool": pl.Boolean(), "str": pl.String()}[kind]


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _seed(parameters: Mapping[str, Any]) -> int | None:
    seed = parameters.get("seed")
    return seed if isinstance(seed, int) else None
