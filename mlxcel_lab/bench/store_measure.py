"""What `bench store` measures: both sides in turns, our cost by the number of entries, and the index's memory.

Every call is timed alone, by the CPU time of its thread, and the median is kept: other work on the machine moves single
calls, not the result. Garbage collection is on, as in a server.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..store import CacheKey, TokenVector, as_tokens
from .store_sides import PEERS, Interface, Ours, Side, make_ours, make_peer

VOCABULARY = 151_936
OPERATIONS = ("hit", "miss", "insert")
_EXTRA = 64  # tokens that a hit's request has beyond the stored vector
_OURS_A_TURN = 5  # our calls for one of the peer: ours are short, so that more of them are needed


@dataclass(frozen=True, slots=True)
class Effort:
    """How much to measure; `turns` bounds the calls of the peer, `seconds` the time of one of its operations."""

    tokens: tuple[int, ...] = (1_024, 8_192, 32_768, 131_072)
    entries: tuple[int, ...] = (16, 256, 4_096, 65_536)
    entry_tokens: int = 1_024
    calls: int = 400
    turns: tuple[int, int] = (2, 60)
    seconds: float = 8.0
    memory_vectors: int = 4


QUICK = Effort(
    tokens=(256, 1_024),
    entries=(16, 64),
    entry_tokens=64,
    calls=20,
    turns=(1, 2),
    seconds=0.1,
    memory_vectors=1,
)


@dataclass(frozen=True, slots=True)
class Timing:
    """The median of one operation in microseconds. `entries` are resident; peer None: nothing to compare with."""

    part: str  # "peer": against LRUPromptCache; "entries": by the number of entries
    operation: str
    form: str  # what our side is given: "arrays", "lists", or lists through the peer's "interface"
    tokens: int
    entries: int
    layout: str  # which peer, or where the entries are: "one session", "many sessions"
    ours_us: float
    peer_us: float | None = None

    @property
    def ratio(self) -> float | None:
        return None if self.peer_us is None else self.peer_us / self.ours_us


class Requests:
    """Random vectors of one length, and requests that hit them or diverge from them half-way."""

    def __init__(self, tokens: int, seed: int = 0) -> None:
        self.tokens = tokens
        self._random = np.random.default_rng(seed)

    def fresh(self, shared: TokenVector | None = None) -> TokenVector:
        """A new vector, which begins with `shared`."""
        head = np.empty(0, np.int32) if shared is None else shared
        tail = self._random.integers(0, VOCABULARY, self.tokens - len(head), dtype=np.int32)
        return as_tokens(np.concatenate([head, tail]))

    def hit(self, stored: TokenVector) -> TokenVector:
        return as_tokens(
            np.concatenate([stored, self._random.integers(0, VOCABULARY, _EXTRA, dtype=np.int32)])
        )

    def miss(self, stored: TokenVector) -> TokenVector:
        asked = stored.copy()
        asked[len(asked) // 2 :] = (asked[len(asked) // 2 :] + 1) % VOCABULARY
        return as_tokens(asked)


def _timed(call: Callable[[Any], object], argument: Any) -> float:
    start = time.thread_time_ns()
    call(argument)
    return (time.thread_time_ns() - start) / 1_000


def against_peer(kind: str, tokens: int, effort: Effort) -> list[Timing]:
    """Hit, miss and insert at that length, in turns: the peer with lists; ours with arrays, with lists, and with lists
    through the peer's own interface."""
    requests, size = Requests(tokens), PEERS[kind]
    peer: Side = make_peer(kind)
    sides: list[tuple[str, Side]] = [
        ("arrays", make_ours(kind)), ("lists", make_ours(kind)), ("interface", Interface(PEERS[kind])),
    ]  # fmt: skip
    held = deque((requests.fresh() for _ in range(size)), maxlen=size)
    for vector in held:
        for side in (peer, *(side for _, side in sides)):
            side.insert(vector.tolist())
    timings = []
    for operation in OPERATIONS:
        ours, theirs = _in_turns(operation, peer, sides, held, requests, effort)
        peer_us = statistics.median(theirs)
        timings += [
            Timing("peer", operation, form, tokens, size, kind, statistics.median(ours[form]), peer_us)
            for form, _ in sides
        ]
    return timings


def _in_turns(
    operation: str,
    peer: Side,
    sides: list[tuple[str, Side]],
    held: deque[TokenVector],
    requests: Requests,
    effort: Effort,
) -> tuple[dict[str, list[float]], list[float]]:
    ours: dict[str, list[float]] = {form: [] for form, _ in sides}
    theirs: list[float] = []
    until = time.perf_counter() + effort.seconds
    least, most = effort.turns
    while len(theirs) < least or (len(theirs) < most and time.perf_counter() < until):
        asked = _requests(operation, requests, held, turn=len(theirs))
        given: dict[str, list[Any]] = {"arrays": asked, "lists": [request.tolist() for request in asked]}
        given["interface"] = given["lists"]
        # The peer must hold what ours holds, so it takes every insert; of the questions, one.
        once = given["lists"] if operation == "insert" else given["lists"][:1]
        theirs += [_call(operation, peer, request) for request in once]
        for form, side in sides:
            ours[form] += [_call(operation, side, request) for request in given[form]]
        if operation == "insert":
            held.extend(asked)
    return ours, theirs


