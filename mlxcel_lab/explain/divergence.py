"""Why a request parts from a stored vector, from the position where it does and the messages behind both.

A stored vector is a turn's prompt, cut anywhere, or that prompt and its reply, or a warm-up's target. So a position in
it lies in the history, in the generation prompt, or in the reply:

    stored     | history ............ | generation prompt | reply ......... |
    position   < history_end            < len(prompt)       otherwise
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..engine.messages import Message
from ..store import common_prefix
from ..store.types import TokenVector
from .asked import Asked, nearest
from .causes import Cause
from .reasoning import has_marker, reasoning_of, says_the_same, split_reasoning
from .strip import AFTER, decode, retokenised
from .volatile import is_front, system_cause

_SEAM = 2  # tokens by which a message's beginning may be cut otherwise when its first characters change


@dataclass(frozen=True, slots=True)
class Finding:
    """A cause, the request's message that the divergence lies in, and what else there is to say."""

    cause: Cause
    message: int | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Parting:
    """A request, a stored vector, the turn that it came from, and the token at which they part."""

    stored: TokenVector
    asked: Asked
    donor: Asked
    position: int
    earlier: Sequence[Asked]
    tokenizer: Any

    @property
    def reply_index(self) -> int:
        """Where the donor's reply stands among the request's messages, if the client sent it back."""
        return len(self.donor.messages)

    @property
    def warmed_up(self) -> bool:
        """Whether the stored vector is a warm-up's: the donor's tokens don't hold it."""
        return common_prefix(self.stored, self.donor.full) < len(self.stored)


def why_diverged(stored: TokenVector, asked: Asked, earlier: Sequence[Asked], tokenizer: Any) -> Finding:
    """The cause for which `stored` isn't a prefix of the request."""
    position = common_prefix(stored, asked.prompt)
    if position == len(asked.prompt):
        return Finding(Cause.LONGER_THAN_REQUEST, details={"tokens_too_long": len(stored) - position})
    donor = nearest(earlier, asked.key, stored)
    if donor is None or not donor.messages or not asked.messages:
        same = retokenised(tokenizer, stored, asked.prompt, position)
        return Finding(Cause.RETOKENISED if same else Cause.UNKNOWN)
    return _with_messages(Parting(stored, asked, donor, position, earlier, tokenizer))


def _with_messages(parting: Parting) -> Finding:
    asked, donor = parting.asked, parting.donor
    changed = first_change(donor.messages, asked.messages)
    if changed is not None and _reaches(parting, changed):
        return _changed(parting, changed)
    if len(asked.messages) < len(donor.messages):
        too_long = len(parting.stored) - parting.position
        return Finding(Cause.LONGER_THAN_REQUEST, details={"goes_back": True, "tokens_too_long": too_long})
    if parting.position < donor.history_end:
        return _history_rendered_otherwise(parting)
    index = parting.reply_index
    if index >= len(asked.messages) or asked.messages[index]["role"] != "assistant":
        return Finding(Cause.HISTORY_EDITED, index, {"edit": "reply dropped"})
    if parting.position < len(donor.prompt) and not parting.warmed_up:
        scaffold = len(donor.prompt) - donor.history_end
        return Finding(Cause.GENERATION_PROMPT, details={"generation_prompt_tokens": scaffold})
    return _in_the_reply(parting, asked.messages[index])


def first_change(before: Sequence[Message], after: Sequence[Message]) -> int | None:
    """The first message in which two conversations differ, among those that both have."""
    return next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)


def _reaches(parting: Parting, changed: int) -> bool:
    """Whether the divergence is due to that message rather than to something before it."""
    return parting.position >= parting.asked.message_start(parting.tokenizer, changed) - _SEAM


def _changed(parting: Parting, index: int) -> Finding:
    before, after = parting.donor.messages, parting.asked.messages
    if is_front(after[index]) and is_front(before[index]):
        cause, details = system_cause(parting.asked, parting.donor, parting.earlier, index)
        return Finding(cause, index, details)
    if is_front(after[index]) or is_front(before[index]):
        edit = "inserted" if is_front(after[index]) else "dropped"
        return Finding(Cause.SYSTEM_CHANGED, index, {"edit": edit})
    if is_front_end(after, index) and not _anything_later_kept(parting, index):
        return Finding(Cause.OTHER_CONVERSATION, index)
    return Finding(Cause.HISTORY_EDITED, index, {"edit": _kind_of_edit(parting, index)})


def is_front_end(messages: Sequence[Message], index: int) -> bool:
    """Whether that message is the first of the talk: all before it are instructions."""
    return all(is_front(message) for message in messages[:index])


