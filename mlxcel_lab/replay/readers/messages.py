"""Conversations as text: OpenAI-style messages, tau-bench, MT-Bench. Rendered, they become requests with known tokens.

Each assistant message is a reply: what stands before it is its prompt. A conversation that ends without one has a last
request whose reply isn't known, and no completion for it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ...store.types import TokenVector
from ..interner import Interner
from ..trace import Request, cut, num_ids
from .lines import Records, need

_SENTENCE = "the plan is to look at what was asked and then answer it in a few plain words without haste"


class Renderer(Protocol):
    """How messages become tokens; see `rendering` for those there are."""

    bucket: str

    def prompt(self, messages: list[dict[str, Any]], tools: Any) -> TokenVector:
        """All tokens of a request; ValueError where the template refuses it."""

    def boundary(self, messages: list[dict[str, Any]], tools: Any, prompt: TokenVector) -> int | None:
        """Where its history ends."""

    def reply(self, messages: list[dict[str, Any]], tools: Any, said: dict[str, Any]) -> TokenVector:
        """The tokens that the model forwards when it says that message; its end token isn't among them."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages of one session; `times` of its requests where they are known, seconds."""

    session: str
    messages: list[dict[str, Any]]
    tools: Any = None
    times: list[float] = field(default_factory=list)


def openai(records: Records) -> Iterator[tuple[int, Conversation]]:
    """One conversation a record: a list of messages, or an object with `messages`.

    Optional fields: `tools`; `session`, `session_id`, `user` or `id`; `time` or `timestamp` of its first request.
    """
    for number, record in records:
        try:
            record = {"messages": record} if isinstance(record, list) else record
            messages = _checked(need(record, "messages", list))
        except ValueError as error:
            records.refuse(number, str(error))
            continue
        named = (record.get(name) for name in ("session", "session_id", "user", "id"))
        session = next((str(name) for name in named if name is not None), f"record-{number}")
        start = record.get("time", record.get("timestamp"))
        times = [float(start)] if isinstance(start, int | float) else []
        yield number, Conversation(session, messages, record.get("tools"), times)


def tau_bench(records: Records) -> Iterator[tuple[int, Conversation]]:
    """tau-bench's results: one task a record, its messages in `traj`."""
    for number, record in records:
        try:
            messages = _checked(need(record, "traj", list))
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
        except ValueError as error:
            records.refuse(number, str(error))
            continue
        messages: list[dict[str, Any]] = []
        for turn in turns:
            messages += [
                {"role": "user", "content": str(turn)},
                {"role": "assistant", "content": made_up(rng, reply_words)},
            ]
        yield number, Conversation(session, messages)


def made_up(rng: random.Random, words: int) -> str:
    """Words without meaning, about as many as asked for."""
    return " ".join(rng.choices(_SENTENCE.split(), k=max(1, round(words * rng.uniform(0.5, 1.5)))))


def _checked(messages: list[Any]) -> list[dict[str, Any]]:
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ValueError(f"message {at} has no role: {message!r:.60}")
    if not messages:
        raise ValueError("no messages")
    return messages


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
        turns = [at for at, message in enumerate(talk.messages) if message["role"] == "assistant" and at]
        if talk.messages[-1]["role"] != "assistant":
            turns.append(len(talk.messages))
        _reason(talk.messages, reasoning_words, rng)
        begun = talk.times[0] if talk.times else start
        for turn, at in enumerate(turns):
            time = begun + turn * pause_seconds * rng.uniform(0.8, 1.2)
            try:
                yield _request(talk, at, time, renderer, interner)
            except ValueError as error:
                records.refuse(number, f"{talk.session}, turn {turn}: {error}")
        start += max(1, len(turns)) * pause_seconds / max(1, concurrent)


def _reason(messages: list[dict[str, Any]], words: int, rng: random.Random) -> None:
    for message in messages if words else []:
        if message["role"] == "assistant":
            message.setdefault("reasoning_content", made_up(rng, words))


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
