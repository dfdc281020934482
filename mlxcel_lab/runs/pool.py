"""Runs on this machine: some threads, each waiting for the kernel that its run lives in.

The kernel is the worker process. A thread only passes messages, so that nothing more has to be started, and a kernel
that dies takes no run but its own with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from .execute import execute
from .kernels import Kernels
from .record import RunRecord
from .results import Results
from .spec import RunSpec


def run_here(spec: RunSpec, results: Results) -> RunRecord:
    """One run. An interrupt ends its kernel and leaves nothing of it."""
    [(_, record)] = run_all([spec], results, workers=1)
    return record


def run_all(
    specs: Sequence[RunSpec], results: Results, workers: int, run: Callable[..., RunRecord] | None = None
) -> Iterator[tuple[RunSpec, RunRecord]]:
    """Every run with its record as it finishes, `workers` at a time. An interrupt ends the kernels and is raised."""
    kernels = Kernels()
    with ThreadPoolExecutor(workers, "run") as pool:
        futures: dict[Future[RunRecord], RunSpec] = {
            pool.submit(run or execute, s, results, kernels): s for s in specs
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            kernels.kill()
            raise
