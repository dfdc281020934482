"""One rule and one budget against a resolved trace: bookkeeping on integers, equal to the real store event by event.

A request is served in the store's order: expire, look up, donate each snapshot (refuse; supersede; replace; evict).
Requests are served one after another, as a server with one thread on the model does. Every step costs O(1) amortised:
targets that are gone and won't be offered again are cut out of the chains that lead over them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..config import PromptCacheConfig
from .resolved import Resolved
from .rules import Rule, rule_named

_DEFAULTS = PromptCacheConfig()
_EMPTY, _DEAD = 0, 4  # a target's states; the others are the origin of the snapshot resident at it, 1 or 2


@dataclass(frozen=True, slots=True)
class Budget:
    """The store's settings that a simulation obeys; names, units and defaults are the configuration's."""

    capacity_bytes: int = _DEFAULTS.capacity_bytes
    max_entries: int = _DEFAULTS.snapshot_max_entries
    ttl_seconds: float = _DEFAULTS.snapshot_ttl_seconds
    min_prefix_tokens: int = _DEFAULTS.min_prefix_tokens

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, int | float) or value < 0:
                raise ValueError(f"{name} is {value!r}: expected a number, 0 or more")


class Step(NamedTuple):
    """One event of a simulation: what happened to which target at which request.

    `what` is hit, diverged, no_candidate, inserted, superseded, replaced, evicted, expired, or rejected and why.
    """

    request: int
    what: str
    target: int


@dataclass
class Outcome:
    """What came of it. `cached[r]` are the tokens that request r found; the rest counts as the store's counters do."""

    rule: str
    budget: Budget
    cached: npt.NDArray[np.int64]
    lookups: int = 0
    hits: int = 0
    inserts: int = 0
    supersedes: int = 0
    replacements: int = 0
    evictions_lru: int = 0
    evictions_ttl: int = 0
    self_evictions: int = 0
    rejections: dict[str, int] = field(default_factory=dict)
    entries: int = 0
    bytes: int = 0
    peak_bytes: int = 0
    steps: list[Step] | None = None

    @property
    def tokens_reused(self) -> int:
        return int(self.cached.sum())


def simulate(
    resolved: Resolved, rule: str | Rule, budget: Budget | None = None, *, record: bool = False
) -> Outcome:
    """Replay a trace against one rule and budget. `record` keeps every `Step`."""
    return _Simulation(resolved, rule_named(rule), budget or Budget(), record).run()


