"""A person's own conversations from a file: OpenAI-style messages as JSON or JSONL, gzipped or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

from ..replay.readers.lines import Records
from ..replay.readers.messages import Conversation, openai


def read_conversations(path: str | Path) -> list[Conversation]:
    """The conversations of a file, in every form that traces of `openai` messages have; each a session of its own.

    JSON or JSONL: messages, lists of them, or objects with `messages` (and `tools`: a request's body). Unlike a trace,
    which counts what it can't read, a file with anything unreadable raises a ValueError that says where.
    """
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"{file} isn't there: expected a JSON or JSONL file of messages")
    records = Records(file)
    found = [conversation for _, conversation in openai(records)]
    if records.problems:
        line, reason = records.problems[0].line, records.problems[0].reason
        raise ValueError(f"{file}, record {line}: {reason}: expected messages with a role and a content")
    if not found:
        raise ValueError(f"{file} holds no messages: expected objects with a role and a content")
    return _apart(found)


def _apart(found: list[Conversation]) -> list[Conversation]:
    """Numbered where several are of one name: a rehearsal mustn't take them for one."""
    names = Counter(one.session for one in found)
    return [
        replace(one, session=f"{one.session} ({number})") if names[one.session] > 1 else one
        for number, one in enumerate(found)
    ]
