"""Warm-ups: after a reply, while nothing else runs, a conversation's state is extended over it as the next prompt will
have it.

The queue is bounded and the newest wins: a conversation has at most one warm-up waiting, and a full queue drops its
oldest. A turn cancels the warm-up that runs and drops the one that waits for its own conversation. Each warm-up that
was asked for ends as run or as skipped for a counted reason, and leaves a `warmup` note in the journal.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from ..store import SnapshotStore
from ..store.types import CacheKey, InsertResult, TokenVector
from .worker import mlx_thread

Target = Callable[[], TokenVector]
Extend = Callable[[CacheKey, TokenVector, threading.Event], InsertResult | None]
SKIPS = ("superseded by a newer one", "queue full", "a turn came", "no ancestor", "refused", "failed")
_NEWER, _FULL, _TURN, _NO_ANCESTOR, _REFUSED, _FAILED = SKIPS
_LOG = logging.getLogger("mlxcel_lab.engine")


@dataclass(frozen=True, slots=True)
class WarmUpStats:
    """How many warm-ups ran, how many were skipped by reason, and how many still wait."""

    run: int
    skipped: dict[str, int] = field(default_factory=dict)
    waiting: int = 0

    @property
    def asked(self) -> int:
        return self.run + sum(self.skipped.values()) + self.waiting


class WarmUps:
    """The waiting warm-ups of one engine.

    With `background` they run on the MLX thread whenever no turn waits; otherwise they wait for `run_waiting`, so that
    a script's outcome doesn't depend on its pauses. `extend` does the work and is called on the MLX thread.
    """

    def __init__(
        self, extend: Extend, store: SnapshotStore, *, max_waiting: int = 16, background: bool = False
    ) -> None:
        if max_waiting < 1:
            raise ValueError(f"max_waiting={max_waiting!r}: expected a whole number, 1 or more")
        self.background = background
        self._extend, self._store, self._max_waiting = extend, store, max_waiting
        self._lock = threading.Lock()
        self._waiting: OrderedDict[CacheKey, Target] = OrderedDict()
        self._started: list[Future[None]] = []
        self._run, self._skipped = 0, Counter[str]()

    def ask(self, key: CacheKey, target: Target) -> None:
        """Queue a warm-up; `target` is called when it runs, on the MLX thread."""
        with self._lock:
            if self._waiting.pop(key, None) is not None:
                self._skip(key, _NEWER)
            if len(self._waiting) == self._max_waiting:
                self._skip(self._waiting.popitem(last=False)[0], _FULL)
            self._waiting[key] = target
            if self.background:
                self._started = [f for f in self._started if not f.done()] + [
                    mlx_thread().submit_idle(self._next)
                ]

    def turn_comes(self, key: CacheKey) -> None:
        """Drop what waits for that conversation: its history moves on. What runs sees the turn by itself."""
        with self._lock:
            if self._waiting.pop(key, None) is not None:
                self._skip(key, _TURN)

    def run_waiting(self) -> WarmUpStats:
        """Run all that waits, oldest first, and wait for it."""
        for future in () if mlx_thread().is_current else self._started:  # there, nothing else can be running
            future.result()
        while self._waiting:
            mlx_thread().run(self._next)
        return self.stats()

    def stats(self) -> WarmUpStats:
        with self._lock:
            return WarmUpStats(self._run, dict(self._skipped), len(self._waiting))

    def _next(self) -> None:
        with self._lock:
            if not self._waiting:
                return
            key, target = self._waiting.popitem(last=False)
        tokens, cancel = 0, _GiveWay()
        try:
            wanted = target()
            tokens = len(wanted)
            reason = _skipped(self._extend(key, wanted, cancel), cancel)
        except ValueError as refused:  # the template refuses a conversation that goes on like this
            _LOG.info("no warm-up of session %r: %s", key.session, refused)
            reason = _FAILED
        except Exception:
            _LOG.exception("the warm-up of session %r failed", key.session)
            reason = _FAILED
        with self._lock:
            self._finish(key, tokens, reason)

    def _finish(self, key: CacheKey, tokens: int, reason: str | None) -> None:
        if reason is not None:
            self._skip(key, reason, tokens)
            return
        self._run += 1
        self._note(key, {"outcome": "run", "tokens": tokens})

    def _skip(self, key: CacheKey, reason: str, tokens: int = 0) -> None:
        self._skipped[reason] += 1
        self._note(key, {"outcome": "skipped", "reason": reason, "tokens": tokens})

    def _note(self, key: CacheKey, data: dict[str, Any]) -> None:
        self._store.note("warmup", data, key)


class _GiveWay(threading.Event):
    """Set as soon as the MLX thread is wanted for something else, and from then on."""

    def is_set(self) -> bool:
        if mlx_thread().is_wanted:
            self.set()
        return super().is_set()


def _skipped(result: InsertResult | None, cancel: threading.Event) -> str | None:
    if result is None:
        return _TURN if cancel.is_set() else _NO_ANCESTOR
    return None if result.accepted else _REFUSED
