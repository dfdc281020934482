"""Brings news to the screen, at most so many times a second, from a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

INTERVAL_SECONDS = 0.05  # 20 frames a second
LONGEST_PAUSE_SECONDS = 1.0  # a refresh that had to wait for another one seems long
WATCH_SECONDS = 0.25  # how often a journal that others fill is looked at


class Refresher:
    """Calls `refresh` soon after each `touch`, with a pause of at least `interval` seconds after each.

    The pause is three times what the refresh took, up to a second, where that is longer: a long journal must not take
    the machine from the run that it shows. With `watch_seconds` it also calls by itself. An error of `refresh` goes to
    `on_error`, and the thread goes on.
    """

    def __init__(
        self,
        refresh: Callable[[], None],
        *,
        interval: float = INTERVAL_SECONDS,
        watch_seconds: float | None = None,
        on_error: Callable[[BaseException], None],
        pause: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._refresh, self._interval, self._watch = refresh, interval, watch_seconds
        self._on_error, self._pause, self._clock = on_error, pause, clock
        self._news = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def touch(self) -> None:
        """There is something new. Cheap, from any thread."""
        self._news.set()
        self.start()

    def start(self) -> None:
        with self._starting:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="dashboard-refresh", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the thread after the refresh that may be going on."""
        self._closed = True
        self._news.set()

    def _work(self) -> None:
        while True:
            self._news.wait(self._watch)
            if self._closed:
                return
            self._news.clear()
            started = self._clock()
            try:
                self._refresh()
            except Exception as error:
                self._on_error(error)
            self._pause(max(self._interval, min(3 * (self._clock() - started), LONGEST_PAUSE_SECONDS)))
