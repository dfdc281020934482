"""Misses with nothing under the key: is the conversation's state in another bucket, or under another session?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..engine.chat import TemplateSignature
from ..store import common_prefix
from ..store.events import Inserted
from ..store.types import Bucket
from .asked import Asked
from .causes import Cause
from .divergence import Finding
from .past import is_prefix


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


def why_elsewhere(
    asked: Asked, earlier: Sequence[Asked], inserted: Sequence[Inserted]
) -> tuple[Finding, int] | None:
    """Where this conversation's state was put instead, and how many of the request's tokens it shares."""
    return _other_bucket(asked, earlier, inserted) or _other_session(asked, inserted)


def _other_bucket(
    asked: Asked, earlier: Sequence[Asked], inserted: Sequence[Inserted]
) -> tuple[Finding, int] | None:
    session, bucket = asked.key.session, asked.key.bucket
    # Another bucket's tokens may be others from the first on: the messages say which of its keys this goes on from.
    gone_on_from = {turn.key for turn in earlier if _goes_on(asked, turn)}
    same = [
        e
        for e in inserted
        if session is not None and e.key.session == session and e.key.bucket != bucket
        if e.key in gone_on_from or is_prefix(e.tokens, asked)
    ]
    if not same:
        return None
    best = max(reversed(same), key=lambda event: _shared(event, asked))
    fields = differing_parts(best.key.bucket, bucket)
    return Finding(Cause.ANOTHER_BUCKET, details={"fields": list(fields)}), _shared(best, asked)


def _goes_on(asked: Asked, earlier: Asked) -> bool:
    """Whether a request asks all that an earlier one asked, and perhaps more."""
    length = len(earlier.messages)
    return length > 0 and asked.messages[:length] == earlier.messages


def _other_session(asked: Asked, inserted: Sequence[Inserted]) -> tuple[Finding, int] | None:
    others = [e for e in inserted if e.key.bucket == asked.key.bucket and e.key != asked.key]
    usable = [event for event in others if is_prefix(event.tokens, asked)]
    if not usable:
        return None
    best = max(reversed(usable), key=lambda event: event.num_tokens)
    details: dict[str, Any] = {"session": best.key.session, "asked_by": asked.key.session}
    return Finding(Cause.ANOTHER_SESSION, details=details), best.num_tokens


def _shared(event: Inserted, asked: Asked) -> int:
    return 0 if event.tokens is None else common_prefix(event.tokens, asked.prompt)
