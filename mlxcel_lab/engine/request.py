"""What is asked of a turn, checked before anything happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..store import as_tokens
from .messages import Messages, Tools
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
    reply: str | Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None and (
            isinstance(self.max_tokens, bool) or not isinstance(self.max_tokens, int) or self.max_tokens < 1
        ):
            raise ValueError(f"max_tokens={self.max_tokens!r}: expected a whole number, 1 or more")
        if self.session is not None and not isinstance(self.session, str):
            raise TypeError(f"session={self.session!r}: expected a string or None")
        if any(not isinstance(one, str) or not one for one in self.stop):
            raise ValueError(f"stop={self.stop!r}: expected strings that aren't empty")
        if self.reply is not None and not isinstance(self.reply, str):
            object.__setattr__(self, "reply", _ids(self.reply))

    def script(self, tokenizer: Any) -> list[int] | None:
        """The given reply's token ids, None where the model shall speak. An empty reply is the bare end of a turn."""
        if self.reply is None:
            return None
        if isinstance(self.reply, str):
            said: list[int] = tokenizer.encode(self.reply, add_special_tokens=False)
            return [*said, tokenizer.eos_token_id]
        return [*self.reply]


def _ids(reply: Sequence[int]) -> tuple[int, ...]:
    try:
        tokens = as_tokens(reply)
    except (TypeError, ValueError) as error:
        raise type(error)(f"reply: {error}") from None
    if not len(tokens):
        raise ValueError("reply is empty: expected a text, or at least one token id")
    return tuple(tokens.tolist())
