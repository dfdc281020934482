"""Runs on a Dask cluster that exists: the scheduler is Dask's, here are only its task and what is checked before.

A worker that dies takes its runs with it; Dask gives them to another, up to its `allowed-failures`. A run that had
been written before its worker died is found done and not run again.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat

from .execute import execute, give_up, sign_notebook
from .record import RunRecord
from .results import NOTEBOOK, RECORD, Results, open_results
from .spec import RunSpec, file_digest, package_digest

_CONNECT_SECONDS = 10


def run_on_cluster(
    specs: Sequence[RunSpec], results: Results, scheduler: str
) -> Iterator[tuple[RunSpec, RunRecord]]:
    """Every run with its record as it finishes, on the cluster's workers.

    The package, the inputs and the results' folder are checked on each worker first; a ValueError says what differs
    where. An interrupt takes the runs that haven't started off the cluster; those that have will still be written.
    """
    distributed = _distributed()
    root = results.root if "://" in results.root else str(Path(results.root).resolve())
    with _connect(distributed, scheduler) as client:
        check_workers(client, specs, root)
        futures = {_submit(client, partial(run_on_worker, spec, root)): spec for spec in specs}
        try:
            for future in distributed.as_completed(list(futures)):
                spec = futures.pop(future)
                yield spec, _record(future, spec, results)
        finally:
            client.cancel(list(futures))


def _submit(client: Any, call: partial[Any], **where: Any) -> Any:
    # As bytes and a lambda, which travels by value: otherwise the scheduler would unpickle our objects, and so need
    # this package and stand still while it is imported. The worker does that in the task's own thread.
    return client.submit(lambda payload: pickle.loads(payload)(), pickle.dumps(call), pure=False, **where)


def run_on_worker(spec: RunSpec, root: str) -> RunRecord:
    """One run, on a worker; what an earlier try has already written is not run again."""
    if problem := problem_here([spec], root, None):
        raise ValueError(problem)
    results = open_results(root)
    raw = results.read(spec.folder, RECORD)
    record = RunRecord.from_json(raw) if raw else None
    if record and record.done and record.fingerprint == spec.fingerprint:
        return record
    return execute(spec, results, sign=False)


def check_workers(client: Any, specs: Sequence[RunSpec], root: str) -> None:
    """Raise a ValueError unless every worker has this package, these inputs, and the results' folder."""
    found = client.run(lambda: find_spec("mlxcel_lab") is not None)
    if not found:
        raise ValueError("the cluster has no workers: start some with `dask worker ADDRESS`")
    if missing := [worker for worker, installed in found.items() if not installed]:
        raise ValueError(
            f"mlxcel_lab isn't installed on {', '.join(missing)}: install {package_digest()} there"
        )
    marker = f".checking-{uuid.uuid4().hex}"
    open_results(root).put(marker, {RECORD: b"{}"})
    try:
        # Each fingerprint covers its own inputs: one run for each distinct set is enough to check them all.
        distinct = list({str(spec.inputs): spec for spec in specs}.values())
        call = partial(problem_here, distinct, root, marker)
        futures = {worker: _submit(client, call, workers=[worker]) for worker in found}
        problems = {worker: future.result() for worker, future in futures.items()}
    finally:
        open_results(root).remove(marker)
    if told := sorted({f"{worker}: {problem}" for worker, problem in problems.items() if problem}):
        raise ValueError("; ".join(told))


def problem_here(specs: Sequence[RunSpec], root: str, marker: str | None) -> str | None:
    """What on this machine differs from what the runs were made for; None if nothing does."""
    for spec in specs:
        if spec.package != package_digest():
            return (
                f"has mlxcel_lab {package_digest()}, the sweep was made with {spec.package}: install the same"
            )
        for path, digest in spec.inputs.items():
            if not Path(path).is_file() or file_digest(path) != digest:
                return f"{path} isn't there or differs: put it where every worker finds it by that path"
    if marker and open_results(root).read(marker, RECORD) is None:
        return f"doesn't see the results in {root}: give a shared folder or a URL like s3://bucket/runs"
    return None


def _record(future: Any, spec: RunSpec, results: Results) -> RunRecord:
    if future.cancelled():
        raise ConnectionError(
            "the Dask scheduler is gone; what is finished is whole, and the same sweep goes on from there"
        )
    if (error := future.exception()) is not None:
        return give_up(spec, results, error)
    record: RunRecord = future.result()
    if "://" not in results.root and (raw := results.read(spec.folder, NOTEBOOK)):
        # Signed here rather than there: trust belongs to the user who will open it.
        sign_notebook(nbformat.reads(raw.decode(), as_version=4))
    return record


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError("--scheduler needs Dask: pip install 'mlxcel_lab[cluster]'") from None
    return distributed


def _connect(distributed: Any, scheduler: str) -> Any:
    try:
        return distributed.Client(scheduler, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler at {scheduler}: {error}") from None
