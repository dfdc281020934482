"""mlx-lm's own LRUPromptCache, driven as mlx-lm's server drives it.

The server looks the prompt up, stores the state where the user's part ends (type `user`) if the lookup didn't reach
beyond it, and the state at the reply's end (type `assistant`). It knows no sessions. The states are stand-ins with a
size; the searches, insertions and evictions are the peer's code. Where a trace knows hashed blocks only, a block is one
element of its vectors, which makes the peer faster than tokens would.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..resolve import SizeOf
from ..simulate import Budget, Outcome
from ..trace import Trace, cut, ids_of, merged

_UNLIMITED = 1 << 62


@dataclass
class _StandIn:
    """A layer's state as the peer sees it: a size, and whether it can be cut."""

    nbytes: int
    trimmable: bool

    def is_trimmable(self) -> bool:
        return self.trimmable

    def trim(self, num_tokens: int) -> int:
        return num_tokens


@dataclass(frozen=True)
class PeerRun:
    """What came of it, and the seconds of one processor that the peer's own calls took."""

    outcome: Outcome
    seconds: float
    peak_entries: int


def replay_mlx_lm(
    trace: Trace,
    size_of: SizeOf,
    *,
    max_size: int = 10,
    max_bytes: int | None = None,
    trimmable: bool = False,
) -> PeerRun:
    """Replay a trace. The defaults are the shipped ones: 10 entries, any number of bytes.

    `max_bytes` is `--prompt-cache-bytes`, which the server enforces after each lookup; in our terms that is the budget.
    `trimmable` is a family whose layers can all be cut, as dense attention's.
    """
    from mlx_lm.models.cache import LRUPromptCache

    limit = _UNLIMITED if max_bytes is None else max_bytes
    peer = LRUPromptCache(max_size, limit)
    drive = _Drive(peer, size_of, trace.tokens_per_id, limit, trimmable)
    cached = np.zeros(len(trace), np.int64)
    for number, request in enumerate(trace.rows()):
        offers = [(cut(request.prompt, 0, at), "user") for at in request.boundaries]
        if request.reply:
            offers.append((merged([*request.prompt, *request.reply]), "assistant"))
        vectors = [(ids_of(runs).tolist(), kind) for runs, kind in offers]
        cached[number] = drive.serve(request.bucket, ids_of(request.prompt).tolist(), vectors)
    budget = Budget(limit, max_size, ttl_seconds=0, min_prefix_tokens=0)
    out = Outcome(
        "mlx-lm", budget, cached, lookups=len(trace), hits=int((cached > 0).sum()), inserts=drive.inserts
    )
    out.entries, out.bytes, out.peak_bytes = len(peer), peer.nbytes, drive.peak_bytes
    return PeerRun(out, drive.seconds, drive.peak_entries)


class _Drive:
    def __init__(self, peer: Any, size_of: SizeOf, unit: int, limit: int, trimmable: bool) -> None:
        self._peer, self._size_of, self._unit = peer, size_of, unit
        self._limit, self._trimmable = limit, trimmable
        self.seconds = 0.0
        self.inserts = self.peak_bytes = self.peak_entries = 0

    def serve(self, bucket: str, prompt: list[int], offers: list[tuple[list[int], str]]) -> int:
        begun = time.process_time()
        _, rest = self._peer.fetch_nearest_cache(bucket, prompt)
        reused = len(prompt) - len(rest)
        self._peer.trim_to(n_bytes=self._limit)
        for vector, kind in offers:
            # A segment that the lookup already covers is not prefilled again, and so not stored again.
            if kind == "assistant" or len(vector) > reused:
                state = [_StandIn(self._size_of(len(vector) * self._unit), self._trimmable)]
                self._peer.insert_cache(bucket, vector, state, cache_type=kind)
                self.inserts += 1
                self.peak_bytes = max(self.peak_bytes, self._peer.nbytes)
                self.peak_entries = max(self.peak_entries, len(self._peer))
        self.seconds += time.process_time() - begun
        return reused * self._unit
