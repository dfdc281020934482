"""A turn's text as OpenAI's clients read it: content, reasoning and tool calls, whole or as a stream of deltas.

Which text is what is decided by mlx-lm's own state machine and tool parser for the model's tokenizer.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ..engine import backend  # noqa: F401  (before mlx: see there)

# isort: split
from mlx_lm.generate import TextStateMachine, make_text_state_machine

Delta = dict[str, Any]


class ReplyReader:
    """Reads a reply's text piece by piece and sorts it into content, reasoning and tool calls.

    Text is held back only while it may be the beginning of a control sequence, so a stream never shows half of one.
    """

    def __init__(self, tokenizer: Any, tools: Sequence[Mapping[str, Any]] | None) -> None:
        self._tools = tools
        self._markers = (tokenizer.tool_call_start or "", tokenizer.tool_call_end or "")
        self._parse = tokenizer.tool_parser if tools and tokenizer.has_tool_calling else None
        self._state = make_text_state_machine(tokenizer).make_state("normal")
        self._tool_text: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._content: list[str] = []
        self._reasoning: list[str] = []

    def feed(self, text: str) -> list[Delta]:
        """The deltas that a further piece of text completes."""
        self._state, segments = TextStateMachine.split(self._state, text)
        deltas: list[Delta] = []
        for index, (state, piece) in enumerate(segments):
            deltas += self._take(state, piece)
            if state == "tool" and index + 1 < len(segments):
                deltas += self._end_call()
        return deltas

    def finish(self) -> list[Delta]:
        """The deltas that were held back when the reply ended."""
        self._state, rest, state = TextStateMachine.flush(self._state)
        deltas = self._take(state, rest)
        return deltas + self._end_call() if state == "tool" else deltas

    def message(self) -> dict[str, Any]:
        """The whole reply as an assistant message; call it after `finish`."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._content)}
        if self._reasoning:
            message["reasoning_content"] = "".join(self._reasoning)
        if self._calls:
            message["tool_calls"] = [{k: v for k, v in call.items() if k != "index"} for call in self._calls]
        return message

    @property
    def called_tools(self) -> bool:
        return bool(self._calls)

    def _take(self, state: str | None, piece: str) -> list[Delta]:
        if not piece:
            return []
        if state == "tool":
            self._tool_text.append(piece)
            return []
        field, kept = (
            ("reasoning_content", self._reasoning) if state == "reasoning" else ("content", self._content)
        )
        kept.append(piece)
        return [{field: piece}]

    def _end_call(self) -> list[Delta]:
        text = "".join(self._tool_text)
        self._tool_text.clear()
        if not text:
            return []
        call = self._parsed(text)
        if call is None:  # not a call after all: the client gets what the model said
            return self._take("normal", text.join(self._markers))
        self._calls.append(call)
        return [{"tool_calls": [call]}]

    def _parsed(self, text: str) -> dict[str, Any] | None:
        if self._parse is None:
            return None
        try:
            parsed = self._parse(text, self._tools)
            name, arguments = parsed["name"], parsed.get("arguments", {})
        except (ValueError, KeyError, TypeError, AttributeError, SyntaxError):
            return None
        function = {"name": name, "arguments": json.dumps(arguments)}
        call_id = f"call_{uuid.uuid4().hex[:24]}"
        return {"index": len(self._calls), "id": call_id, "type": "function", "function": function}


def as_message(tokenizer: Any, text: str, tools: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    """A whole reply as the assistant message that a client gets, and will send back."""
    reader = ReplyReader(tokenizer, tools)
    reader.feed(text)
    reader.finish()
    return reader.message()


def usage(prompt: int, cached: int, completion: int) -> dict[str, Any]:
    """Token counts with the cached part of the prompt where OpenAI has it."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


class Envelope:
    """What every body and chunk of one reply shares: its id, its time, its model."""

    def __init__(self, model: str) -> None:
        self._shared = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}

    def completion(
        self, message: Mapping[str, Any], finish: str, counts: Mapping[str, Any]
    ) -> dict[str, Any]:
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        return {**self._shared, "object": "chat.completion", "choices": [choice], "usage": counts}

    def chunk(self, delta: Delta, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**self._shared, "object": "chat.completion.chunk", "choices": [choice]}

    def usage_chunk(self, counts: Mapping[str, Any]) -> dict[str, Any]:
        return {**self._shared, "object": "chat.completion.chunk", "choices": [], "usage": counts}
