"""What a store's journal tells of the time before a lookup: nothing later, and no more than it kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..store import common_prefix
from ..store.events import Event, Inserted, LookedUp, Rejected
from ..store.journal import Journal
from ..store.search import as_event
from ..store.types import Ghost, Outcome, TokenVector
from .asked import Asked


@dataclass(frozen=True)
class Past:
    """The journal before a lookup; `looked` None: it doesn't show that lookup (any more), so nothing is known."""

    journal: Journal
    looked: LookedUp | None

    @classmethod
    def of(cls, journal: Journal | None, seq: int | None, outcome: Outcome, asked: Asked) -> Past:
        """`seq` is the lookup's; without it the first lookup that agrees with request and outcome is taken for it."""
        if journal is None:
            return cls(Journal(), None)
        return cls(journal, _first(journal, outcome, asked) if seq is None else _numbered(journal, seq))

    @cached_property
    def events(self) -> Sequence[Event]:
        """What is kept of it, oldest first."""
        return [] if self.looked is None else [e for e in self.journal if e.seq < self.looked.seq]

    @cached_property
    def inserted(self) -> Sequence[Inserted]:
        """The snapshots known to have been admitted: those of `events`, and what was resident before the first one."""
        if self.looked is None:
            return []
        return [*self.journal.base.entries.values(), *(e for e in self.events if isinstance(e, Inserted))]

    @cached_property
    def residents(self) -> Sequence[Inserted]:
        """What was resident when the lookup came."""
        return [] if self.looked is None else self.journal.state_at(self.looked.seq - 1)

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """The store's settings then; empty where they aren't known."""
        return {} if self.looked is None else self.journal.config_at(self.looked.seq - 1)

    def holds_since(self, seq: int) -> bool:
        """Whether every event from that one on is kept."""
        return self.looked is not None and seq >= self.journal.first_seq

    def nearest_stored(self, asked: Asked) -> TokenVector | None:
        """Of all that was ever stored under the request's key, what shares most with it; the latest of equals."""
        known = [e.tokens for e in self.inserted if e.key == asked.key and e.tokens is not None]
        return max(reversed(known), key=lambda tokens: common_prefix(tokens, asked.prompt), default=None)

    def refused(self, asked: Asked) -> list[tuple[Ghost, TokenVector]]:
        """What was offered under the request's key and never admitted, oldest first, where its tokens were kept."""
        mine = (e for e in self.events if isinstance(e, Rejected) and e.key == asked.key)
        return [
            (Ghost(None, e.key, e.num_tokens, e.size_bytes, e.origin, e.reason, e.time, e.seq), e.tokens)
            for e in mine
            if e.tokens is not None
        ]


def lookup_seq(events: Iterable[Event]) -> int | None:
    """Where a turn's events (`Turn.events`) have its lookup; None where the journal had dropped it already."""
    return next((event.seq for event in events if isinstance(event, LookedUp)), None)


def is_prefix(tokens: TokenVector | None, asked: Asked) -> bool:
    """Whether a vector's state would serve the request. Not to be told of one whose tokens weren't kept."""
    return tokens is not None and common_prefix(tokens, asked.prompt) == len(tokens)


def _numbered(journal: Journal, seq: int) -> LookedUp | None:
    if not 0 <= seq < journal.next_seq:
        raise ValueError(f"seq={seq}: expected a lookup's, and this journal ends at {journal.next_seq - 1}")
    event = next(iter(journal.since(seq - 1)))
    if event.seq != seq:
        return None  # no longer kept
    if not isinstance(event, LookedUp):
        raise ValueError(f"seq={seq}: expected a lookup's, and this is {type(event).__name__}")
    return event


def _first(journal: Journal, outcome: Outcome, asked: Asked) -> LookedUp | None:
    lookups = (e for e in journal if isinstance(e, LookedUp) and e.key == asked.key)
    return next((e for e in lookups if _agrees(e, outcome, asked)), None)


def _agrees(event: LookedUp, outcome: Outcome, asked: Asked) -> bool:
    if event.num_tokens != len(asked.prompt):
        return False
    if event.tokens is not None and not np.array_equal(event.tokens, asked.prompt):
        return False
    told = as_event(outcome)
    ghosts = [None if ghost is None else ghost.seq for ghost in (event.ghost, told.pop("ghost", None))]
    return ghosts[0] == ghosts[1] and all(getattr(event, name) == value for name, value in told.items())
