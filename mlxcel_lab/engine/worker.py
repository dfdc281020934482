"""The one thread that owns MLX: arrays are made, evaluated and dropped there, and only plain values leave it.

MLX's streams are per thread, so a lazy array made in one can't be evaluated in another. Work comes in two classes:
turns, in order, and idle work (warm-ups), which runs only while no turn waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
_Job = tuple[Future[Any], Callable[[], Any]]


class MlxThread:
    """A daemon thread with two queues. `mlx_thread()` gives the process's own; make no other."""

    def __init__(self) -> None:
        self._jobs: deque[_Job] = deque()
        self._idle_jobs: deque[_Job] = deque()
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="mlx", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Runs `work` after everything submitted before it."""
        return self._put(self._jobs, work)

    def submit_idle(self, work: Callable[[], T]) -> Future[T]:
        """Runs `work` when nothing submitted waits; cancelling the future before it starts drops it.

        Work that takes long asks `is_wanted` between its steps and gives way.
        """
        return self._put(self._idle_jobs, work)

    def run(self, work: Callable[[], T]) -> T:
        """Runs `work` on the thread and waits for it; on the thread itself, at once."""
        if self.is_current:
            return work()
        return self.submit(work).result()

    @property
    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    @property
    def is_wanted(self) -> bool:
        """Whether a turn waits, so that idle work should end."""
        return bool(self._jobs)

    def _put(self, queue: deque[_Job], work: Callable[[], T]) -> Future[T]:
        future: Future[T] = Future()
        with self._wake:
            queue.append((future, work))
            self._wake.notify()
        return future

    def _next(self) -> _Job:
        with self._wake:
            self._wake.wait_for(lambda: self._jobs or self._idle_jobs)
            return (self._jobs or self._idle_jobs).popleft()

    def _work(self) -> None:
        while True:
            future, work = self._next()
            if future.set_running_or_notify_cancel():
                _settle(future, work)
            # Nothing of the last job may live on while the thread waits: its arrays are memory.
            del future, work


def _settle(future: Future[Any], work: Callable[[], Any]) -> None:
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


@cache
def mlx_thread() -> MlxThread:
    """The process's MLX thread, started on first use. Raises ImportError where MLX has no backend."""
    from . import backend  # noqa: F401  (before anything imports mlx: it also brings OpenBLAS)

    return MlxThread()
