"""What the learned rule does with its evidence: how much of a conversation is worth its memory now.

The decision has two sides. Which of the two newest snapshots serves the next prompts better, completion or boundary, is
the template's and the client's doing: `survival` counts it. How much may be kept beside it depends on the memory: what
this policy kept, would have served and was gone is what the budget cost.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import NamedTuple, TypeVar

from .recent import remember
from .survival import Served, Survival, Tally
from .types import Origin

_T = TypeVar("_T")


class Room(StrEnum):
    """How much of a conversation is kept."""

    ALL = "all"  # everything
    RUNGS = "rungs"  # the newest of each origin, and older boundaries at doubling lengths
    NEWEST = "newest"  # the newest of each origin
    LEAF = "leaf"  # one snapshot: the origin that serves better


@dataclass(frozen=True, slots=True)
class Learning:
    """Switches and constants of the learned rule. A switch that is off leaves the next smaller or safer mode."""

    keep_all: bool = True  # while the budget costs nothing
    rungs: bool = True  # where prompts fall back to older boundaries
    leaf: bool = True  # one snapshot a conversation where memory is short
    decline: bool = True  # don't even store completions that don't serve
    by_session: bool = True  # a conversation's own evidence beside its bucket's
    min_requests: int = 3  # evidence below it decides nothing
    memory: int = 32  # requests over which evidence fades to a third
    pressure_memory: int = 500
    quiet: int = 2000  # requests without a loss after which everything is kept again
    prior: float = 4.0  # requests that a bucket's evidence counts for in one of its conversations
    useless: float = 0.25  # completions that serve less than this share of what either serves are declined
    worth: float = 1.25  # two snapshots are worth keeping if they serve that much more than the better one
    enter_rungs: float = 4.0  # rungs are kept once they serve that many times what the budget costs...
    leave_rungs: float = 1.0  # ...and until they serve less than that many times as much
    most_conversations: int = 4096

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if not isinstance(value, bool) and not value > 0:
                raise ValueError(f"{f.name} is {value!r}: expected a number above 0")

    def survival(self) -> Survival:
        """A new count of the evidence."""
        return Survival(self.memory, self.prior if self.by_session else None, self.most_conversations)

    def judge(self, asked: int, served: Served | None, seen: Tally) -> Finding:
        """What a request of `asked` tokens and all that was seen so far say, before memory is considered."""
        enough = seen.requests >= self.min_requests
        return Finding(
            asked,
            served,
            enough,
            Origin.COMPLETION if seen.completion > seen.boundary else Origin.BOUNDARY,
            self.decline and enough and seen.completion < seen.either * self.useless,
            seen.either > self.worth * max(seen.completion, seen.boundary),
            seen.rung / seen.asked if seen.asked else 0.0,
        )


class Finding(NamedTuple):
    """A request, and what is known of its conversation after it; nothing in it depends on the budget."""

    asked: int
    served: Served | None  # None: nothing was offered before it
    enough: bool  # evidence to decide by
    leaf: Origin  # which of the newest two serves more
    useless: bool  # completions hardly serve
    two_pay: bool  # both together serve clearly more than the better one
    rung_share: float  # of the tokens asked for, those that only older boundaries would have served


class Choice(NamedTuple):
    """What is done with a conversation's snapshots from its last request on."""

    room: Room = Room.NEWEST
    leaf: Origin = Origin.BOUNDARY
    declines: bool = False  # completions are not stored

    @property
    def keeps_rungs(self) -> bool:
        return self.room is Room.ALL or self.room is Room.RUNGS

    def keeps(self, served: Served, cleared: int) -> int:
        """How many tokens would be served had nothing been evicted; rungs before offer `cleared` were superseded."""
        if self.room is Room.LEAF:
            return served.completion if self.leaf is Origin.COMPLETION else served.boundary
        older = next((rung.mark.num_tokens for rung in served.rungs if rung.since > cleared), 0)
        return max(0 if self.declines else served.completion, served.boundary, older)


class Pressure:
    """Findings in, choices out: how much is kept, from what the budget has cost.

    The choices of the `learning.most_conversations` seen last are remembered; a forgotten one begins anew.
    """

    def __init__(self, learning: Learning) -> None:
        self.learning = learning
        self.lost = self.asked = 0.0  # tokens, fading
        self.requests = 0
        self.last_loss: int | None = None  # the request of the last loss
        self._keep = 1 - 1 / learning.pressure_memory
        self._choices: OrderedDict[Hashable, tuple[Choice, int]] = (
            OrderedDict()
        )  # and the last offer that cleared
        self._on_rungs: OrderedDict[Hashable, bool] = OrderedDict()  # by bucket

    def choice(self, conversation: Hashable) -> Choice:
        """What is done with this conversation's snapshots now."""
        return self._chosen(conversation)[0]

    def saw_request(self, bucket: Hashable, conversation: Hashable, finding: Finding, cached: int) -> Choice:
        """A request of which the store served `cached` tokens; returns the choice from now on."""
        self.requests += 1
        choice, cleared = self._chosen(conversation)
        if finding.served is not None:
            self._weigh(max(0, choice.keeps(finding.served, cleared) - cached), finding.asked)
        room = self._room(bucket, finding)
        only_boundaries = room is Room.LEAF and finding.leaf is Origin.BOUNDARY
        choice = Choice(room, finding.leaf, finding.useless or only_boundaries)
        self._choose(conversation, choice, cleared)
        return choice

    def saw_offer(self, conversation: Hashable, number: int) -> None:
        """A snapshot was offered under the choice in force, as offer `number`."""
        choice = self.choice(conversation)
        if not choice.keeps_rungs:
            self._choose(conversation, choice, number)

    def _chosen(self, conversation: Hashable) -> tuple[Choice, int]:
        return self._choices.get(conversation, (Choice(), 0))

    def _choose(self, conversation: Hashable, choice: Choice, cleared: int) -> None:
        remember(self._choices, conversation, (choice, cleared), self.learning.most_conversations)

    def _weigh(self, lost: int, asked: int) -> None:
        self.lost = self.lost * self._keep + lost
        self.asked = self.asked * self._keep + asked
        if lost:
            self.last_loss = self.requests

    def _room(self, bucket: Hashable, finding: Finding) -> Room:
        switches = self.learning
        if switches.keep_all and (self.last_loss is None or self.requests - self.last_loss > switches.quiet):
            return Room.ALL
        if not finding.enough:
            return Room.NEWEST
        if switches.rungs and self._rungs_pay(bucket, finding.rung_share):
            return Room.RUNGS
        return Room.LEAF if switches.leaf and not finding.two_pay else Room.NEWEST

    def _rungs_pay(self, bucket: Hashable, share: float) -> bool:
        """Whether older boundaries serve more than their memory costs; it takes more to begin than to go on."""
        factor = self.learning.leave_rungs if self._on_rungs.get(bucket) else self.learning.enter_rungs
        pays = share * self.asked > factor * self.lost
        return remember(self._on_rungs, bucket, pays, self.learning.most_conversations)


def rungs(boundaries: Sequence[_T], num_tokens: Callable[[_T], int]) -> list[_T]:
    """Of boundaries in order of length those that stay as rungs: each at least twice as long as the one before."""
    kept: list[_T] = []
    for boundary in boundaries:
        if not kept or num_tokens(boundary) >= 2 * num_tokens(kept[-1]):
            kept.append(boundary)
    return kept
