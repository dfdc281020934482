"""The vocabulary of misses: every cause that is told apart, its evidence as plain data, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Cause(StrEnum):
    """Why a request got less of its cached state than it could have had."""

    GENERATION_PROMPT = "generation_prompt"
    REASONING_STRIPPED = "reasoning_stripped"
    RETOKENISED = "retokenised"
    RERENDERED = "rerendered"
    HISTORY_EDITED = "history_edited"
    OTHER_CONVERSATION = "other_conversation"
    SYSTEM_CHANGED = "system_changed"
    VOLATILE = "volatile"
    ANOTHER_BUCKET = "another_bucket"
    ANOTHER_SESSION = "another_session"
    TOO_SHORT = "too_short"
    OVERSIZED = "oversized"
    DISABLED = "disabled"
    DECLINED = "declined"
    EVICTED = "evicted"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    CLEARED = "cleared"
    LONGER_THAN_REQUEST = "longer_than_request"
    FIRST_REQUEST = "first_request"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A cause in words: its short name, what happened, and what an operator would change."""

    name: str
    what: str
    advice: str


_BOUNDARY = (
    "Donate a boundary snapshot (boundary on): it ends before the generation prompt, where the history ends."
)

MEANINGS: dict[Cause, Meaning] = {
    Cause.GENERATION_PROMPT: Meaning(
        "generation prompt not in history",
        "the generation prompt that the reply was sampled after isn't in the history's rendering",
        _BOUNDARY,
    ),
    Cause.REASONING_STRIPPED: Meaning(
        "reasoning stripped",
        "the reply's reasoning was sampled, and the next rendering drops it from the history",
        _BOUNDARY + " A warm-up covers the answer without its reasoning, too.",
    ),
    Cause.RETOKENISED: Meaning(
        "re-tokenised",
        "the same text was cut into other tokens than those that were sampled",
        "Warm up after the reply (warmup on): its target has the tokens of the next rendering.",
    ),
    Cause.RERENDERED: Meaning(
        "re-rendered by the template",
        "the message is unchanged, but the template writes it otherwise in the history than when it was live",
        "Warm up after the reply (warmup on), and donate boundary snapshots.",
    ),
    Cause.HISTORY_EDITED: Meaning(
        "history edited",
        "an earlier message is no longer what it was",
        "Let the client append only: send back each reply and tool result as it was, and cut nothing in the middle.",
    ),
    Cause.OTHER_CONVERSATION: Meaning(
        "another conversation under this session",
        "no message after the system prompt agrees: another conversation, or one started over, uses this session key",
        "Give each conversation a session key of its own.",
    ),
    Cause.SYSTEM_CHANGED: Meaning(
        "system prompt changed",
        "the system prompt is another one",
        "Keep the system prompt fixed for a conversation; put what changes into the newest message.",
    ),
    Cause.VOLATILE: Meaning(
        "volatile field in the system prompt",
        "a field near the front changes from request to request: a date, a counter, an id",
        "Move the field out of the system prompt, behind the history, or freeze it for the conversation.",
    ),
    Cause.ANOTHER_BUCKET: Meaning(
        "another bucket",
        "the conversation's states are stored under another model, adapter, template, tools, options or media",
        "Keep tools and template options the same for all requests of a conversation.",
    ),
    Cause.ANOTHER_SESSION: Meaning(
        "another session",
        "a usable state is stored under another session key, and sessions never share",
        "Send the same session key with every request of a conversation.",
    ),
    Cause.TOO_SHORT: Meaning(
        "never donated: too short",
        "the state that would have served was shorter than min_prefix_tokens",
        "Lower min_prefix_tokens if prefixes this short are worth keeping.",
    ),
    Cause.OVERSIZED: Meaning(
        "never donated: oversized",
        "the state that would have served was larger than the whole budget",
        "Raise snapshot_capacity_bytes above the size of one snapshot.",
    ),
    Cause.DISABLED: Meaning(
        "never donated: cache disabled",
        "the cache is disabled",
        "Enable the prompt cache.",
    ),
    Cause.DECLINED: Meaning(
        "never donated: declined by the rule",
        "the supersede rule in force declined the state that would have served",
        "Look at what the rule has learnt, or set a rule that admits everything.",
    ),
    Cause.EVICTED: Meaning(
        "evicted",
        "the state that would have served was evicted for the budget",
        "Raise the budget by what was missing, or serve fewer conversations at once.",
    ),
    Cause.EXPIRED: Meaning(
        "expired",
        "the state that would have served had been idle for longer than the TTL",
        "Raise snapshot_ttl_seconds above the conversations' pauses.",
    ),
    Cause.SUPERSEDED: Meaning(
        "superseded",
        "a longer snapshot of the conversation replaced the one that would have served, and doesn't serve itself",
        "Supersede per origin (supersede=origin), so that a completion can't delete a boundary.",
    ),
    Cause.CLEARED: Meaning(
        "cleared",
        "the store was cleared since",
        "Nothing to change, unless something clears the store by mistake.",
    ),
    Cause.LONGER_THAN_REQUEST: Meaning(
        "longer than the request",
        "the stored state holds the whole request and more, and this family can't be cut back",
        "Donate boundary snapshots, and keep one at each turn (supersede=off) where people go back in a conversation.",
    ),
    Cause.FIRST_REQUEST: Meaning(
        "first request",
        "nothing of this conversation was ever stored",
        "Nothing to change: a conversation's first request is always cold.",
    ),
    Cause.UNKNOWN: Meaning(
        "unknown",
        "the messages behind the stored state aren't known",
        "Explain with the earlier requests' messages (`earlier=`).",
    ),
}


@dataclass(frozen=True, slots=True)
class Piece:
    """One token of a strip: its position in its vector, its id, its text."""

    index: int
    token: int
    text: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What an explanation rests on. Lengths and positions are in tokens.

    `position` is where request and stored vector part. `stored` and `requested` are the tokens of both sides around it.
    `message` is the index of the request's message it lies in, `role` that message's. `details` holds what else the
    cause has to say, as plain JSON values.
    """

    requested_len: int
    common_len: int = 0
    stored_len: int = 0
    position: int | None = None
    message: int | None = None
    role: str | None = None
    stored: tuple[Piece, ...] = ()
    requested: tuple[Piece, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a request was served no more than it was; `lost_tokens` of its tokens had been computed before."""

    cause: Cause
    evidence: Evidence
    lost_tokens: int = 0

    @property
    def what(self) -> str:
        return MEANINGS[self.cause].what

    @property
    def advice(self) -> str:
        return MEANINGS[self.cause].advice

    def __repr__(self) -> str:
        return f"Explanation({MEANINGS[self.cause].name}: {self.sentence})"

    @property
    def sentence(self) -> str:
        """What happened, where, and by how much, in one sentence."""
        seen = self.evidence
        where = [] if seen.position is None else [f"at token {seen.position} of {seen.requested_len}"]
        if seen.message is not None:
            where.append(f"in message {seen.message} ({seen.role})")
        where += [f"{name.replace('_', ' ')} {value}" for name, value in seen.details.items()]
        return f"{self.what} ({', '.join(where)})" if where else self.what