def _requests(operation: str, requests: Requests, held: deque[TokenVector], turn: int) -> list[TokenVector]:
    """What one turn asks: new vectors to insert, or requests of which each is about another stored vector.

    None is asked twice: a repeated one would find itself in the processor's caches.
    """
    if operation == "insert":
        return [requests.fresh() for _ in range(_OURS_A_TURN)]
    make = requests.hit if operation == "hit" else requests.miss
    return [make(held[(turn * _OURS_A_TURN + i) % len(held)]) for i in range(_OURS_A_TURN)]


def _call(operation: str, side: Side, request: Any) -> float:
    if operation == "insert":
        return _timed(side.insert, request)
    served: list[bool] = []
    elapsed = _timed(lambda tokens: served.append(side.lookup(tokens)), request)
    if served != [operation == "hit"]:
        raise RuntimeError(
            f"{type(side).__name__} answered a {operation} wrongly: the measurement means nothing"
        )
    return elapsed


class _Crowd:
    """One store with that many entries, in one session or each in its own; the first half of all vectors is shared."""

    def __init__(self, vectors: list[TokenVector], many_sessions: bool) -> None:
        self.many = many_sessions
        self.side = Ours(len(vectors))
        self.held: OrderedDict[int, TokenVector] = OrderedDict()  # as the store: least recently used first
        self.next_name = 0
        for vector in vectors:
            self.insert(vector)

    def insert(self, vector: TokenVector) -> float:
        """A new entry; where the store is full, the least recently used one is evicted."""
        if len(self.held) == self.side.store.config.snapshot_max_entries:
            self.held.popitem(last=False)
        name, self.next_name = self.next_name, self.next_name + 1
        self.held[name] = vector
        self._named(name)
        return _timed(self.side.insert, vector)

    def ask(self, operation: str, name: int, request: TokenVector) -> float:
        self._named(name)
        if operation == "hit":
            self.held.move_to_end(name)
        return _call(operation, self.side, request)

    def _named(self, name: int) -> None:
        self.side.key = CacheKey(session=f"conversation {name}" if self.many else "bench")


def by_entries(effort: Effort) -> list[Timing]:
    """Our own cost with more and more entries resident; all stores are measured in turns."""
    requests = Requests(effort.entry_tokens)
    shared = requests.fresh()[: effort.entry_tokens // 2]
    vectors = [requests.fresh(shared) for _ in range(max(effort.entries))]
    crowds = {
        (entries, layout): _Crowd(vectors[:entries], layout == "many sessions")
        for layout in ("one session", "many sessions")
        for entries in effort.entries
    }
    measured: dict[tuple[int, str, str], list[float]] = {}
    for round_number in range(6):
        for (entries, layout), crowd in crowds.items():
            for operation, times in _one_round(crowd, requests, shared, effort.calls // 4):
                if round_number:  # the first fills the caches and the store's memory of the evicted
                    measured.setdefault((entries, layout, operation), []).extend(times)
    return [
        Timing("entries", operation, "arrays", effort.entry_tokens, entries, layout, statistics.median(times))
        for (entries, layout, operation), times in measured.items()
    ]


def _one_round(
    crowd: _Crowd, requests: Requests, shared: TokenVector, calls: int
) -> Iterator[tuple[str, list[float]]]:
    random = np.random.default_rng(calls)
    fresh = [requests.fresh(shared) for _ in range(calls)]
    yield "insert", [crowd.insert(vector) for vector in fresh]
    for operation in ("hit", "miss"):
        held = [*crowd.held.items()]
        make = requests.hit if operation == "hit" else requests.miss
        asked = [(held[i][0], make(held[i][1])) for i in random.integers(0, len(held), calls).tolist()]
        yield operation, [crowd.ask(operation, name, request) for name, request in asked]


def index_memory(effort: Effort) -> tuple[int, int, int]:
    """(tokens held, our index's bytes beside the token vectors, the peer's): what inserting them allocates."""
    tokens = max(effort.tokens)
    requests = Requests(tokens)
    vectors = [requests.fresh() for _ in range(effort.memory_vectors)]
    lists = [vector.tolist() for vector in vectors]
    ours = _allocated(Ours(len(vectors)), vectors)
    return tokens * len(vectors), ours, _allocated(make_peer("default"), lists)


def _allocated(side: Side, vectors: list[Any]) -> int:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for vector in vectors:
            side.insert(vector)
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
