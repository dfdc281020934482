"""Synthetic traffic with a seed: conversations of one or several kinds, and in which order their turns arrive."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

from .conversations import KINDS, Ids, Lengths, MadeTurn
from .trace import Request, Trace, trace_from

Arrivals: TypeAlias = Callable[[random.Random, int], Iterator[tuple[int, float]]]
"""(which session asks next, seconds since the request before), without end."""


def zipf(rng: random.Random, sessions: int) -> Iterator[tuple[int, float]]:
    """Some conversations are busy and most are not: session k asks in proportion to 1/(k+1)."""
    weights = [1 / (rank + 1) for rank in range(sessions)]
    while True:
        yield rng.choices(range(sessions), weights)[0], rng.expovariate(1 / 5)


def round_robin(rng: random.Random, sessions: int) -> Iterator[tuple[int, float]]:
    """All in turn: the worst order for a budget that is one snapshot short."""
    while True:
        for session in range(sessions):
            yield session, 5.0


def bursts(rng: random.Random, sessions: int) -> Iterator[tuple[int, float]]:
    """A few conversations at a time ask quickly one after another, then others do."""
    while True:
        active = rng.sample(range(sessions), min(sessions, 3))
        for turn in range(rng.randint(6, 18)):
            yield rng.choice(active), rng.expovariate(1 / 120) if turn == 0 else rng.expovariate(1 / 3)


ARRIVALS: dict[str, Arrivals] = {"zipf": zipf, "round_robin": round_robin, "bursts": bursts}


def generate(
    kind: str | Sequence[str],
    *,
    sessions: int = 24,
    requests: int = 600,
    arrivals: str = "zipf",
    shared_system: bool = True,
    lengths: Lengths | None = None,
    seed: int = 0,
) -> Trace:
    """Traffic of one kind of conversation, or of several kinds dealt out to the sessions in turn.

    Kinds: append_only, thinking, agent, forks, volatile. Arrivals: zipf, round_robin, bursts. Each kind is a bucket of
    its own, as another template would be. The same arguments make the same trace.
    """
    kinds = [kind] if isinstance(kind, str) else [*kind]
    _check(kinds, arrivals, sessions, requests)
    lengths = lengths or Lengths()
    rng = random.Random(seed)
    ids = Ids(rng)
    system = ids.exactly(lengths.system)
    dealt = [kinds[number % len(kinds)] for number in range(sessions)]
    systems = [[system if shared_system else ids.exactly(lengths.system)] for _ in dealt]
    talks = [KINDS[kind](ids, system, lengths) for kind, system in zip(dealt, systems, strict=True)]
    made, time = [], 0.0
    for session, pause in islice(ARRIVALS[arrivals](rng, sessions), requests):
        time += pause
        made.append(_request(next(talks[session]), f"s{session}", dealt[session], time))
    name = f"{'+'.join(kinds)}, {arrivals}, {sessions} sessions, seed {seed}"
    return trace_from(name, made, assumptions=("generated: ids without text",))


def _request(turn: MadeTurn, session: str, bucket: str, time: float) -> Request:
    return Request(
        session=f"{session}/{turn.agent}" if turn.agent else session,
        time=time,
        prompt=turn.prompt,
        prompt_tokens=sum(count for _, count in turn.prompt),
        output_tokens=sum(count for _, count in turn.reply),
        bucket=bucket,
        kind=turn.kind,
        boundaries=[turn.boundary],
        reply=turn.reply,
    )


def _check(kinds: list[str], arrivals: str, sessions: int, requests: int) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise ValueError(f"unknown kind {kind!r}: expected one of {', '.join(KINDS)}")
    if not kinds:
        raise ValueError("no kind of conversation given: expected at least one")
    if arrivals not in ARRIVALS:
        raise ValueError(f"unknown arrivals {arrivals!r}: expected one of {', '.join(ARRIVALS)}")
    if sessions < 1 or requests < 1:
        raise ValueError(f"{sessions} sessions and {requests} requests: expected at least one of each")