class _Simulation:
    __slots__ = (
        "_above", "_anonymous", "_budget", "_bytes", "_cached", "_last", "_offered", "_order", "_out", "_plan",
        "_residents", "_resolved", "_size", "_state",
    )  # fmt: skip

    def __init__(self, resolved: Resolved, rule: Rule, budget: Budget, record: bool) -> None:
        self._resolved, self._budget = resolved, budget
        self._plan, self._order = rule.plan(resolved), rule.order(resolved)
        if budget.ttl_seconds and not hasattr(self._order, "oldest"):
            raise ValueError(f"rule {rule.name!r} doesn't evict by age: give ttl_seconds=0")
        self._out = Outcome(
            rule.name, budget, np.zeros(len(resolved), np.int64), steps=[] if record else None
        )
        self._cached = [0] * len(resolved)
        self._state = bytearray(len(resolved.up))
        self._above = list(resolved.up)  # like `up`, with the dead ones cut out as they are met
        self._residents = [0] * len(resolved.sessions)  # by key
        self._anonymous = [session is None for session in resolved.sessions]
        self._size, self._last = resolved.size, resolved.last_offer
        self._bytes = self._offered = 0

    def run(self) -> Outcome:
        out, ttl, offers = self._out, self._budget.ttl_seconds, self._resolved.offers
        for request in range(len(offers)):
            if ttl:
                self._expire(request)
            self._look_up(request)
            self._plan.saw_request(request, self._cached[request])
            for target, origin in offers[request]:
                self._offer(request, target, origin)
                self._plan.saw_offer(request, target, origin)
        out.lookups, out.bytes, out.entries = len(offers), self._bytes, len(self._order)
        out.cached[:] = self._cached
        return out

    def _look_up(self, request: int) -> None:
        state, above = self._state, self._above
        target = self._resolved.deepest[request]
        while target >= 0 and (state[target] == _EMPTY or state[target] == _DEAD):
            target = above[target]
        if target >= 0:
            self._out.hits += 1
            self._cached[request] = self._resolved.tokens[target]
            self._order.use(target, request)
        if self._out.steps is not None:
            key = self._resolved.request_key[request]
            missed = "diverged" if self._residents[key] else "no_candidate"
            self._out.steps.append(Step(request, "hit" if target >= 0 else missed, target))

    def _offer(self, request: int, target: int, origin: int) -> None:
        self._offered += 1
        reason = self._refusal(request, target, origin)
        if reason:
            self._out.rejections[reason] = self._out.rejections.get(reason, 0) + 1
            self._note(request, f"rejected {reason}", target)
            return
        out = self._out
        reach = self._plan.reach(request, origin)
        if reach and not self._anonymous[self._resolved.key[target]]:
            self._supersede(request, target, reach)
        if self._state[target]:
            self._replace(request, target)
        self._state[target] = origin
        self._order.add(target, request)
        self._residents[self._resolved.key[target]] += 1
        self._bytes += self._size[target]
        out.inserts += 1
        self._note(request, "inserted", target)
        if self._bytes > self._budget.capacity_bytes or len(self._order) > self._budget.max_entries:
            self._evict(request, self._resolved.key[target])
        if self._bytes > out.peak_bytes:
            out.peak_bytes = self._bytes

    def _refusal(self, request: int, target: int, origin: int) -> str:
        if self._resolved.tokens[target] < self._budget.min_prefix_tokens:
            return "prefix_too_short"
        if self._size[target] > self._budget.capacity_bytes:
            return "oversized"
        return "" if self._plan.admits(request, target, origin) else "rule"

    def _supersede(self, request: int, target: int, reach: int) -> None:
        state, above = self._state, self._above
        gone: list[int] = []
        below, ancestor = target, above[target]
        while ancestor >= 0:
            if state[ancestor] == _DEAD:
                above[below] = above[ancestor]
            else:
                if state[ancestor] & reach:
                    gone.append(ancestor)
                below = ancestor
            ancestor = above[below]
        gone.reverse()
        if self._plan.spares and gone:
            stay = self._plan.spared(request, gone)
            gone = [ancestor for ancestor in gone if ancestor not in stay]
        for ancestor in gone:
            self._order.drop(ancestor)
            self._leave(request, ancestor, "superseded")
        self._out.supersedes += len(gone)

    def _replace(self, request: int, target: int) -> None:
        self._order.drop(target)
        self._leave(request, target, "replaced")
        self._out.replacements += 1

    def _evict(self, request: int, newcomer: int) -> None:
        out, budget, order = self._out, self._budget, self._order
        while self._bytes > budget.capacity_bytes or len(order) > budget.max_entries:
            victim = order.victim(request)
            self._leave(request, victim, "evicted")
            out.evictions_lru += 1
            key = self._resolved.key[victim]
            # The session counts, whatever the bucket, as in the store.
            own = key == newcomer or self._resolved.sessions[key] == self._resolved.sessions[newcomer]
            out.self_evictions += own and not self._anonymous[key]

    def _expire(self, request: int) -> None:
        time, order = self._resolved.time, self._order
        limit = self._budget.ttl_seconds
        while len(order):
            target, used = next(order.oldest())
            if time[request] - time[used] < limit:
                return
            order.drop(target)
            self._leave(request, target, "expired")
            self._out.evictions_ttl += 1

    def _leave(self, request: int, target: int, cause: str) -> None:
        self._state[target] = _DEAD if self._last[target] < self._offered else _EMPTY
        self._residents[self._resolved.key[target]] -= 1
        self._bytes -= self._size[target]
        self._note(request, cause, target)

    def _note(self, request: int, what: str, target: int) -> None:
        if self._out.steps is not None:
            self._out.steps.append(Step(request, what, target))
