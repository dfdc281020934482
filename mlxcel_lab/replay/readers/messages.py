"""Conversations as text: OpenAI-style messages, tau-bench, MT-Bench. Rendered, they become requests with known tokens.

Each assistant message is a reply: what stands before it is its prompt. A conversation that ends without one has a last
request whose reply isn't known, and no completion for it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from ...engine.messages import Message, Messages, Tools, normalise
from ...store.types import TokenVector
from ..interner import Interner
from ..trace import Request, cut, num_ids
from .lines import Records, need

_SENTENCE = "the plan is to look at what was asked and then answer it in a few plain words without haste"


class Renderer(Protocol):
    """How messages become tokens; see `rendering` for those there are."""

    bucket: str

    def prompt(self, messages: Messages, tools: Tools | None) -> TokenVector:
        """All tokens of a request; ValueError where the template refuses it."""

    def boundary(self, messages: Messages, tools: Tools | None, prompt: TokenVector) -> int | None:
        """Where its history ends."""

    def reply(self, messages: Messages, tools: Tools | None, said: Message) -> TokenVector:
        """The tokens that the model forwards when it says that message: the end of its turn too, as an engine does."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages of one session, checked, the tools it was given, and when it began if that is known, seconds."""

    session: str
    messages: Sequence[Message]
    tools: Tools | None = None
    start: float | None = None


_HOLDS = ("messages", "conversation", "traj")
_NAMES = ("session", "session_id", "user", "id", "task_id")


def openai(records: Records) -> Iterator[tuple[int, Conversation]]:
    """One conversation a record, a list of messages or an object with `messages`; or a message a record, one in all.

    `conversation` and `traj` stand for `messages` too. Optional fields: `tools`; `session`, `session_id`, `user`, `id`
    or `task_id`; `time` or `timestamp` of its first request. Without a name a conversation is called after its record's
    number, and one of bare messages after the file.
    """
    for number, record in _gathered(records):
        try:
            yield number, _conversation(record, f"conversation {number}")
        except ValueError as error:
            records.refuse(number, str(error))


def holds_messages(record: Any) -> bool:
    """Whether a file's record looks like one of `openai`'s."""
    if isinstance(record, list):
        return bool(record) and _is_message(record[0])
    return _is_message(record) or (isinstance(record, Mapping) and any(key in record for key in _HOLDS))


def _is_message(record: Any) -> bool:
    return isinstance(record, Mapping) and "role" in record


def _gathered(records: Records) -> Iterator[tuple[int, Any]]:
    """The records; from the first one that is a bare message on all are one conversation."""
    each = iter(records)
    for number, record in each:
        if _is_message(record):
            name = records.path.name.split(".")[0]
            record = {"session": name, "messages": [record, *(other for _, other in each)]}
        yield number, record


def _conversation(record: Any, name: str) -> Conversation:
    if isinstance(record, list):
        return Conversation(name, normalise(record))
    held = next((key for key in _HOLDS if isinstance(record, Mapping) and key in record), None)
    if isinstance(record, Mapping) and held is None:
        raise ValueError(f"none of {', '.join(_HOLDS)} is in {record!r:.60}")
    messages = normalise(need(record, held or "messages", list))
    named = (record[key] for key in _NAMES if record.get(key) is not None)
    start = record.get("time", record.get("timestamp"))
    return Conversation(
        str(next(named, name)),
        messages,
        record.get("tools") or None,
        float(start) if isinstance(start, int | float) else None,
    )


def tau_bench(records: Records) -> Iterator[tuple[int, Conversation]]:
    """tau-bench's results: one task a record, its messages in `traj`."""
    for number, record in records:
        try:
            messages = normalise(need(record, "traj", list))
            session = f"task-{need(record, 'task_id', int)}-{record.get('trial', 0)}-{number}"
        except ValueError as error:
            records.refuse(number, str(error))
            continue
        yield number, Conversation(session, messages)


def mt_bench(
    records: Records, *, reply_words: int = 150, seed: int = 0
) -> Iterator[tuple[int, Conversation]]:
    """MT-Bench's questions. The file has no answers: each is made up of about `reply_words` words."""
    rng = random.Random(seed)
    for number, record in records:
        try:
            turns = need(record, "turns", list)
            session = f"question-{need(record, 'question_id', int)}"
            messages = [
                message
                for turn in turns
                for message in (
                    {"role": "user", "content": turn},
                    {"role": "assistant", "content": made_up(rng, reply_words)},
                )
            ]
            yield number, Conversation(session, normalise(messages))
        except ValueError as error:
            records.refuse(number, str(error))


def made_up(rng: random.Random, words: int) -> str:
    """Words without meaning, about as many as asked for."""
    return " ".join(rng.choices(_SENTENCE.split(), k=max(1, round(words * rng.uniform(0.5, 1.5)))))


def rendered(
    records: Records,
    conversations: Iterator[tuple[int, Conversation]],
    renderer: Renderer,
    interner: Interner,
    *,
    reasoning_words: int = 0,
    pause_seconds: float = 30.0,
    concurrent: int = 8,
    seed: int = 0,
) -> Iterator[Request]:
    """The requests of conversations. A turn that the template refuses is a problem of its record.

    Without times of their own, conversations ask every `pause_seconds` and begin so that about `concurrent` of them are
    under way at once. `reasoning_words` gives each reply a made-up reasoning of about that length.
    """
    rng = random.Random(seed)
    start = 0.0
    for number, talk in conversations:
        talk = replace(talk, messages=_reasoning(talk.messages, reasoning_words, rng))
        turns = [at for at, message in enumerate(talk.messages) if message["role"] == "assistant" and at]
        if talk.messages[-1]["role"] != "assistant":
            turns.append(len(talk.messages))
        if not turns:
            records.refuse(number, f"{talk.session}: nothing is asked before its only reply")
        begun = start if talk.start is None else talk.start
        for turn, at in enumerate(turns):
            time = begun + turn * pause_seconds * rng.uniform(0.8, 1.2)
            try:
                yield _request(talk, at, time, renderer, interner)
            except ValueError as error:
                records.refuse(number, f"{talk.session}, turn {turn}: {error}")
        start += max(1, len(turns)) * pause_seconds / max(1, concurrent)


def _reasoning(messages: Sequence[Message], words: int, rng: random.Random) -> Sequence[Message]:
    if not words:
        return messages
    return [
        {"reasoning_content": made_up(rng, words), **message} if message["role"] == "assistant" else message
        for message in messages
    ]


def _request(talk: Conversation, at: int, time: float, renderer: Renderer, interner: Interner) -> Request:
    before = talk.messages[:at]
    prompt = renderer.prompt(before, talk.tools)
    boundary = renderer.boundary(before, talk.tools, prompt)
    answered = at < len(talk.messages)
    said = renderer.reply(before, talk.tools, talk.messages[at]) if answered else np.zeros(0, np.int32)
    runs = interner.runs(prompt, renderer.bucket)
    whole = interner.runs(np.concatenate([prompt, said]), renderer.bucket) if len(said) else runs
    return Request(
        session=talk.session,
        time=time,
        prompt=runs,
        prompt_tokens=len(prompt),
        output_tokens=len(said),
        bucket=renderer.bucket,
        kind="tool" if before[-1]["role"] == "tool" else "user",
        boundaries=[boundary] if boundary else [],
        reply=cut(whole, len(prompt), num_ids(whole)),
    )
