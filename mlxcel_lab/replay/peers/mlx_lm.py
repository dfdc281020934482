"""mlx-lm's own LRUPromptCache, driven as mlx-lm's server drives it.

The server looks the prompt up, stores the state where the user's part ends (type `user`) if the lookup didn't reach
beyond it, and the state at the reply's end (type `assistant`). It knows no sessions. The states are stand-ins with a
size; the searches, insertions and evictions are the peer's code. Its search costs the square of what lies beyond a
divergence, so its vectors are made of segments here unless asked otherwise: the stretches between the points at which
any two vectors of the trace end or part. What is found is the same. For its true cost give it ids.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from ..capacity import curves
from ..resolved import SizeOf, resolve
from ..simulation import Budget, Outcome
from ..trace import Request, Runs, Trace, cut, ids_of, merged
from ..vector_tree import Nodes, VectorTree

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
    by_ids: bool | None = None,
) -> PeerRun:
    """Replay a trace. The defaults are the shipped ones: 10 entries, any number of bytes.

    `max_bytes` is `--prompt-cache-bytes`, which the server enforces after each lookup; in our terms that is the budget.
    `trimmable` is a family whose layers can all be cut, as dense attention's. `by_ids`: whether its vectors are the
    trace's ids (tokens or blocks) or segments; None takes ids for trimmable families, which cut within a segment.
    """
    from ...engine import backend  # noqa: F401, I001  (before mlx: see there)
    from mlx_lm.models.cache import LRUPromptCache

    limit = _UNLIMITED if max_bytes is None else max_bytes
    peer = LRUPromptCache(max_size, limit)
    drive = _Drive(peer, size_of, trace.tokens_per_id, limit, trimmable)
    spell: _Spelling = _Ids() if (trimmable if by_ids is None else by_ids) else _Segments(trace)
    cached = np.zeros(len(trace), np.int64)
    for number, request in enumerate(trace.rows()):
        prompt, *offers = [(spell(runs, request.bucket), kind) for runs, kind in _vectors(request)]
        cached[number] = drive.serve(request.bucket, prompt[0], offers)
    budget = Budget(limit, max_size, ttl_seconds=0, min_prefix_tokens=0)
    out = Outcome(
        "mlx-lm", budget, cached, lookups=len(trace), hits=int((cached > 0).sum()), inserts=drive.inserts
    )
    out.entries, out.bytes, out.peak_bytes = len(peer), peer.nbytes, drive.peak_bytes
    return PeerRun(out, drive.seconds, drive.peak_entries)


def _vectors(request: Request) -> list[tuple[Runs, str]]:
    """A request's prompt, and what it donates with the peer's word for it."""
    vectors = [(request.prompt, ""), *((cut(request.prompt, 0, at), "user") for at in request.boundaries)]
    if request.reply:
        vectors.append((merged([*request.prompt, *request.reply]), "assistant"))
    return vectors


class _Vector(NamedTuple):
    elements: list[int]
    ids: list[int] | range  # how many ids the first so many elements stand for


class _Ids:
    """A vector as its ids."""

    def __call__(self, runs: Runs, bucket: str) -> _Vector:
        ids = ids_of(runs).tolist()
        return _Vector(ids, range(len(ids) + 1))


class _Segments:
    """A vector as its way through the tree of all of a bucket's vectors.

    It begins with one element that all share and that stands for nothing: the peer never finds a prefix of one element.
    """

    def __init__(self, trace: Trace) -> None:
        self._nodes = Nodes()
        self._trees: dict[str, VectorTree] = {}
        for request in trace.rows():
            for runs, _ in _vectors(request):
                self._walk(runs, request.bucket)

    def _walk(self, runs: Runs, bucket: str) -> int:
        if bucket not in self._trees:
            self._trees[bucket] = VectorTree(self._nodes)
        return self._trees[bucket].walk(runs)

    def __call__(self, runs: Runs, bucket: str) -> _Vector:
        node, elements = self._walk(runs, bucket), []
        while node >= 0:
            elements.append(node)
            node = self._nodes.parent[node]
        elements.reverse()
        return _Vector(elements, [0, *(self._nodes.depth[node] for node in elements)])


_Spelling: TypeAlias = _Ids | _Segments


class _Drive:
    def __init__(self, peer: Any, size_of: SizeOf, unit: int, limit: int, trimmable: bool) -> None:
        self._peer, self._size_of, self._unit = peer, size_of, unit
        self._limit, self._trimmable = limit, trimmable
        self.seconds = 0.0
        self.inserts = self.peak_bytes = self.peak_entries = 0

    def serve(self, bucket: str, prompt: _Vector, offers: list[tuple[_Vector, str]]) -> int:
        """The tokens that the peer finds of a prompt; then it is given what the request donates."""
        begun = time.process_time()
        _, rest = self._peer.fetch_nearest_cache(bucket, prompt.elements)
        reused = len(prompt.elements) - len(rest)
        self._peer.trim_to(n_bytes=self._limit)
        for vector, kind in offers:
            # A segment that the lookup already covers is not prefilled again, and so not stored again.
            if kind == "assistant" or len(vector.elements) > reused:
                state = [_StandIn(self._size_of(vector.ids[-1] * self._unit), self._trimmable)]
                self._peer.insert_cache(bucket, vector.elements, state, cache_type=kind)
                self.inserts += 1
                self.peak_bytes = max(self.peak_bytes, self._peer.nbytes)
                self.peak_entries = max(self.peak_entries, len(self._peer))
        self.seconds += time.process_time() - begun
        return prompt.ids[reused] * self._unit


def beside_mlx_lm(
    traces: Mapping[str, Trace],
    size_of: SizeOf,
    rules: Sequence[str] = ("learned", "origin", "session", "off"),
) -> pl.DataFrame:
    """Our rules and mlx-lm's cache on the same traces: `trace`, `rule`, `token_hit_rate`, `capacity_bytes`.

    All get the bytes of ten of the largest snapshots, but mlx-lm in its shipped default, which counts ten entries.
    """
    rows = []
    for name, trace in traces.items():
        budget = 10 * max(resolve(trace, size_of).size)
        asked = max(1, int(trace.requests["prompt_tokens"].to_numpy().sum()))
        frame = curves(trace, size_of, [budget], rules, workers=1)
        rows += [{"trace": name, "rule": r, "token_hit_rate": h, "capacity_bytes": budget}
                 for r, h in frame.select("rule", "token_hit_rate").iter_rows()]  # fmt: skip
        sides: dict[str, dict[str, Any]] = {
            "mlx-lm, same bytes": {"max_size": _UNLIMITED, "max_bytes": budget},
            "mlx-lm, default": {},
        }
        for side, limits in sides.items():
            served = replay_mlx_lm(trace, size_of, **limits).outcome.tokens_reused / asked
            rows.append({"trace": name, "rule": side, "token_hit_rate": served, "capacity_bytes": budget})
    return pl.DataFrame(rows)
