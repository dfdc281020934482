"""The queue in front of the engine: one turn at a time, in order of arrival, bounded, each cancellable.

The event loop never waits for MLX: a turn runs in the queue's one thread and hands plain values back to the loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from ..engine import Engine, Turn
from .errors import ApiError

Disconnected = Callable[[], Awaitable[bool]]


class Job:
    """One turn on its way: its pieces of text as they come, its end, and the switch that stops it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pieces: asyncio.Queue[str | None] = asyncio.Queue()
        self.cancelled = threading.Event()
        self.turn: asyncio.Future[Turn] = loop.create_future()

    def cancel(self) -> None:
        """Stop the turn at its next token; one that still waits never starts."""
        self.cancelled.set()

    async def pieces(self) -> AsyncIterator[str]:
        """The reply's text as it is decoded; ends when the turn ends, and raises what the turn raised."""
        while (piece := await self._pieces.get()) is not None:
            yield piece
        await self.turn

    def on_text(self, text: str) -> None:
        """Called in the queue's thread for each piece of text."""
        self._post(self._pieces.put_nowait, text)

    def finished(self, turn: Turn | None, error: BaseException | None) -> None:
        """Called in the queue's thread once the turn is over."""
        self._post(self._settle, turn, error)

    def _settle(self, turn: Turn | None, error: BaseException | None) -> None:
        if not self.turn.done():
            if error is not None:
                self.turn.set_exception(error)
                self.turn.exception()  # a client that went away never asks: no warning at its collection
            elif turn is not None:
                self.turn.set_result(turn)
        self._pieces.put_nowait(None)

    def _post(self, call: Callable[..., None], *args: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *args)


class TurnQueue:
    """Runs turns of one engine first come, first served; at most `max_waiting` run or wait."""

    def __init__(self, engine: Engine, max_waiting: int) -> None:
        self.engine = engine
        self._max_waiting = max_waiting
        self._jobs: set[Job] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="turns")

    def __len__(self) -> int:
        return len(self._jobs)

    def submit(self, *args: Any, **kwargs: Any) -> Job:
        """Queue `engine.chat(*args, **kwargs)`; a full queue is an ApiError 429."""
        if len(self._jobs) >= self._max_waiting:
            message = f"{len(self._jobs)} requests run or wait, which is the bound: try again in a moment"
            raise ApiError(
                429, message, kind="rate_limit_error", code="queue_full", headers={"Retry-After": "1"}
            )
        job = Job(asyncio.get_running_loop())
        self._jobs.add(job)
        job.turn.add_done_callback(lambda _: self._jobs.discard(job))
        self._thread.submit(self._run, job, args, kwargs)
        return job

    def close(self) -> None:
        """Stop every turn and wait for the thread; what was stored stays stored."""
        for job in list(self._jobs):
            job.cancel()
        self._thread.shutdown(wait=True)

    def _run(self, job: Job, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            if job.cancelled.is_set():
                raise asyncio.CancelledError("the client went away before its turn began")
            turn = self.engine.chat(*args, on_token=job.on_text, cancel=job.cancelled, **kwargs)
        except BaseException as error:
            job.finished(None, error)
        else:
            job.finished(turn, None)


@asynccontextmanager
async def stopped_when_left(job: Job, disconnected: Disconnected, every: float = 0.1) -> AsyncIterator[None]:
    """While the block runs, cancel the job as soon as its client has gone away."""

    async def watch() -> None:
        while not await disconnected():
            await asyncio.sleep(every)
        job.cancel()

    watcher = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        job.cancel()
        raise
    finally:
        watcher.cancel()
