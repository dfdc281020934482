"""One run, from its specification to its three files: the executed notebook, its result, its record."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten
from typing import Any

import nbformat
import polars as pl

from .handover import result_of
from .kernels import Kernels
from .parameters import quiet_papermill
from .record import RunRecord
from .results import NOTEBOOK, RECORD, RESULT, Results
from .spec import RunSpec

LONGEST_ERROR = 300  # characters of the record's one line; the notebook has the whole error


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
    frame = None
    if error is None:
        try:
            frame = _result(notebook, spec)
        except ValueError as problem:
            error = str(problem)
    if sign:
        sign_notebook(notebook)
    took = round(time.perf_counter() - clock, 4)
    record = _record(spec, started, took, _cells_seconds(notebook), frame, error)
    files = {NOTEBOOK: nbformat.writes(notebook).encode(), RECORD: record.to_json()}
    if frame is not None and record.result:
        files[record.result] = _parquet(frame)
    results.put(spec.folder, files)
    return record


def give_up(spec: RunSpec, results: Results, error: Exception) -> RunRecord:
    """Record as failed a run whose worker never came back with it; the notebook says why."""
    notebook = nbformat.reads(spec.source, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            _put_error(cell, error)
            break
    now = datetime.now(UTC).isoformat(timespec="seconds")
    record = _record(spec, now, 0.0, 0.0, None, _one_line(f"{type(error).__name__}: {error}"))
    results.put(spec.folder, {NOTEBOOK: nbformat.writes(notebook).encode(), RECORD: record.to_json()})
    return record


def _record(
    spec: RunSpec, started: str, took: float, cells: float, frame: pl.DataFrame | None, error: str | None
) -> RunRecord:
    return RunRecord(
        notebook=spec.notebook, status="done" if error is None else "failed", parameters=spec.parameters,
        given=spec.given, fingerprint=spec.fingerprint, seed=_seed(spec.parameters), started=started, seconds=took,
        cells_seconds=cells, rows=None if frame is None else frame.height, error=error,
        result=None if frame is None else result_name(frame), inputs=spec.inputs, package=spec.package,
    )  # fmt: skip


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
            told = _one_line(f"In [{error.exec_count}]: {error.ename}: {error.evalue}")
            return nbformat.read(output, as_version=4), told
        except Exception as error:  # a dead kernel, or none: whatever it is, it is this run's failure
            told = _one_line(f"{type(error).__name__}: {error}")
            return _with_error(nbformat.read(output, as_version=4), error), told
        return nbformat.read(output, as_version=4), None


def _one_line(text: str) -> str:
    return shorten(text, LONGEST_ERROR, placeholder=" …")


def _with_error(notebook: nbformat.NotebookNode, error: Exception) -> nbformat.NotebookNode:
    """Put an error that no cell could report into the cell that ran last."""
    started = [c for c in notebook.cells if c.cell_type == "code" and _status(c) not in (None, "pending")]
    if started:
        _put_error(started[-1], error)
    return notebook


def _put_error(cell: nbformat.NotebookNode, error: Exception) -> None:
    name, text = type(error).__name__, str(error)
    told = nbformat.v4.new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])
    cell.outputs = [*cell.get("outputs", []), told]


def _status(cell: nbformat.NotebookNode) -> str | None:
    status: str | None = cell.metadata.get("papermill", {}).get("status")
    return status


def _cells_seconds(notebook: nbformat.NotebookNode) -> float:
    durations = (cell.metadata.get("papermill", {}).get("duration") for cell in notebook.cells)
    return round(sum(seconds or 0.0 for seconds in durations), 4)


def _result(notebook: nbformat.NotebookNode, spec: RunSpec) -> pl.DataFrame:
    frame = result_of(notebook)
    if frame is None:
        raise ValueError(
            "the notebook handed nothing over: let its last cell call mlxcel_lab.hand_over(result)"
        )
    return _with_parameters(frame, spec)


def _with_parameters(frame: pl.DataFrame, spec: RunSpec) -> pl.DataFrame:
    """The frame with every parameter as a column of its own."""
    columns = [pl.Series(n, [value], polars_type(spec.types[n])) for n, value in spec.parameters.items()]
    values = pl.DataFrame(columns)
    for name in set(frame.columns) & set(values.columns):
        if not frame[name].eq_missing(values[name][0]).all():
            raise ValueError(
                f"the result's column {name!r} has a parameter's name but not its value: rename it"
            )
    frame = frame.drop(values.columns, strict=False)
    return frame.with_columns(pl.lit(values[name]).first().alias(name) for name in values.columns)


def result_name(frame: pl.DataFrame) -> str:
    """The file's name, which tells frames of other columns or types apart without opening them."""
    schema = json.dumps([[name, str(kind)] for name, kind in frame.schema.items()])
    return RESULT.format(hashlib.sha256(schema.encode()).hexdigest()[:8])


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
