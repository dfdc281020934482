"""Misses with nothing under the key: was it stored in another bucket, under another session, or never at all?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..engine.chat import TemplateSignature, common_prefix
from ..store.events import Event, Inserted, Rejected
from ..store.types import Bucket, CacheKey, RejectReason
from .asked import Asked
from .causes import Cause
from .divergence import Finding

REJECTIONS: dict[RejectReason, Cause] = {
    RejectReason.DISABLED: Cause.DISABLED,
    RejectReason.PREFIX_TOO_SHORT: Cause.TOO_SHORT,
    RejectReason.OVERSIZED: Cause.OVERSIZED,
    RejectReason.RULE: Cause.DECLINED,
}


def differing_parts(one: Bucket, other: Bucket) -> tuple[str, ...]:
    """The fields in which two buckets differ; a template signature is told by its parts."""
    fields = one.differing_fields(other)
    if "template_sig" not in fields:
        return fields
    try:
        parts = TemplateSignature.parse(one.template_sig).differing(
            TemplateSignature.parse(other.template_sig)
        )
    except ValueError:
        return fields
    return tuple(f for f in fields if f != "template_sig") + parts


def why_nothing_there(asked: Asked, events: Iterable[Event]) -> tuple[Finding, int]:
    """The cause, and how many of the request's tokens lie elsewhere, for a key that never had a snapshot."""
    seen = list(events)
    inserted = [event for event in seen if isinstance(event, Inserted)]
    for find in (_other_bucket, _other_session):
        if (found := find(asked, inserted)) is not None:
            return found
    rejected = [event for event in seen if isinstance(event, Rejected) and event.key == asked.key]
    if rejected:
        last = rejected[-1]
        details = {"offered_tokens": last.num_tokens, "offered_bytes": last.size_bytes}
        return Finding(REJECTIONS[last.reason], details=details), 0
    return Finding(Cause.FIRST_REQUEST), 0


def _other_bucket(asked: Asked, inserted: Sequence[Inserted]) -> tuple[Finding, int] | None:
    session, bucket = asked.key.session, asked.key.bucket
    same = [
        e for e in inserted if session is not None and e.key.session == session and e.key.bucket != bucket
    ]
    if not same:
        return None
    best = max(reversed(same), key=lambda event: _shared(event, asked))
    fields = differing_parts(best.key.bucket, bucket)
    return Finding(Cause.ANOTHER_BUCKET, details={"fields": list(fields)}), _shared(best, asked)


def _other_session(asked: Asked, inserted: Sequence[Inserted]) -> tuple[Finding, int] | None:
    others = [e for e in inserted if e.key.bucket == asked.key.bucket and e.key != asked.key]
    usable = [event for event in others if _shared(event, asked) == event.num_tokens]
    if not usable:
        return None
    best = max(reversed(usable), key=lambda event: event.num_tokens)
    details: dict[str, Any] = {"session": best.key.session, "asked_by": asked.key.session}
    return Finding(Cause.ANOTHER_SESSION, details=details), best.num_tokens


def _shared(event: Inserted, asked: Asked) -> int:
    return 0 if event.tokens is None else common_prefix(event.tokens, asked.prompt)


def under_key(key: CacheKey, events: Iterable[Event]) -> list[Inserted]:
    """What was ever stored under a key, with its tokens, oldest first."""
    return [e for e in events if isinstance(e, Inserted) and e.key == key and e.tokens is not None]
