"""What came of a turn, as plain values."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

from ..store.events import Event, Inserted, Rejected, Removed
from ..store.types import CacheKey, Outcome, TokenVector
from .messages import Message
from .request import Request
from .words import ending, shorten, store_did


@dataclass(frozen=True, eq=False, kw_only=True)
class Turn:
    """One turn of a conversation: what was reused, what was said, and what the store did about it.

    `prompt` and `completion` are the exact tokens that were forwarded; the completion includes the stop token, the
    text doesn't. Token counts are counts, times are seconds; `seconds_donating` is what of them went into taking
    snapshots and giving them to the store. `reason` says the outcome in words. `boundary_tokens` is
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
    seconds_donating: float
    finish_reason: str
    boundary_tokens: int | None = None
    key: CacheKey = field(default_factory=CacheKey)
    request: Request | None = field(default=None, repr=False)

    def figures(self, last_message: Message | None = None) -> dict[str, Any]:
        """The turn as plain JSON values, for the journal."""
        names = (
            "session", "prompt_tokens", "cached_tokens", "completion_tokens", "boundary_tokens", "text", "reason",
            "finish_reason", "seconds_to_first_token", "seconds", "seconds_donating",
        )  # fmt: skip
        return {
            **{name: getattr(self, name) for name in names},
            "outcome": self.outcome.name,
            "message": dict(last_message or {}),
            "inserted": [event.snapshot_id for event in self.events if isinstance(event, Inserted)],
            "removed": [event.snapshot_id for event in self.events if isinstance(event, Removed)],
            "rejected": [event.reason.value for event in self.events if isinstance(event, Rejected)],
        }

    def __repr__(self) -> str:
        return (
            f"Turn({self.session!r}: {self.cached_tokens} of {self.prompt_tokens} prompt tokens cached, "
            f"{self.completion_tokens} said, {self.outcome.name}, {self.finish_reason}, "
            f"{self.seconds * 1000:.0f} ms, {shorten(self.text)!r})"
        )

    def _repr_html_(self) -> str:
        said = f"{self.completion_tokens:,} tokens, {ending(self.finish_reason)}: {shorten(self.text, 200)}"
        times = f"{self.seconds_to_first_token * 1000:.0f} ms to the first token, {self.seconds * 1000:.0f} ms in all"
        rows = {
            "session": html.escape("none" if self.session is None else self.session),
            "prompt": f"{self.cached_tokens:,} of {self.prompt_tokens:,} tokens cached {self._bar()}",
            "outcome": html.escape(self.reason),
            "reply": html.escape(said),
            "store": html.escape(store_did(self.events)),
            "time": times,
        }
        left = 'style="text-align:left"'
        body = "".join(
            f"<tr><th {left}>{name}</th><td {left}>{cell}</td></tr>" for name, cell in rows.items()
        )
        return f"<table>{body}</table>"

    def _bar(self) -> str:
        share = self.cached_tokens / self.prompt_tokens
        return (
            '<div style="width:160px;height:8px;border:1px solid;border-radius:4px;opacity:.7">'
            f'<div style="width:{share:.0%};height:8px;background:currentColor"></div></div>'
        )
