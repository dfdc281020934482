"""The rules that a replay compares: what is admitted, what a newcomer supersedes, who is evicted first.

A rule of the real store is here as a `Plan`, which answers in masks of origins what the store's rule answers in
snapshots. The simulation's events equal the store's for every one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..store.policy import Choice, Finding, Learning, Pressure, Room, rungs
from ..store.survival import Mark
from ..store.types import Origin
from .orders import Clairvoyant, Fifo, FlopAware, Gdsf, Recency
from .resolved import BOUNDARY, COMPLETION, Resolved

NONE, BOTH = 0, COMPLETION | BOUNDARY
_ANONYMOUS = Choice(Room.ALL)
_ORIGINS = {COMPLETION: Origin.COMPLETION, BOUNDARY: Origin.BOUNDARY}


class Plan:
    """Base: supersedes nothing, admits everything, learns nothing. One plan serves one simulation."""

    spares = False  # whether `spared` is to be asked

    def __init__(self, resolved: Resolved) -> None:
        self.resolved = resolved

    def saw_request(self, request: int, cached: int) -> None:
        """Called at each request after its lookup, which found `cached` tokens, before its offers."""

    def admits(self, request: int, target: int, origin: int) -> bool:
        """Whether the snapshot is stored at all."""
        return True

    def reach(self, request: int, origin: int) -> int:
        """Which origins of its strict prefixes a newcomer replaces, as a mask."""
        return NONE

    def spared(self, request: int, ancestors: list[int]) -> set[int]:
        """Which of those within reach stay after all; `ancestors` are targets, shortest first."""
        return set()

    def saw_offer(self, request: int, target: int, origin: int) -> None:
        """Called for each snapshot offered, admitted or not."""


class SessionPlan(Plan):
    def reach(self, request: int, origin: int) -> int:
        return BOTH


class OriginPlan(Plan):
    def reach(self, request: int, origin: int) -> int:
        return origin


class AnchorPlan(SessionPlan):
    spares = True

    def spared(self, request: int, ancestors: list[int]) -> set[int]:
        return set(ancestors[:1])


class LearnedPlan(Plan):
    """The store's learned rule, on targets in place of tokens.

    The evidence doesn't depend on the budget: it is gathered once a trace, and a simulation only weighs it.
    """

    learning = Learning()

    def __init__(self, resolved: Resolved) -> None:
        super().__init__(resolved)
        self._pressure = Pressure(self.learning)
        self._evidence = resolved.once(self.learning, lambda: _evidence(resolved, self.learning))
        self._number = 0
        self._choice = Choice()
        self._silent = False

    def saw_request(self, request: int, cached: int) -> None:
        key, finding = self.resolved.request_key[request], self._evidence[request]
        self._silent = finding is None
        self._choice = _ANONYMOUS
        if finding is not None:
            self._choice = self._pressure.saw_request(self.resolved.buckets[key], key, finding, cached)

    def saw_offer(self, request: int, target: int, origin: int) -> None:
        if not self._silent:
            self._number += 1
            self._pressure.saw_offer(self.resolved.key[target], self._number)

    def admits(self, request: int, target: int, origin: int) -> bool:
        return origin != COMPLETION or not self._choice.declines

    def reach(self, request: int, origin: int) -> int:
        room = self._choice.room
        self.spares = room is Room.RUNGS and origin == BOUNDARY
        return NONE if room is Room.ALL else BOTH if room is Room.LEAF else origin

    def spared(self, request: int, ancestors: list[int]) -> set[int]:
        return set(rungs(ancestors, self.resolved.tokens.__getitem__))


def _evidence(resolved: Resolved, learning: Learning) -> list[Finding | None]:
    """By request what it showed; None for one without a session."""
    survival = learning.survival()
    findings: list[Finding | None] = []
    for request, key in enumerate(resolved.request_key):
        if resolved.sessions[key] is None:
            findings.append(None)
            continue
        held = resolved.held(resolved.deepest[request], resolved.prompt_tokens[request])
        asked = resolved.prompt_tokens[request]
        findings.append(learning.judge(asked, *survival.saw_request(resolved.buckets[key], key, asked, held)))
        for target, origin in resolved.offers[request]:
            tokens = resolved.tokens[target]
            survival.saw_offer(key, Mark(tokens, target), _ORIGINS[origin], resolved.held(target, tokens))
    return findings


class ForeseeingPlan(Plan):
    """Admits what will serve again, and nothing else."""

    def __init__(self, resolved: Resolved) -> None:
        super().__init__(resolved)
        self._order = Clairvoyant(resolved)

    def admits(self, request: int, target: int, origin: int) -> bool:
        return self._order.next_use(target, request) < float("inf")


@dataclass(frozen=True)
class Rule:
    """A rule by name: its plan, its order of eviction, and what it says in words.

    `shared`: one namespace for all sessions.
    """

    name: str
    says: str
    plan: Callable[[Resolved], Plan] = Plan
    order: Callable[[Resolved], Any] = Recency
    shared: bool = False


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("off", "nothing is superseded; the least recently used is evicted"),
        Rule("session", "a newer snapshot replaces every strict prefix of its conversation", SessionPlan),
        Rule("origin", "a newer snapshot replaces its strict prefixes of the same origin", OriginPlan),
        Rule("lru", "as off, without sessions: whoever comes may use what anybody stored", shared=True),
        Rule("fifo", "first in, first out, without sessions", order=Fifo, shared=True),
        Rule(
            "learned",
            "what a conversation's snapshots were good for and what the budget costs decide",
            LearnedPlan,
        ),
        Rule("anchor", "a conversation keeps its newest leaf and the shortest prefix below it", AnchorPlan),
        Rule("gdsf", "greedy-dual-size with frequency evicts; nothing is superseded", order=Gdsf),
        Rule(
            "flop", "recency plus compute saved a byte, after Marconi; nothing is superseded", order=FlopAware
        ),
        Rule("belady", "admits what will serve again, evicts what serves last", ForeseeingPlan, Clairvoyant),
    )
}


def rule_named(name: str | Rule) -> Rule:
    """The rule of that name; a `Rule` is handed through, so that one's own fits in."""
    if isinstance(name, Rule):
        return name
    if name not in RULES:
        raise ValueError(f"unknown rule {name!r}: expected one of {', '.join(RULES)}")
    return RULES[name]
