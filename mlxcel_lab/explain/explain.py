"""Why a request missed, or a hit wasn't longer: the cause, the evidence, and what an operator would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..store import common_prefix
from ..store.journal import Journal
from ..store.types import Diverged, Ghost, Hit, Outcome, TokenVector
from .asked import Asked
from .causes import Cause, Evidence, Explanation
from .divergence import why_diverged
from .elsewhere import why_elsewhere
from .past import Past, is_prefix
from .removed import why_gone, would_be_there
from .strip import around


def explain(
    outcome: Outcome,
    asked: Asked,
    *,
    tokenizer: Any,
    earlier: Sequence[Asked] = (),
    journal: Journal | None = None,
    seq: int | None = None,
) -> Explanation:
    """The cause of a miss.

    `asked` is the request that missed, `earlier` the requests before it (of any session, oldest first, answered),
    `journal` the store's, in which `seq` is the lookup; without it the first lookup that agrees with request and
    outcome is taken for it. Later events are left out. The order of judgement: a snapshot that would serve if it
    weren't gone; where the request parts from the nearest stored vector; another bucket; another session; never
    donated; first request. A Hit raises a ValueError: `what_ended` says why it wasn't longer.
    """
    if isinstance(outcome, Hit):
        raise ValueError("explain() is for misses and this is a hit: what_ended() says why it wasn't longer")
    past = Past.of(journal, seq, outcome, asked)
    ghost = outcome.ghost
    if ghost is not None and would_be_there(ghost, past):
        return _gone(ghost, outcome, asked, earlier, past, tokenizer)
    stored = outcome.stored if isinstance(outcome, Diverged) else past.nearest_stored(asked)
    if stored is not None:
        return _parted(stored, asked, earlier, tokenizer, {} if ghost is None else _also(ghost))
    if ghost is not None:
        return _gone(ghost, outcome, asked, earlier, past, tokenizer)
    if (found := why_elsewhere(asked, earlier, past.inserted)) is not None:
        finding, lost = found
        return Explanation(finding.cause, Evidence(len(asked.prompt), details=finding.details), lost)
    return _never_donated(outcome, asked, earlier, past, tokenizer)


def what_ended(
    outcome: Outcome,
    asked: Asked,
    *,
    tokenizer: Any,
    earlier: Sequence[Asked],
    journal: Journal | None = None,
    seq: int | None = None,
) -> Explanation | None:
    """As `explain`, and for a hit: why not all of the earlier turn's tokens served. None where they did."""
    if not isinstance(outcome, Hit):
        return explain(outcome, asked, tokenizer=tokenizer, earlier=earlier, journal=journal, seq=seq)
    last = next((turn for turn in reversed(earlier) if turn.key == asked.key), None)
    if last is None or common_prefix(last.full, asked.prompt) == len(last.full):
        return None
    ended = _parted(last.full, asked, earlier, tokenizer)
    lost = max(0, ended.evidence.common_len - outcome.cached_tokens)
    return Explanation(ended.cause, ended.evidence, lost)


def _never_donated(
    outcome: Outcome, asked: Asked, earlier: Sequence[Asked], past: Past, tokenizer: Any
) -> Explanation:
    """Nothing was ever stored under the key: what was refused there, and whether it would have served at all."""
    refused = past.refused(asked)
    serving = [ghost for ghost, tokens in refused if is_prefix(tokens, asked)]
    if serving:
        longest = max(reversed(serving), key=lambda ghost: ghost.num_tokens)
        return _gone(longest, outcome, asked, earlier, past, tokenizer)
    if not refused:
        return Explanation(Cause.FIRST_REQUEST, Evidence(len(asked.prompt)))
    nearest, tokens = max(reversed(refused), key=lambda pair: common_prefix(pair[1], asked.prompt))
    return _parted(tokens, asked, earlier, tokenizer, {"never_donated": str(nearest.cause)})


def _gone(
    ghost: Ghost, outcome: Outcome, asked: Asked, earlier: Sequence[Asked], past: Past, tokenizer: Any
) -> Explanation:
    finding = why_gone(ghost, past)
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


def _also(ghost: Ghost) -> dict[str, Any]:
    """What is gone besides and would have served: by name, how long it was and which snapshot removed it."""
    by = {} if ghost.by is None else {f"{ghost.cause}_by_snapshot": ghost.by}
    return {f"{ghost.cause}_tokens": ghost.num_tokens, **by}


def _parted(
    stored: TokenVector,
    asked: Asked,
    earlier: Sequence[Asked],
    tokenizer: Any,
    more: Mapping[str, Any] | None = None,
) -> Explanation:
    finding = why_diverged(stored, asked, earlier, tokenizer)
    position = common_prefix(stored, asked.prompt)
    evidence = Evidence(
        requested_len=len(asked.prompt),
        common_len=position,
        stored_len=len(stored),
        position=position,
        message=finding.message,
        role=_role(asked, finding.message),
        stored=around(tokenizer, stored, position),
        requested=around(tokenizer, asked.prompt, position),
        details={**finding.details, **(more or {})},
    )
    return Explanation(finding.cause, evidence, position)


def _role(asked: Asked, message: int | None) -> str | None:
    if message is None or message >= len(asked.messages):
        return None
    return str(asked.messages[message]["role"])
