"""OpenAI-style messages, checked and brought into the form that chat templates expect."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Message: TypeAlias = Mapping[str, Any]
Messages: TypeAlias = Sequence[Message]
Tools: TypeAlias = Sequence[Mapping[str, Any]]


def normalise(messages: Messages) -> list[dict[str, Any]]:
    """OpenAI-style messages as templates expect them; the caller's are left alone.

    Text parts are joined, a missing content is empty, a tool call's arguments are an object rather than JSON text.
    """
    if not messages:
        raise ValueError("messages is empty: expected at least one message with a role and a content")
    return [_normalised(index, message) for index, message in enumerate(messages)]


def without_reasoning(messages: Messages) -> list[dict[str, Any]]:
    """The same messages as a model says them that doesn't reason, or whose thinking is switched off."""
    return [{name: value for name, value in m.items() if name != "reasoning_content"} for m in messages]


def _normalised(index: int, message: Message) -> dict[str, Any]:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise ValueError(f"message {index} is {message!r}: expected a mapping with a role and a content")
    made = {**message, "content": _text(index, message.get("content"))}
    if calls := message.get("tool_calls"):
        if not isinstance(calls, list | tuple):
            raise ValueError(f"message {index} has the tool_calls {calls!r}: expected a list of calls")
        made["tool_calls"] = [_called(index, call) for call in calls]
    elif "tool_calls" in made:
        del made["tool_calls"]  # an explicit null reads as "has calls" in some templates
    return made


def _text(index: int, content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        raise ValueError(
            f"message {index} has the content {content!r}: expected a text, or a list of text parts"
        )
    parts = [p.get("text") if isinstance(p, Mapping) and p.get("type") == "text" else None for p in content]
    if None in parts:
        raise ValueError(f"message {index} has a part that isn't text: images and audio aren't rendered here")
    return "".join(str(part) for part in parts)


def _called(index: int, call: Any) -> dict[str, Any]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or "name" not in function:
        raise ValueError(f"message {index} has the tool call {call!r}: expected a function with a name")
    arguments = function.get("arguments") or {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except json.JSONDecodeError as error:
            what = f"message {index} calls {function['name']} with arguments that aren't JSON"
            raise ValueError(f"{what}: {error}") from error
    return {**call, "function": {**function, "arguments": arguments}}
