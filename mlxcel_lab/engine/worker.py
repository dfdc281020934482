"""The one thread that owns MLX: arrays are made, evaluated and dropped there, and only plain values leave it.

MLX's streams are per thread, so a lazy array made in one can't be evaluated in another. Work comes in two classes:
turns, in order, and idle work (warm-ups), which runs only while no turn waits.
"""

from __future__ import annotations

import atexit
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Job:
    future: Future[Any]
    work: Callable[[], Any]
    cancel: threading.Event | None

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.work()
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class MlxThread:
    """A thread with two queues. `mlx_thread()` gives the process's own; make no other."""

    def __init__(self) -> None:
        self._turns: deque[_Job] = deque()
        self._idle: deque[_Job] = deque()
        self._running: _Job | None = None
        self._resting = False
        self._wake = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="mlx", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], T], cancel: threading.Event | None = None) -> Future[T]:
        """Runs `work` after everything submitted before it. `cancel` is set where the process ends meanwhile."""
        return self._put(self._turns, work, cancel)

    def submit_idle(self, work: Callable[[], T]) -> Future[T]:
        """Runs `work` when nothing submitted waits; cancelling the future before it starts drops it.

        Work that takes long asks `is_wanted` between its steps and gives way.
        """
        return self._put(self._idle, work, None)

    def run(self, work: Callable[[], T]) -> T:
        """Runs `work` on the thread and waits for it; on the thread itself, at once."""
        return work() if self.is_current else self.submit(work).result()

    def come_to_rest(self, seconds: float = 10.0) -> None:
        """Cancels what waits and what runs, waits that long for the latter, and takes no more work.

        MLX aborts a process that ends while it computes. The thread itself stays, asleep: MLX's CPU backend also aborts
        where a thread that has used it ends.
        """
        with self._wake:
            self._resting = True
            for job in (*self._turns, *self._idle):
                job.future.cancel()
            if self._running is not None and self._running.cancel is not None:
                self._running.cancel.set()
            self._wake.wait_for(lambda: self._running is None, seconds)

    @property
    def is_current(self) -> bool:
        return threading.current_thread() is self._thread

    @property
    def is_wanted(self) -> bool:
        """Whether a turn waits or the process ends, so that idle work should end, too."""
        return self._resting or bool(self._turns)

    def _put(self, queue: deque[_Job], work: Callable[[], T], cancel: threading.Event | None) -> Future[T]:
        job = _Job(Future(), work, cancel)
        with self._wake:
            if self._resting:
                raise RuntimeError("the process is ending: nothing can run on its MLX thread any more")
            queue.append(job)
            self._wake.notify_all()
        return job.future

    def _work(self) -> None:
        while True:
            with self._wake:
                self._running = None  # nothing of the last job may live on while the thread waits
                self._wake.notify_all()
                self._wake.wait_for(lambda: not self._resting and (self._turns or self._idle))
                self._running = (self._turns or self._idle).popleft()
            self._running.run()


@cache
def mlx_thread() -> MlxThread:
    """The process's MLX thread, started on first use. Raises ImportError where MLX has no backend."""
    from . import backend  # noqa: F401  (before anything imports mlx: it also brings OpenBLAS)

    thread = MlxThread()
    atexit.register(thread.come_to_rest)
    return thread
