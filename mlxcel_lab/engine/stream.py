"""A turn while it runs: its text arrives in the caller's thread, and the caller can stop it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeAlias

from .turn import Turn

Progress: TypeAlias = tuple[int, int]  # prompt tokens that are ready (cached ones included), prompt tokens
Emit: TypeAlias = Callable[[str | Progress], None]
_Item: TypeAlias = str | Progress | None


class Stream:
    """Iterate for the reply's text in pieces; afterwards `turn` is the Turn.

    Progress goes to `on_progress` while iterating. Leaving the loop early, or closing, cancels the turn. An error of
    the turn is raised where it is iterated.
    """

    def __init__(
        self,
        start: Callable[[Emit, threading.Event], Future[Turn]],
        cancel: threading.Event | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._items: SimpleQueue[_Item] = SimpleQueue()
        self._cancel = cancel or threading.Event()
        self._on_progress = on_progress
        self._future = start(self._items.put, self._cancel)
        self._future.add_done_callback(lambda _: self._items.put(None))
        self._pieces = self._iterate()

    def __iter__(self) -> Iterator[str]:
        return self._pieces

    def __next__(self) -> str:
        return next(self._pieces)

    def cancel(self) -> None:
        """Asks the turn to end at its next step; iterating then ends, and `turn` says "cancelled"."""
        self._cancel.set()

    def close(self) -> None:
        """Cancels and waits until the MLX thread has let go."""
        self._pieces.close()
        self._cancel.set()
        self._future.exception()

    @property
    def turn(self) -> Turn:
        """The turn, once it has ended; waits for that, and raises what the turn raised."""
        return self._future.result()

    def _iterate(self) -> Generator[str, None, None]:
        ended = False
        try:
            while (item := self._items.get()) is not None:
                if isinstance(item, str):
                    yield item
                elif self._on_progress is not None:
                    self._on_progress(*item)
            ended = True
        finally:
            if not ended:  # the caller broke off, was interrupted, or its callback failed
                self._cancel.set()
        self._future.result()
