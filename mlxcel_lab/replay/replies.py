"""What a reply adds to the vector that is stored when it ends, for traces that hold only prompts.

The completion snapshot is worth something exactly if the next prompt goes on from it, and that is the template's doing,
which a trace of hashed blocks doesn't show. So it is a choice, made here and written into the trace's assumptions.
"""

from __future__ import annotations

from dataclasses import replace

from .trace import Request, Runs, common_ids, cut, num_ids

REPLIES = {
    "kept": "the next prompt holds the reply as it was generated, wherever it holds the prompt",
    "stripped": "no prompt holds a reply as it was generated (reasoning dropped, or rendered differently)",
    "by_turn": "a reply stays as generated through the tool turns that follow it and is rendered anew after that",
    "none": "no snapshot is taken when a reply ends",
}


def check_replies(how: str) -> None:
    """ValueError where it is none of `REPLIES`."""
    if how not in REPLIES:
        raise ValueError(f"replies {how!r} is unknown: expected one of {', '.join(REPLIES)}")


def assumed(how: str) -> str:
    """The choice in words."""
    return f"replies {how}: {REPLIES[how]}"


def replied(requests: list[Request], tokens_per_id: int, how: str) -> list[Request]:
    """The requests, in order of time, each with its completion."""
    made = []
    following = _following(requests)
    next_private = -1
    for number, request in enumerate(requests):
        later = requests[following[number]] if number in following else None
        size = _reply_ids(request, tokens_per_id) if how != "none" else 0
        reply: Runs = []
        if later is not None and (how == "kept" or (how == "by_turn" and later.kind == "tool")):
            reply = _kept(request.prompt, later.prompt, size)
        missing = size - num_ids(reply)
        if missing:
            next_private -= missing
            reply = [*reply, (next_private, missing)]
        made.append(replace(request, reply=reply))
    return made


def _following(requests: list[Request]) -> dict[int, int]:
    """For each request the number of the same conversation's next one."""
    following: dict[int, int] = {}
    last: dict[tuple[str | None, str], int] = {}
    for number, request in enumerate(requests):
        key = (request.session, request.bucket)
        if key in last:
            following[last[key]] = number
        last[key] = number
    return following


def _reply_ids(request: Request, tokens_per_id: int) -> int:
    unnamed = request.prompt_tokens - num_ids(request.prompt) * tokens_per_id
    return (unnamed + request.output_tokens) // tokens_per_id


def _kept(prompt: Runs, later: Runs, size: int) -> Runs:
    ids = num_ids(prompt)
    return cut(later, ids, ids + size) if common_ids(prompt, later) == ids else []