def _anything_later_kept(parting: Parting, index: int) -> bool:
    before, after = parting.donor.messages, parting.asked.messages
    later = after[index + 1 :]
    return any(m in later for m in before[index + 1 :]) or any(_is_the_reply(parting, m) for m in later)


def _kind_of_edit(parting: Parting, index: int) -> str:
    before, after = parting.donor.messages, parting.asked.messages
    if after[index] in before[index + 1 :] or _is_the_reply(parting, after[index]):
        return "messages dropped"
    return "messages inserted" if before[index] in after[index + 1 :] else "message changed"


def _is_the_reply(parting: Parting, message: Message) -> bool:
    return message["role"] == "assistant" and says_the_same(parting.tokenizer, parting.donor.text, message)


def _history_rendered_otherwise(parting: Parting) -> Finding:
    """No message changed, and yet the history is written otherwise than before."""
    if (front := _front_rendered_otherwise(parting)) is not None:
        return front
    index = parting.asked.message_at(parting.tokenizer, parting.position)
    if _reasoning_left_out(parting) or _reasoned(parting.asked.messages, index):
        return Finding(Cause.REASONING_STRIPPED, index, {"stripped_by": "the template"})
    same = retokenised(parting.tokenizer, parting.stored, parting.asked.prompt, parting.position)
    return Finding(Cause.RETOKENISED if same else Cause.RERENDERED, index)


def _front_rendered_otherwise(parting: Parting) -> Finding | None:
    """The divergence lies before the first message of the talk: who changed what the template puts there."""
    asked, tokenizer = parting.asked, parting.tokenizer
    if list(asked.tools or ()) != list(parting.donor.tools or ()):
        return Finding(Cause.SYSTEM_CHANGED, details={"edit": "tools changed"})
    for index in range(parting.reply_index, len(asked.messages)):
        if (
            is_front(asked.messages[index])
            and asked.message_start(tokenizer, index) <= parting.position + _SEAM
        ):
            return Finding(Cause.SYSTEM_CHANGED, index, {"edit": "moved to the front by the template"})
    spoken = next((i for i, m in enumerate(asked.messages) if not is_front(m)), 0)
    if parting.position < asked.message_start(tokenizer, spoken) - _SEAM:
        return Finding(Cause.VOLATILE, details={"written_by": "the template"})
    return None


def _reasoned(messages: Sequence[Message], index: int) -> bool:
    """Whether that message, or the one whose header the divergence lies in, carries reasoning."""
    return any(
        reasoning_of(message) for message in messages[index : index + 2] if message["role"] == "assistant"
    )


def _reasoning_left_out(parting: Parting) -> bool:
    stored, asked = (
        decode(parting.tokenizer, side[parting.position : parting.position + AFTER])
        for side in (parting.stored, parting.asked.prompt)
    )
    return has_marker(stored) and not has_marker(asked)


def _in_the_reply(parting: Parting, sent_back: Message) -> Finding:
    index = parting.reply_index
    if not parting.warmed_up and _reply_lost_its_reasoning(parting):
        by = "the template" if reasoning_of(sent_back) else "the client"
        return Finding(Cause.REASONING_STRIPPED, index, {"stripped_by": by})
    if retokenised(parting.tokenizer, parting.stored, parting.asked.prompt, parting.position):
        return Finding(Cause.RETOKENISED, index)
    if parting.warmed_up and _ends_within_a_token(parting):
        return Finding(Cause.RETOKENISED, parting.asked.message_at(parting.tokenizer, parting.position))
    if _is_the_reply(parting, sent_back):
        return Finding(Cause.RERENDERED, index)
    return Finding(Cause.HISTORY_EDITED, index, {"edit": "reply changed"})


def _ends_within_a_token(parting: Parting) -> bool:
    """Whether the request goes on in the stored text: what comes next joined its end in one token."""
    rest, requested = (
        decode(parting.tokenizer, side[parting.position : parting.position + AFTER])
        for side in (parting.stored, parting.asked.prompt)
    )
    return requested.startswith(rest)


def _reply_lost_its_reasoning(parting: Parting) -> bool:
    """Whether the reply's reasoning closes at or after the divergence, and the request goes on without it."""
    begin = parting.donor.history_end
    before, rest, requested = (
        decode(parting.tokenizer, side)
        for side in (
            parting.stored[begin : parting.position],
            parting.stored[parting.position :],
            parting.asked.prompt[begin:],
        )
    )
    body = " ".join(split_reasoning(before + rest)[0].split())
    gone = body not in " ".join(requested.split()) if body else _reasoning_left_out(parting)
    return has_marker(rest) and gone
