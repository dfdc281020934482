"""A person's own conversations from a file: OpenAI-style messages as JSON or JSONL, gzipped or not."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..engine.messages import Message, Tools, normalise

_KEYS = ("messages", "conversation", "traj")


@dataclass(frozen=True)
class Conversation:
    """One session's messages, and the tools it was given, if the file says."""

    session: str
    messages: tuple[Message, ...]
    tools: Tools | None = None


def read_conversations(path: str | Path) -> list[Conversation]:
    """The conversations of a file.

    JSON: a list of messages, an object with `messages` (and `tools`: a request's body), or a list of such objects.
    JSONL: a message a line, or such an object a line. An object's `session`, `id` or `task_id` names the session.
    Raises ValueError that says what was expected.
    """
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"{file} isn't there: expected a JSON or JSONL file of messages")
    raw = file.read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")
    found = list(_conversations(_parsed(text, file), file.stem.split(".")[0]))
    if not found:
        raise ValueError(f"{file} holds no messages: expected objects with a role and a content")
    return found


def _parsed(text: str, file: Path) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except json.JSONDecodeError as error:
        raise ValueError(f"{file} is neither JSON nor JSONL: {error}") from error


def _conversations(data: Any, name: str) -> Iterator[Conversation]:
    if isinstance(data, Mapping):
        data = [data]
    if not isinstance(data, Sequence) or isinstance(data, str):
        raise ValueError(
            f"expected messages, got {type(data).__name__}: a list of objects with a role and a content"
        )
    if data and isinstance(data[0], Mapping) and "role" in data[0]:
        yield Conversation(name, tuple(normalise(data)))
        return
    for index, one in enumerate(data):
        messages = next((one[key] for key in _KEYS if key in one), None) if isinstance(one, Mapping) else one
        if messages is None:
            raise ValueError(f"conversation {index} has none of {', '.join(_KEYS)}: {str(one)[:80]}")
        yield Conversation(_session(one, index), tuple(normalise(messages)), _tools(one))


def _session(one: Any, index: int) -> str:
    if not isinstance(one, Mapping):
        return f"conversation {index}"
    given = next((str(one[key]) for key in ("session", "id", "task_id") if key in one), None)
    return f"conversation {index}" if given is None else f"{given} ({index})"


def _tools(one: Any) -> Tools | None:
    return one.get("tools") or None if isinstance(one, Mapping) else None
