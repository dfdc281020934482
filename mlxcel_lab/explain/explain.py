"""Why a request missed, or a hit wasn't longer: the cause, the evidence, and what an operator would change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..engine.chat import common_prefix
from ..store.events import Event, LookedUp
from ..store.types import Diverged, Hit, NoCandidate, Outcome, TokenVector
from .asked import Asked
from .causes import Cause, Evidence, Explanation
from .divergence import Finding, why_diverged
from .elsewhere import under_key, why_nothing_there
from .removed import why_gone
from .strip import around


def explain(
    outcome: Outcome,
    asked: Asked,
    *,
    tokenizer: Any,
    earlier: Sequence[Asked] = (),
    events: Iterable[Event] = (),
) -> Explanation:
    """The cause of a miss.

    `asked` is the request that missed, `earlier` the requests before it (of any session, oldest first, answered),
    `events` the store's journal; later events than the lookup are left out. The order of judgement: a snapshot that
    would have hit and is gone; where the request parts from the nearest stored vector; another bucket; another session;
    never donated; first request. A Hit raises a ValueError: `what_ended` says why it wasn't longer.
    """
    if isinstance(outcome, Hit):
        raise ValueError("explain() is for misses and this is a hit: what_ended() says why it wasn't longer")
    seen = _until_lookup(events, asked)
    if outcome.ghost is not None:
        return _gone(outcome, asked, earlier, seen, tokenizer)
    if isinstance(outcome, Diverged):
        return _parted(outcome.stored, asked, earlier, tokenizer)
    if stored := under_key(asked.key, seen):
        best = max(reversed(stored), key=lambda event: common_prefix(_tokens(event.tokens), asked.prompt))
        return _parted(_tokens(best.tokens), asked, earlier, tokenizer)
    finding, lost = why_nothing_there(asked, seen)
    return Explanation(finding.cause, Evidence(len(asked.prompt), details=finding.details), lost)


def what_ended(
    outcome: Outcome, asked: Asked, *, tokenizer: Any, earlier: Sequence[Asked], events: Iterable[Event] = ()
) -> Explanation | None:
    """As `explain`, and for a hit: why not all of the earlier turn's tokens served. None where they did."""
    if not isinstance(outcome, Hit):
        return explain(outcome, asked, tokenizer=tokenizer, earlier=earlier, events=events)
    last = next((turn for turn in reversed(earlier) if turn.key == asked.key), None)
    if last is None or common_prefix(last.full, asked.prompt) == len(last.full):
        return None
    ended = _parted(last.full, asked, earlier, tokenizer)
    lost = max(0, ended.evidence.common_len - outcome.cached_tokens)
    return Explanation(ended.cause, ended.evidence, lost)


def _gone(
    outcome: Diverged | NoCandidate,
    asked: Asked,
    earlier: Sequence[Asked],
    seen: Sequence[Event],
    tokenizer: Any,
) -> Explanation:
    assert outcome.ghost is not None
    finding, ghost = why_gone(outcome.ghost, seen), outcome.ghost
    details = finding.details
    if finding.cause is Cause.SUPERSEDED and isinstance(outcome, Diverged):
        details["successor_fails_by"] = str(why_diverged(outcome.stored, asked, earlier, tokenizer).cause)
    length = ghost.num_tokens  # it would have hit: its tokens are the request's first
    evidence = Evidence(
        requested_len=len(asked.prompt),
        common_len=length,
        stored_len=length,
        stored=around(tokenizer, asked.prompt[:length], length),
        requested=around(tokenizer, asked.prompt, length),
        details=details,
    )
    return Explanation(finding.cause, evidence, length)


def _parted(stored: TokenVector, asked: Asked, earlier: Sequence[Asked], tokenizer: Any) -> Explanation:
    finding = why_diverged(stored, asked, earlier, tokenizer)
    position = common_prefix(stored, asked.prompt)
    evidence = Evidence(
        requested_len=len(asked.prompt),
        common_len=position,
        stored_len=len(stored),
        position=position,
        message=finding.message,
        role=_role(finding, asked),
        stored=around(tokenizer, stored, position),
        requested=around(tokenizer, asked.prompt, position),
        details=finding.details,
    )
    return Explanation(finding.cause, evidence, position)


def _role(finding: Finding, asked: Asked) -> str | None:
    if finding.message is None or finding.message >= len(asked.messages):
        return None
    return str(asked.messages[finding.message]["role"])


def _tokens(tokens: TokenVector | None) -> TokenVector:
    assert tokens is not None  # `under_key` hands over only events that kept them
    return tokens


def _until_lookup(events: Iterable[Event], asked: Asked) -> list[Event]:
    """The journal before the last lookup of this request; all of it where it shows none."""
    seen = list(events)
    for index in reversed(range(len(seen))):
        event = seen[index]
        if isinstance(event, LookedUp) and event.key == asked.key and event.num_tokens == len(asked.prompt):
            return seen[:index]
    return seen
