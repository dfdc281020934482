"""A trace played into the real snapshot store, for its journal: what simulations are held against.

It moves real token vectors, so it is for small traces and single settings; `simulate` is for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from ..config import PromptCacheConfig
from ..store import Bucket, CacheKey, Journal, Origin, Snapshot, SnapshotStore, as_tokens
from ..store.rules import SupersedeRule
from .resolved import SizeOf
from .trace import Request, Runs, Trace, cut, ids_of, merged, num_ids


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def drive(
    trace: Trace,
    size_of: SizeOf,
    config: PromptCacheConfig | None = None,
    *,
    rule: str | SupersedeRule | None = None,
    journal: Journal | None = None,
    reserve: int = 1,
) -> SnapshotStore:
    """Serve a trace's requests against a real store, on the trace's own clock, and hand the store back.

    A block id becomes its tokens, all of them numbers that stand for no word unless the trace knows its tokens.
    """
    clock = _Clock()
    store = SnapshotStore(config, clock=clock, rule=rule, journal=journal)
    writer = _Writer(trace)
    for request in trace.rows():
        clock.now = request.time
        key = CacheKey(Bucket(model_id=request.bucket), request.session)
        store.lookup(key, writer.prompt(request), reserve=reserve)
        for origin, tokens in writer.offers(request):
            store.insert(key, Snapshot(as_tokens(tokens), size_of(len(tokens)), origin))
    return store


class _Writer:
    """Writes ids out as tokens; private ids and tokens without an id become negative numbers."""

    def __init__(self, trace: Trace) -> None:
        self._unit, self._pool = trace.tokens_per_id, trace.pool
        self._unnamed = self._lowest(trace.rows()) * self._unit

    @staticmethod
    def _lowest(requests: Iterable[Request]) -> int:
        return min([0, *(start for r in requests for start, _ in (*r.prompt, *r.reply, *r.warm))])

    def prompt(self, request: Request) -> npt.NDArray[np.int64]:
        """All of a request's tokens; those without an id get fresh ones."""
        unnamed = request.prompt_tokens - num_ids(request.prompt) * self._unit
        self._unnamed -= unnamed
        tail = np.arange(self._unnamed, self._unnamed + unnamed)
        return np.concatenate([self._written(request.prompt), tail])

    def offers(self, request: Request) -> Iterator[tuple[Origin, npt.NDArray[np.int64]]]:
        """What a request donates, in the order in which an engine does."""
        for boundary in request.boundaries:
            yield Origin.BOUNDARY, self._written(cut(request.prompt, 0, boundary))
        if request.reply:
            yield Origin.COMPLETION, self._written(merged([*request.prompt, *request.reply]))
        if request.warm:
            yield Origin.BOUNDARY, self._written(request.warm)

    def _written(self, runs: Runs) -> npt.NDArray[np.int64]:
        ids = ids_of(runs)
        if self._pool is not None and (ids >= 0).all():
            return self._pool[ids].astype(np.int64)
        return (ids[:, None] * self._unit + np.arange(self._unit)).ravel()
