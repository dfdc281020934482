"""A turn's outcome, its end and the store's doings in words, from what the engine and the store alone can tell."""

from __future__ import annotations

from collections.abc import Iterable

from ..store.events import Event, Inserted, Rejected, Removed
from ..store.types import Diverged, Hit, Outcome
from ..store.words import sentence

_ENDINGS = {"stop": "ended by itself", "length": "cut off at max_tokens", "cancelled": "cancelled"}


def reason(outcome: Outcome, prompt_tokens: int) -> str:
    """An outcome in words, from what the store alone can tell."""
    if isinstance(outcome, Hit):
        cut = f", cut from {outcome.snapshot.num_tokens}" if outcome.truncated else ""
        return f"reused {outcome.cached_tokens} of {prompt_tokens} tokens (a {outcome.snapshot.origin} snapshot{cut})"
    gone = (
        ""
        if outcome.ghost is None
        else f"; one of {outcome.ghost.num_tokens} tokens was {outcome.ghost.cause}"
    )
    if not isinstance(outcome, Diverged):
        return f"nothing is stored under this key{gone}"
    if outcome.common_prefix_len == prompt_tokens:
        return f"the nearest snapshot is longer than the request ({outcome.stored_len} tokens){gone}"
    where = f"agrees for {outcome.common_prefix_len} of its {outcome.stored_len} tokens"
    if outcome.common_prefix_len == outcome.stored_len:
        return f"the nearest snapshot {where}, too few to serve{gone}"
    return f"the nearest snapshot {where}, then diverges{gone}"


def shorten(text: str, width: int = 40) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"


def ending(finish_reason: str) -> str:
    """How a reply ended."""
    return _ENDINGS.get(finish_reason, finish_reason)


def store_did(events: Iterable[Event]) -> str:
    """What a turn's donations did to the store, in order."""
    did = [sentence(event) for event in events if isinstance(event, Inserted | Removed | Rejected)]
    return "; ".join(did) or "nothing was donated"
