"""What a turn asked and said, as an explanation needs it, and where each message lies in its tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..engine.chat import PROBES, history_boundary, render
from ..engine.messages import Message, Messages, Tools, normalise
from ..store import common_prefix
from ..store.types import CacheKey, TokenVector

_NOTHING = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class Asked:
    """One request of a conversation and the reply to it.

    `prompt` and `completion` are tokens, `text` is the reply as the client got it. `messages`, `tools` and
    `template_kwargs` made the prompt; without messages only what tokens alone show can be explained. `history_end` is
    the token at which the prompt's history ended when it was asked (a template with a clock renders otherwise later).
    """

    key: CacheKey
    prompt: TokenVector
    completion: TokenVector = field(default_factory=lambda: _NOTHING)
    history_end: int = 0
    messages: tuple[Message, ...] = ()
    text: str = ""
    tools: Tools | None = None
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def rendered(
        cls,
        tokenizer: Any,
        key: CacheKey,
        messages: Messages,
        tools: Tools | None = None,
        **template_kwargs: Any,
    ) -> Asked:
        """A request that hasn't been answered yet."""
        prompt = render(tokenizer, messages, tools, **template_kwargs)
        found = history_boundary(
            tokenizer, messages, tools, prompt=prompt, min_prefix_tokens=0, **template_kwargs
        )
        end = len(prompt) if found is None else found
        return cls(key, prompt, _NOTHING, end, tuple(normalise(messages)), "", tools, template_kwargs)

    @classmethod
    def of(cls, turn: Any, tokenizer: Any) -> Asked:
        """What an engine's `Turn` asked, and its reply."""
        request = turn.request
        asked = cls.rendered(tokenizer, turn.key, request.messages, request.tools, **request.template_kwargs)
        return replace(asked, prompt=turn.prompt).answered(turn.completion, turn.text)

    def answered(self, completion: TokenVector, text: str) -> Asked:
        """The same request with its reply."""
        return replace(self, completion=np.asarray(completion, np.int32), text=text)

    @cached_property
    def full(self) -> TokenVector:
        """All that was computed: prompt and reply."""
        return np.concatenate([self.prompt, self.completion])

    def message_start(self, tokenizer: Any, index: int) -> int:
        """The token at which a message's content begins: what the rendering shares whatever that message says."""
        starts = [self._shared_with(tokenizer, index, probe) for probe in PROBES]
        return min(starts)

    def message_at(self, tokenizer: Any, position: int) -> int:
        """The index of the last message whose content begins at or before a token; they begin one after another."""
        after = bisect_right(
            range(len(self.messages)), position, key=lambda index: self.message_start(tokenizer, index)
        )
        return max(0, after - 1)

    def _shared_with(self, tokenizer: Any, index: int, probe: str) -> int:
        changed = [*self.messages]
        changed[index] = {**changed[index], "content": probe}
        try:
            other = render(tokenizer, changed, self.tools, **self.template_kwargs)
        except ValueError:
            return len(self.prompt)
        return common_prefix(self.prompt, other)


def nearest(earlier: Sequence[Asked], key: CacheKey, stored: TokenVector) -> Asked | None:
    """The earlier request under that key that `stored` came from: shares most of it, the latest of equals."""
    same_key = [asked for asked in earlier if asked.key == key]
    return max(reversed(same_key), key=lambda asked: common_prefix(asked.full, stored), default=None)
