"""What of a turn survives into the next prompt, template by template.

Two turns are rendered as a server would see them, and their vectors compared; nothing is cached and no model runs. The
reply is what a model trained on that template says: its reasoning where it reasons, the answer, and the turn's end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from ..engine.chat import warmup_target
from ..engine.families import FAMILIES, Family, family, load_tokenizer
from ..engine.messages import Message
from ..paths import data_dir
from ..store import common_prefix
from ..store.types import CacheKey, TokenVector
from .asked import Asked
from .divergence import why_diverged

TOOLS: tuple[Mapping[str, Any], ...] = (
    {
        "type": "function",
        "function": {
            "name": "find_flight",
            "description": "Finds the flights of a day.",
            "parameters": {
                "type": "object",
                "properties": {"origin": {"type": "string"}, "day": {"type": "string"}},
                "required": ["origin", "day"],
            },
        },
    },
)
_CALL = {
    "id": "call00001",
    "type": "function",
    "function": {"name": "find_flight", "arguments": {"origin": "JFK", "day": "2024-05-16"}},
}
_SYSTEM = {"role": "system", "content": "You are the clerk of a small airline. Answer in one sentence."}
_ASK = {"role": "user", "content": "Is there a flight from JFK on the sixteenth of May?"}
_CALLS = {"role": "assistant", "content": "", "tool_calls": [_CALL]}
_RESULT = {
    "role": "tool",
    "tool_call_id": "call00001",
    "name": "find_flight",
    "content": '{"flights": ["HAT023", "HAT204"]}',
}
_ANSWER = "Yes, there are two: HAT023 and HAT204."
_NEXT = {"role": "user", "content": "Which of them is cheaper?"}
_THOUGHT = "The sixteenth is a Thursday; I look at the schedule."
_SCENES = ("chat", "reasoning", "tool call", "after a tool", "after reasoning with a tool")


@dataclass(frozen=True, slots=True)
class Survival:
    """Which vectors of a turn are prefixes of the next prompt; `why` is what broke prompt + reply, empty if nothing."""

    family: str
    mode: str
    scene: str
    prompt: bool
    completion: bool
    boundary: bool
    warmup: bool
    why: str


def scenes(family: Family, mode: str) -> tuple[str, ...]:
    """The conversations that make sense in a mode."""
    return _SCENES if mode == "thinking on" else tuple(s for s in _SCENES if "reasoning" not in s)


def survivals(family: Family, tokenizer: Any) -> Iterator[Survival]:
    """All rows of a family. A scene that its template refuses (no tools, say) is left out."""
    for mode in family.modes:
        for scene in scenes(family, mode):
            try:
                yield survival(family, tokenizer, mode, scene)
            except ValueError:
                continue


def survival(family: Family, tokenizer: Any, mode: str, scene: str) -> Survival:
    """One row. A ValueError says that the template refuses the scene."""
    tools = TOOLS if "tool" in scene else None
    if tools and not _writes_calls(family, tokenizer, mode):
        raise ValueError(f"the template of {family.name} doesn't write tool calls")
    before, reply, after = _conversation(scene)
    kwargs = family.kwargs(mode)
    asked = Asked.rendered(tokenizer, CacheKey(), before, tools, **kwargs)
    completion, text = live_reply(family, tokenizer, asked, reply)
    turn = asked.answered(completion, text)
    following = Asked.rendered(tokenizer, CacheKey(), [*before, reply, after], tools, **kwargs)
    target = warmup_target(tokenizer, before, reply, tools, **kwargs)
    vectors = (turn.prompt, turn.full, turn.prompt[: turn.history_end], target)
    prompt, whole, boundary, warmup = (_survives(vector, following.prompt) for vector in vectors)
    why = "" if whole else str(why_diverged(turn.full, following, [turn], tokenizer).cause)
    return Survival(family.name, mode, scene, prompt, whole, boundary, warmup, why)


def live_reply(family: Family, tokenizer: Any, asked: Asked, reply: Message) -> tuple[TokenVector, str]:
    """The tokens that a model would have sampled for a message, and their text without the turn's end.

    A tool call is written as the template writes it in a last message; the reasoning is opened unless the generation
    prompt did so.
    """
    said = str(reply.get("content") or "") + _calls_as_written(family, tokenizer, asked, reply)
    thought = str(reply.get("reasoning_content") or "")
    if family.think and thought:
        opens, closes = family.think
        begun = str(tokenizer.decode(asked.prompt[-8:].tolist())).rstrip().endswith(opens.rstrip())
        said = ("" if begun else opens) + thought + closes + said
    tokens = tokenizer.encode(family.lead + said + family.end, add_special_tokens=False)
    return np.asarray(tokens, np.int32), said


def _calls_as_written(family: Family, tokenizer: Any, asked: Asked, reply: Message) -> str:
    if not reply.get("tool_calls"):
        return ""
    plain = {"role": "assistant", "content": reply.get("content") or "\u2020"}
    bare, called = (
        tokenizer.apply_chat_template(
            [*asked.messages, message], tools=list(asked.tools or ()), tokenize=False, **asked.template_kwargs
        )
        for message in (plain, {**reply, "content": reply.get("content") or ""})
    )
    start = common_prefix(np.array([*map(ord, bare)]), np.array([*map(ord, called)]))
    return str(called[start:]).split(family.end)[0].strip()


def _writes_calls(family: Family, tokenizer: Any, mode: str) -> bool:
    asked = Asked.rendered(tokenizer, CacheKey(), [_SYSTEM, _ASK], TOOLS, **family.kwargs(mode))
    return bool(_calls_as_written(family, tokenizer, asked, _CALLS))


def _conversation(scene: str) -> tuple[list[Message], Message, Message]:
    """The messages before a reply, the reply as the client sends it back, and the next message."""
    answer = {"role": "assistant", "content": _ANSWER}
    reasoned = {**answer, "reasoning_content": _THOUGHT}
    if scene in ("chat", "reasoning"):
        return [_SYSTEM, _ASK], (reasoned if scene == "reasoning" else answer), _NEXT
    if scene == "tool call":
        return [_SYSTEM, _ASK], _CALLS, _RESULT
    if scene == "after a tool":
        return [_SYSTEM, _ASK, _CALLS, _RESULT], answer, _NEXT
    if scene == "after reasoning with a tool":
        return [_SYSTEM, _ASK, {**_CALLS, "reasoning_content": _THOUGHT}, _RESULT], reasoned, _NEXT
    raise ValueError(f"unknown scene {scene!r}: expected one of {', '.join(_SCENES)}")


PINNED = "template_survival.csv"


def table(names: Iterable[str] = FAMILIES, *, download: bool = False) -> Iterator[Survival]:
    """The rows of several families, each with the tokenizer that is to be had."""
    for name in names:
        yield from survivals(family(name), load_tokenizer(name, download=download))


def as_frame(rows: Iterable[Survival]) -> pl.DataFrame:
    """The table as a frame, one row a family, mode and scene."""
    return pl.DataFrame([asdict(row) for row in rows])


def pinned() -> pl.DataFrame:
    """The table as it was last written: what each real template kept, and why not."""
    return pl.read_csv(data_dir() / PINNED).with_columns(pl.col("why").fill_null(""))


def _survives(vector: TokenVector, prompt: TokenVector) -> bool:
    return common_prefix(vector, prompt) == len(vector)
