"""Where a reply's reasoning ends, in the markers that today's chat templates use."""

from __future__ import annotations

import re
from typing import Any

from ..engine.messages import Message

# (opens, closes): Qwen and its many followers, Mistral's, Seed's, Gemma 4's channel, gpt-oss's channel.
MARKERS = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis", "<|end|>"),
)
FIELDS = ("reasoning_content", "reasoning", "thinking")


def split_reasoning(text: str) -> tuple[str, str]:
    """A reply's reasoning and its answer; no reasoning is `("", text)`. An opening marker may stand in the prompt."""
    for opens, closes in MARKERS:
        head, found, answer = text.partition(closes)
        if found and (opens in head or closes.startswith("</") or closes.startswith("[/")):
            return head.replace(opens, ""), answer
        if opens in text and not found:
            return text.split(opens, 1)[1], ""
    return "", text


def has_marker(text: str) -> bool:
    return any(opens in text or (closes in text and closes != "<|end|>") for opens, closes in MARKERS)


def reasoning_of(message: Message) -> str:
    """The reasoning that a message carries, in a field of its own or inside its content."""
    separate = next((str(message[name]) for name in FIELDS if message.get(name)), "")
    return separate or split_reasoning(str(message.get("content") or ""))[0]


def says_the_same(tokenizer: Any, reply: str, message: Message) -> bool:
    """Whether a message still has the answer of the reply it was made from.

    Reasoning, surrounding whitespace and special tokens aside. A tool call agrees if the reply holds its name and each
    of its arguments' values.
    """
    answer = _plain(tokenizer, split_reasoning(reply)[1])
    if calls := message.get("tool_calls"):
        return all(_holds(answer, call["function"]) for call in calls)
    said = _plain(tokenizer, split_reasoning(str(message.get("content") or ""))[1])
    return said == answer


def _plain(tokenizer: Any, text: str) -> str:
    for special in getattr(tokenizer, "all_special_tokens", None) or ():
        text = text.replace(special, "")
    return re.sub(r"<\|\w+\|>", "", text).strip()


def _holds(answer: str, function: Message) -> bool:
    arguments = function.get("arguments") or {}
    values = arguments.values() if isinstance(arguments, dict) else [arguments]
    leaves = [leaf for value in values for leaf in _leaves(value)]
    return function["name"] in answer and all(leaf in answer for leaf in leaves)


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for v in value.values() for leaf in _leaves(v)]
    if isinstance(value, list):
        return [leaf for v in value for leaf in _leaves(v)]
    return [value] if isinstance(value, str) and value.isalnum() else []
