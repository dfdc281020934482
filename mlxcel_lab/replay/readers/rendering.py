"""Renderers: a tokenizer and its chat template, as a server would use them, for reading conversations into traces."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ...engine.chat import history_boundary, render, template_signature
from ...engine.messages import Message, Messages, Tools, without_reasoning
from ...store.types import CacheKey, TokenVector


class TokenizerRenderer:
    """Any tokenizer with a chat template. A reply is its text and the end of its turn; tool calls are written as JSON.

    `options` are the template's own arguments. The boundary is where the history ends.
    """

    def __init__(self, tokenizer: Any, name: str = "", **options: Any) -> None:
        self._tokenizer, self._options = tokenizer, options
        self.bucket = name or str(template_signature(tokenizer, None, **options))

    def prompt(self, messages: Messages, tools: Tools | None) -> TokenVector:
        return render(self._tokenizer, messages, tools, **self._options)

    def boundary(self, messages: Messages, tools: Tools | None, prompt: TokenVector) -> int | None:
        return history_boundary(
            self._tokenizer, messages, tools, prompt=prompt, min_prefix_tokens=1, **self._options
        )

    def reply(self, messages: Messages, tools: Tools | None, said: Message) -> TokenVector:
        text = str(said.get("content") or "")
        for call in said.get("tool_calls") or []:
            text += json.dumps(call.get("function", call))
        said_tokens = [*self._tokenizer.encode(text, add_special_tokens=False), self._tokenizer.eos_token_id]
        return np.asarray(said_tokens, np.int32)


class FamilyRenderer(TokenizerRenderer):
    """A real family's template and tokenizer (`engine.families`); replies as a model of that family would say them.

    `mode` is one of the family's: plain, thinking on, thinking off. Templates that can't write tool calls get them as
    text, and tool results as a user's message, as clients of such models do.
    """

    def __init__(self, family: str, mode: str = "", *, download: bool = False) -> None:
        from ...engine.families import FAMILIES, load_tokenizer

        if family not in FAMILIES:
            raise ValueError(f"unknown family {family!r}: expected one of {', '.join(FAMILIES)}")
        self._family = FAMILIES[family]
        mode = mode or self._family.modes[0]
        if mode not in self._family.modes:
            raise ValueError(
                f"{family} has no mode {mode!r}: expected one of {', '.join(self._family.modes)}"
            )
        tokenizer = load_tokenizer(family, download=download)
        super().__init__(tokenizer, f"{family}, {mode}", **self._family.kwargs(mode))
        self.mode = mode
        self._as_text = not self._writes_tools()

    def prompt(self, messages: Messages, tools: Tools | None) -> TokenVector:
        return super().prompt(self._fitting(messages), tools)

    def boundary(self, messages: Messages, tools: Tools | None, prompt: TokenVector) -> int | None:
        return super().boundary(self._fitting(messages), tools, prompt)

    def reply(self, messages: Messages, tools: Tools | None, said: Message) -> TokenVector:
        from ...explain.asked import Asked
        from ...explain.survival import live_reply

        asked = Asked.rendered(self._tokenizer, CacheKey(), self._fitting(messages), tools, **self._options)
        (said,) = self._fitting([said])
        tokens, _ = live_reply(self._family, self._tokenizer, asked, said)
        return tokens

    def _fitting(self, messages: Messages) -> Messages:
        if self.mode != "thinking on":
            messages = without_reasoning(messages)
        return [_without_tools(message) for message in messages] if self._as_text else messages

    def _writes_tools(self) -> bool:
        call = {
            "id": "call00001",
            "type": "function",
            "function": {"name": "look", "arguments": {"at": "this"}},
        }
        talk: list[dict[str, Any]] = [
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call00001", "name": "look", "content": "seen"},
        ]
        try:
            text = self._tokenizer.decode(render(self._tokenizer, talk, **self._options).tolist())
        except (ValueError, TypeError, KeyError):
            return False
        return "look" in text and "seen" in text


def _without_tools(message: Message) -> Message:
    calls = message.get("tool_calls") or []
    if message["role"] == "tool":
        return {"role": "user", "content": f"Result: {message.get('content') or ''}"}
    if not calls:
        return {name: value for name, value in message.items() if name != "tool_calls"}
    text = "\n".join(json.dumps(call.get("function", call)) for call in calls)
    plain = {name: value for name, value in message.items() if name != "tool_calls"}
    return plain | {"content": f"{message.get('content') or ''}{text}"}
