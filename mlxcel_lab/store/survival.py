"""What becomes of a conversation's snapshots: the evidence that the learned rule decides by.

For each request it is known which of its conversation's last vectors the prompt goes on from. So one can say what the
last completion, the last boundary, or an older boundary would have served, whether or not any of them was still
resident: nothing here depends on the budget. Vectors are named by `Mark`s; whether a vector begins with one is the
caller's to answer. No tokens are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from .recent import remember
from .types import Origin


class Mark(NamedTuple):
    """A vector by its length and a name that two equal vectors share."""

    num_tokens: int
    name: Hashable


NOTHING = Mark(0, None)
Held: TypeAlias = Callable[[Mark], bool]
"""Whether the vector at hand begins with that one and is longer; False for `NOTHING`."""


class Rung(NamedTuple):
    """An older boundary, and the number of the offer at which it became older."""

    mark: Mark
    since: int


class Served(NamedTuple):
    """Tokens of one prompt that the last completion, the last boundary and older ones (longest first) are good for."""

    completion: int
    boundary: int
    rungs: tuple[Rung, ...]


@dataclass(slots=True)
class Tally:
    """Tokens that each kind of snapshot would have served, newer requests weighing more."""

    requests: float = 0.0
    asked: float = 0.0
    completion: float = 0.0
    boundary: float = 0.0
    either: float = 0.0
    rung: float = 0.0  # where neither served: an older boundary

    def add(self, keep: float, asked: int, served: Served) -> None:
        """One more request; what was known before weighs `keep` times as much as it did."""
        either = max(served.completion, served.boundary)
        older = served.rungs[0].mark.num_tokens if served.rungs else 0
        self.requests = self.requests * keep + 1
        self.asked = self.asked * keep + asked
        self.completion = self.completion * keep + served.completion
        self.boundary = self.boundary * keep + served.boundary
        self.either = self.either * keep + either
        self.rung = self.rung * keep + max(0, older - either)

    def blended(self, own: Tally, weight: float) -> Tally:
        """A conversation's own tally with this one's, the latter as if it were of at most `weight` requests."""
        scale = min(1.0, weight / self.requests) if self.requests else 0.0
        return Tally(
            scale * self.requests + own.requests,
            scale * self.asked + own.asked,
            scale * self.completion + own.completion,
            scale * self.boundary + own.boundary,
            scale * self.either + own.either,
            scale * self.rung + own.rung,
        )


@dataclass(slots=True)
class Trail:
    """A conversation's last vectors, and the boundaries before them at doubling lengths: its rungs."""

    completion: Mark = NOTHING
    boundary: Mark = NOTHING
    rungs: list[Rung] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    def offered(self, mark: Mark, origin: Origin, held: Held, number: int) -> None:
        """A snapshot of that vector was offered; `held` says which older marks it begins with."""
        if origin is Origin.COMPLETION:
            self.completion = mark
            return
        self.rungs = [rung for rung in self.rungs if held(rung.mark)]
        lowest = self.rungs[-1].mark.num_tokens if self.rungs else 0
        if held(self.boundary) and self.boundary.num_tokens >= 2 * lowest:
            self.rungs.append(Rung(self.boundary, number))
        self.boundary = mark

    def serves(self, held: Held) -> Served:
        """What of a prompt each kind of snapshot is good for, resident or not."""
        completion = self.completion.num_tokens if held(self.completion) else 0
        boundary = self.boundary.num_tokens if held(self.boundary) else 0
        return Served(completion, boundary, tuple(rung for rung in reversed(self.rungs) if held(rung.mark)))

    def marks(self) -> list[Mark]:
        """All of them, shortest first."""
        known = {self.boundary, self.completion, *(rung.mark for rung in self.rungs)} - {NOTHING}
        return sorted(known, key=lambda mark: mark.num_tokens)


class Survival:
    """Keeps the tallies by bucket and conversation; both are named by any hashables.

    `memory` requests after one it weighs a third. A bucket's evidence counts as at most `prior` requests beside a
    conversation's own; prior None: only the bucket's counts. The `most` conversations and buckets seen last are
    remembered.
    """

    def __init__(self, memory: int, prior: float | None, most: int) -> None:
        self._keep, self._prior, self._most = 1 - 1 / memory, prior, most
        self._buckets: OrderedDict[Hashable, Tally] = OrderedDict()
        self._trails: OrderedDict[Hashable, Trail] = OrderedDict()
        self._offers = 0

    def trail(self, conversation: Hashable) -> Trail:
        """A conversation's trail, an empty one where it is unknown; looking changes nothing."""
        return self._trails.get(conversation) or Trail()

    def saw_request(
        self, bucket: Hashable, conversation: Hashable, asked: int, held: Held
    ) -> tuple[Served | None, Tally]:
        """A prompt of `asked` tokens came; `held` says which marks it begins with.

        Returns what would have served it (None: nothing was offered before it), and all that is known after it.
        """
        trail = remember(self._trails, conversation, self.trail(conversation), self._most)
        served = None
        if trail.boundary is not NOTHING or trail.completion is not NOTHING:
            served = trail.serves(held)
            trail.tally.add(self._keep, asked, served)
            tally = remember(self._buckets, bucket, self._buckets.get(bucket) or Tally(), self._most)
            tally.add(self._keep, asked, served)
        return served, self.seen(bucket, trail.tally)

    def saw_offer(self, conversation: Hashable, mark: Mark, origin: Origin, held: Held) -> int:
        """A snapshot was offered, admitted or not. Returns the offer's number, from 1."""
        self._offers += 1
        trail = remember(self._trails, conversation, self.trail(conversation), self._most)
        trail.offered(mark, origin, held, self._offers)
        return self._offers

    def seen(self, bucket: Hashable, own: Tally) -> Tally:
        """What is known of a conversation of that bucket with that tally of its own."""
        known = self._buckets.get(bucket) or Tally()
        return Tally().blended(known, 0) if self._prior is None else known.blended(own, self._prior)
