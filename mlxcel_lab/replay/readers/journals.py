"""A journal of a live store, read back as the trace that made it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ...store.events import Inserted, LookedUp, Rejected
from ...store.journal import Journal
from ...store.types import CacheKey, Origin, TokenVector
from ..interner import Interner
from ..trace import Problem, Request, common_ids, cut, num_ids

_Offer = Inserted | Rejected


def journal(path: Path, problems: list[Problem], interner: Interner) -> Iterator[Request]:
    """A request a lookup, with what was donated under its key before the key's next lookup.

    A donated vector that isn't on the prompt's way is taken as a warm-up. The problems' lines are the events' `seq`.
    """
    open_requests: dict[CacheKey, Request] = {}
    for event in Journal.read(path):
        if isinstance(event, LookedUp):
            if event.key in open_requests:
                yield open_requests.pop(event.key)
            if event.tokens is None:
                problems.append(Problem(event.seq, "the lookup's tokens weren't kept"))
                continue
            open_requests[event.key] = _opened(event, event.tokens, interner)
        elif isinstance(event, _Offer):
            if event.key not in open_requests or event.tokens is None:
                problems.append(Problem(event.seq, "a snapshot without the request that donated it"))
                continue
            try:
                open_requests[event.key] = _with_offer(
                    open_requests[event.key], event, event.tokens, interner
                )
            except ValueError as error:
                problems.append(Problem(event.seq, str(error)))
    yield from open_requests.values()


def _opened(event: LookedUp, tokens: TokenVector, interner: Interner) -> Request:
    bucket = _bucket(event.key)
    runs = interner.runs(tokens, bucket)
    return Request(event.key.session, event.time, runs, len(tokens), bucket=bucket)


def _bucket(key: CacheKey) -> str:
    parts = (key.bucket.model_id, key.bucket.lora_id, key.bucket.template_sig, key.bucket.mm_digest)
    return " | ".join(part for part in parts if part)


def _with_offer(request: Request, event: _Offer, tokens: TokenVector, interner: Interner) -> Request:
    vector = interner.runs(tokens, request.bucket)
    ids, shared = num_ids(vector), common_ids(vector, request.prompt)
    if event.origin is Origin.BOUNDARY and shared == ids:
        return replace(request, boundaries=[*request.boundaries, ids])
    if event.origin is Origin.COMPLETION and shared == num_ids(request.prompt) < ids:
        reply = cut(vector, shared, ids)
        return replace(request, reply=reply, output_tokens=ids - shared)
    if event.origin is Origin.BOUNDARY and not request.warm:
        return replace(request, warm=vector)
    raise ValueError(f"a {event.origin} of {ids} tokens that no turn of this conversation donates")
