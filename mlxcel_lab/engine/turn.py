"""What was asked of a turn and what came of it, as plain values."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..store.events import Event, Inserted, Rejected, Removed
from ..store.types import CacheKey, Diverged, Hit, Outcome, TokenVector
from .messages import Message, Messages, Tools
from .reply import Sampling

DEFAULT_MAX_TOKENS = 64


@dataclass(frozen=True)
class Request:
    """One turn as asked for. A scripted `reply` is a text (the turn's end is added) or exact token ids."""

    messages: Messages
    session: str | None = None
    max_tokens: int | None = None
    tools: Tools | None = None
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    sampling: Sampling = field(default_factory=Sampling)
    stop: tuple[str, ...] = ()
    reply: str | tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None and (
            isinstance(self.max_tokens, bool) or not isinstance(self.max_tokens, int) or self.max_tokens < 1
        ):
            raise ValueError(f"max_tokens={self.max_tokens!r}: expected a whole number, 1 or more")
        if self.session is not None and not isinstance(self.session, str):
            raise TypeError(f"session={self.session!r}: expected a string or None")
        if any(not isinstance(one, str) or not one for one in self.stop):
            raise ValueError(f"stop={self.stop!r}: expected strings that aren't empty")

    def script(self, tokenizer: Any) -> list[int] | None:
        """The given reply's token ids, None where the model shall speak. An empty reply is the bare end of a turn."""
        if self.reply is None:
            return None
        if isinstance(self.reply, str):
            said: list[int] = tokenizer.encode(self.reply, add_special_tokens=False)
            return [*said, tokenizer.eos_token_id]
        if not self.reply:
            raise ValueError("reply is empty: expected a text, or at least one token id")
        return [int(token) for token in self.reply]


@dataclass(frozen=True, eq=False, kw_only=True)
class Turn:
    """One turn of a conversation: what was reused, what was said, and what the store did about it.

    `prompt` and `completion` are the exact tokens that were forwarded; the completion includes the stop token, the
    text doesn't. Token counts are counts, times are seconds. `reason` says the outcome in words. `boundary_tokens` is
    where the history ends in the prompt, where a boundary snapshot was taken or would have been; None without one.
    `key` and `request` are what was asked, and under which key the store was.
    """

    session: str | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    prompt: TokenVector
    completion: TokenVector
    text: str
    outcome: Outcome
    reason: str
    events: tuple[Event, ...]
    seconds_to_first_token: float
    seconds: float
    finish_reason: str
    boundary_tokens: int | None = None
    key: CacheKey = field(default_factory=CacheKey)
    request: Request | None = field(default=None, repr=False)

    def figures(self, last_message: Message | None = None) -> dict[str, Any]:
        """The turn as plain JSON values, for the journal."""
        names = (
            "session", "prompt_tokens", "cached_tokens", "completion_tokens", "boundary_tokens", "text", "reason",
            "finish_reason", "seconds_to_first_token", "seconds",
        )  # fmt: skip
        return {
            **{name: getattr(self, name) for name in names},
            "outcome": outcome_name(self.outcome),
            "message": dict(last_message or {}),
            "inserted": [event.snapshot_id for event in self.events if isinstance(event, Inserted)],
            "removed": [event.snapshot_id for event in self.events if isinstance(event, Removed)],
            "rejected": [event.reason.value for event in self.events if isinstance(event, Rejected)],
        }

    def __repr__(self) -> str:
        return (
            f"Turn({self.session!r}: {self.cached_tokens} of {self.prompt_tokens} prompt tokens cached, "
            f"{self.completion_tokens} said, {outcome_name(self.outcome)}, {self.finish_reason}, "
            f"{self.seconds * 1000:.0f} ms, {shorten(self.text)!r})"
        )

    def _repr_html_(self) -> str:
        share = self.cached_tokens / self.prompt_tokens
        bar = (
            f'<div style="width:160px;height:8px;border:1px solid;border-radius:4px;opacity:.7">'
            f'<div style="width:{share:.0%};height:8px;background:currentColor"></div></div>'
        )
        rows = (
            ("session", html.escape(str(self.session))),
            ("prompt", f"{self.cached_tokens:,} of {self.prompt_tokens:,} tokens cached {bar}"),
            ("outcome", html.escape(self.reason)),
            (
                "reply",
                f"{self.completion_tokens:,} tokens, {self.finish_reason}: {html.escape(shorten(self.text, 200))}",
            ),
            (
                "time",
                f"{self.seconds_to_first_token * 1000:.0f} ms to the first token, {self.seconds * 1000:.0f} ms",
            ),
        )
        return (
            "<table>"
            + "".join(f"<tr><th>{name}</th><td>{cell}</td></tr>" for name, cell in rows)
            + "</table>"
        )


def outcome_name(outcome: Outcome) -> str:
    """The journal's name of an outcome: hit, diverged or no_candidate."""
    if isinstance(outcome, Hit):
        return "hit"
    return "diverged" if isinstance(outcome, Diverged) else "no_candidate"


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


def vector(tokens: Sequence[int]) -> TokenVector:
    """Tokens as the store's read-only int32 vector."""
    made = np.array(tokens, dtype=np.int32)
    made.setflags(write=False)
    return made
