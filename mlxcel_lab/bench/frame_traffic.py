"""Events for measuring frames: many conversations in turns under one budget, as a store would have written them.

The events are made directly, because a store and its token vectors would take most of the time and all of the memory.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from ..store.events import Event, Inserted, LookedUp, Note, Removed
from ..store.types import Bucket, CacheKey, Origin, RemovalCause

SESSIONS, RESIDENT, MOST_TURNS = 40, 30, 12
SNAPSHOT_BYTES = 13_246_464  # of qwen3.5-0.8b's geometry, as published


def events(count: int) -> list[Event]:
    """`count` events and the opening note: hits, misses, supersedes and evictions, 20 seconds a turn."""
    made: list[Event] = [
        Note(seq=0, time=0.0, key=None, topic="opened",
             data={"capacity_bytes": RESIDENT * SNAPSHOT_BYTES, "rule": "origin"})
    ]  # fmt: skip
    source = _turns()
    while len(made) <= count:
        made.append(next(source))
    return made


def _turns() -> Iterator[Event]:
    keys = [CacheKey(Bucket("bench"), f"user-{i}") for i in range(SESSIONS)]
    held: OrderedDict[CacheKey, tuple[int, int]] = (
        OrderedDict()
    )  # key -> snapshot, tokens; least recently used first
    seq = turn = 0
    while True:
        turn += 1
        # Most turns belong to conversations that fit the budget together; every third one wanders over all of them.
        key = keys[7 * turn % (RESIDENT - 6) if turn % 3 else turn % SESSIONS]
        tokens = 100 + 40 * (turn // SESSIONS % MOST_TURNS)
        time = 20.0 * turn
        old = held.pop(key, None)
        seq += 1
        if old is None:
            yield LookedUp(seq=seq, time=time, key=key, outcome="no_candidate", num_tokens=tokens)
        else:
            yield LookedUp(seq=seq, time=time, key=key, outcome="hit", num_tokens=tokens + 20, snapshot_id=old[0],
                           cached_tokens=min(old[1], tokens))  # fmt: skip
            yield _gone(seq := seq + 1, key, time, old, RemovalCause.SUPERSEDED, turn)
        yield Inserted(seq=(seq := seq + 1), time=time, key=key, snapshot_id=turn, origin=Origin.COMPLETION,
                       num_tokens=tokens, size_bytes=SNAPSHOT_BYTES)  # fmt: skip
        held[key] = (turn, tokens)
        if len(held) > RESIDENT:
            victim, gone = held.popitem(last=False)
            yield _gone(seq := seq + 1, victim, time, gone, RemovalCause.EVICTED, turn)


def _gone(
    seq: int, key: CacheKey, time: float, old: tuple[int, int], cause: RemovalCause, successor: int
) -> Removed:
    return Removed(
        seq=seq, time=time, key=key, snapshot_id=old[0], origin=Origin.COMPLETION, num_tokens=old[1],
        size_bytes=SNAPSHOT_BYTES, cause=cause, successor=successor,
    )  # fmt: skip
