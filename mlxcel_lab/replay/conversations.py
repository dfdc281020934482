"""Synthetic conversations: what each next prompt keeps of the last one, by kind, as ids without text.

Every kind is a generator of turns. A turn's prompt ends with a generation prompt, before which the history ends; fresh
ids come from a counter that all conversations of a trace share, and the system prompt's ids are the same for all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from .trace import Runs, cut, merged, num_ids

_HEADER = 4  # tokens of a generation prompt


@dataclass(frozen=True, slots=True)
class Lengths:
    """Mean lengths in tokens; each draw varies by half around its mean."""

    system: int = 1500
    user: int = 80
    reply: int = 200
    thinking: int = 300
    tool_result: int = 600
    context: int = 24_000  # an agent's history beyond it is compacted

    def __post_init__(self) -> None:
        if min(self.system, self.user, self.reply, self.thinking, self.tool_result, self.context) < 1:
            raise ValueError(f"lengths are at least 1 token each: {self}")


@dataclass(frozen=True, slots=True)
class MadeTurn:
    """One request of a conversation; `agent` names a sub-agent that makes it in a session of its own."""

    prompt: Runs
    boundary: int
    reply: Runs
    kind: str = "user"
    agent: str = ""


class Ids:
    """Hands out ranges of ids nobody else has, of lengths that vary around a mean."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self._next = rng, 0

    def fresh(self, mean: int) -> tuple[int, int]:
        count = max(1, round(mean * self.rng.uniform(0.5, 1.5)))
        return self.exactly(count)

    def exactly(self, count: int) -> tuple[int, int]:
        self._next += count
        return self._next - count, count


@dataclass
class _History:
    """What the next prompt will begin with."""

    ids: Ids
    runs: Runs = field(default_factory=list)

    def say(self, mean: int) -> None:
        self.runs = merged([*self.runs, self.ids.fresh(mean)])

    def ask(self, reply_tokens: int, kind: str = "user", agent: str = "") -> MadeTurn:
        """A request made now. The generation prompt becomes part of the history, the reply is the caller's affair."""
        boundary = num_ids(self.runs)
        prompt = merged([*self.runs, self.ids.exactly(_HEADER)])
        self.runs = prompt
        return MadeTurn(prompt, boundary, [self.ids.fresh(reply_tokens)], kind, agent)

    def keep(self, turn: MadeTurn) -> None:
        """The reply stays in the history as it was generated."""
        self.runs = merged([*turn.prompt, *turn.reply])


Kind: TypeAlias = Callable[[Ids, Runs, Lengths], Iterator[MadeTurn]]


def append_only(ids: Ids, system: Runs, lengths: Lengths) -> Iterator[MadeTurn]:
    """Chat whose template renders a reply as it was generated."""
    history = _History(ids, system)
    while True:
        history.say(lengths.user)
        turn = history.ask(lengths.reply)
        yield turn
        history.keep(turn)


def thinking(ids: Ids, system: Runs, lengths: Lengths) -> Iterator[MadeTurn]:
    """Chat whose template drops the reasoning of earlier replies."""
    history = _History(ids, system)
    while True:
        history.say(lengths.user)
        yield history.ask(lengths.thinking + lengths.reply)
        history.say(lengths.reply)


def agent(ids: Ids, system: Runs, lengths: Lengths) -> Iterator[MadeTurn]:
    """An agent: its reasoning stays while its tools answer and is dropped at the user's next turn.

    Now and then a sub-agent works in a session of its own; a history that outgrows the context is summarised.
    """
    history, rng, helpers = _History(ids, system), ids.rng, 0
    while True:
        history.say(lengths.user)
        asked = history.runs
        spoken = 0
        for step in range(rng.randint(1, 8)):
            turn = history.ask(lengths.thinking + lengths.reply, "tool" if step else "user")
            yield turn
            history.keep(turn)
            spoken += lengths.reply
            if rng.random() < 0.08:
                helpers += 1
                yield from _subagent(ids, lengths, f"agent-{helpers}")
            history.say(lengths.tool_result)
            spoken += lengths.tool_result
        history.runs = asked
        history.say(spoken)
        if num_ids(history.runs) > lengths.context:
            history.runs = system
            history.say(4 * lengths.reply)


def _subagent(ids: Ids, lengths: Lengths, name: str) -> Iterator[MadeTurn]:
    history = _History(ids)
    history.say(lengths.system)
    for _ in range(ids.rng.randint(2, 5)):
        turn = history.ask(lengths.reply, "subagent", name)
        yield turn
        history.keep(turn)
        history.say(lengths.tool_result)


def forks(ids: Ids, system: Runs, lengths: Lengths) -> Iterator[MadeTurn]:
    """Chat in which one turn in five goes back: an earlier message is edited, or a reply regenerated."""
    history = _History(ids, system)
    marks = [system]
    while True:
        history.say(lengths.user)
        turn = history.ask(lengths.reply)
        yield turn
        history.keep(turn)
        marks.append(history.runs)
        if ids.rng.random() < 0.1:
            history.runs = ids.rng.choice(marks)
        elif ids.rng.random() < 0.1:
            history.runs = cut(turn.prompt, 0, turn.boundary)
            again = history.ask(lengths.reply)
            yield again
            history.keep(again)


def volatile(ids: Ids, system: Runs, lengths: Lengths) -> Iterator[MadeTurn]:
    """Chat whose system prompt changes at token 5 with every request: nothing can ever be reused."""
    said: Runs = []
    while True:
        said = [*said, ids.fresh(lengths.user)]
        history = _History(
            ids, merged([*cut(system, 0, 5), ids.exactly(3), *cut(system, 5, num_ids(system)), *said])
        )
        turn = history.ask(lengths.reply)
        yield turn
        said = [*said, *turn.reply]


KINDS: dict[str, Kind] = {
    "append_only": append_only,
    "thinking": thinking,
    "agent": agent,
    "forks": forks,
    "volatile": volatile,
}
