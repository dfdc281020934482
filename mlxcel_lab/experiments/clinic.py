"""A clinic of misses: for every cause a conversation that shows it, on a dry engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..config import PromptCacheConfig
from ..engine import Engine, Turn, load_dry
from ..engine.messages import Message
from ..engine.models import chat_template_text
from ..explain import Asked, Cause, Explanation, explain, lookup_seq
from ..store import SnapshotStore
from ..store.rules import PerOrigin, SupersedeRule
from ..store.types import CacheKey, Snapshot

SYSTEM: Message = {
    "role": "system",
    "content": "You are the clerk of a small harbour. Answer in one short sentence.",
}
ASK: Message = {"role": "user", "content": "Is the ferry to the island running today?"}
FOLLOW: Message = {"role": "user", "content": "And tomorrow morning?"}
ANSWER = "Yes, it leaves at noon."
FIRST = [SYSTEM, ASK]
TOOL = {
    "type": "function",
    "function": {"name": "timetable", "description": "The ferries of a day.", "parameters": {}},
}


def said(text: str = ANSWER) -> Message:
    return {"role": "assistant", "content": text}


NEXT = [*FIRST, said(), FOLLOW]


class Desk:
    """A store, a dry engine and the turns taken so far; `now` is the store's clock in seconds."""

    def __init__(self, template: str = "plain", rule: SupersedeRule | None = None, **settings: Any) -> None:
        self.now = 0.0
        config = PromptCacheConfig(**{"min_prefix_tokens": 8, "boundary": False, "warmup": False, **settings})
        self.store = SnapshotStore(config, clock=lambda: self.now, rule=rule)
        self.engine = Engine(load_dry("gated-delta", template=template), self.store)
        self.asked: list[Asked] = []

    def turn(
        self, messages: list[Message], reply: Any = ANSWER, session: str = "ann", **options: Any
    ) -> Turn:
        """Ask, and get `reply`: a text, or exact token ids."""
        turn = self.engine.chat(messages, session, reply=reply, **options)
        self.asked.append(Asked.of(turn, self.engine.model.tokenizer))
        return turn

    def why(self, messages: list[Message], session: str = "ann", **options: Any) -> Explanation:
        """Ask once more, and say why it missed. A request that hits raises a ValueError."""
        turn = self.turn(messages, session=session, **options)
        *earlier, asked = self.asked
        return explain(
            turn.outcome,
            asked,
            tokenizer=self.engine.model.tokenizer,
            earlier=earlier,
            journal=self.store.journal,
            seq=lookup_seq(turn.events),
        )


@dataclass(frozen=True)
class Case:
    """A conversation that shows a cause: what happens in it, and the explanation of its last request."""

    cause: Cause
    story: str
    told: Explanation


def clinic() -> Iterator[Case]:
    """All cases, in the order in which an explanation looks for them."""
    for cause, case in _CASES.items():
        yield Case(cause, (case.__doc__ or "").strip(), case())


def _first_request() -> Explanation:
    """Ann asks for the first time."""
    return Desk().why(FIRST)


def _generation_prompt() -> Explanation:
    """The template opens a think block in the generation prompt, and leaves none in the history."""
    desk = Desk("thinking")
    desk.turn(FIRST)
    return desk.why(NEXT)


def _reasoning_stripped() -> Explanation:
    """The reply reasons before it answers; the next rendering keeps the answer alone."""
    desk = Desk(chat_template_text("thinking").replace("{% else %}<think>\n", "{% else %}"))
    thought = f"<think>\nThe harbour master said so.\n</think>\n\n{ANSWER}"
    desk.turn(FIRST, thought)
    return desk.why([*FIRST, said(thought), FOLLOW])


def _retokenised() -> Explanation:
    """The model said 'fer' and 'ry'; the tokenizer writes the same word as one token."""
    desk = Desk()
    words = desk.engine.model.tokenizer
    sampled = [*words.encode(" fe", add_special_tokens=False), *words.encode("rry", add_special_tokens=False)]
    desk.turn(FIRST, sampled)
    return desk.why([*FIRST, said(" ferry"), FOLLOW])


def _rerendered() -> Explanation:
    """The template trims every message; the reply ended in a line break."""
    desk = Desk(
        chat_template_text("plain").replace(
            "{{ message.content or '' }}", "{{ (message.content or '') | trim }}"
        )
    )
    desk.turn(FIRST, ANSWER + "\n")
    return desk.why([*FIRST, said(ANSWER + "\n"), FOLLOW])


def _history_edited() -> Explanation:
    """The client shortens an old reply before it asks again."""
    desk = Desk()
    desk.turn(FIRST)
    desk.turn(NEXT, "Yes, at nine.")
    return desk.why(
        [*FIRST, said("Yes."), FOLLOW, said("Yes, at nine."), {"role": "user", "content": "Thanks!"}]
    )


def _other_conversation() -> Explanation:
    """Two people's talk comes in under one session key."""
    desk = Desk()
    desk.turn(FIRST)
    return desk.why([SYSTEM, {"role": "user", "content": "Where can I buy a ticket?"}])


def _system_changed() -> Explanation:
    """The operator rewrites the system prompt in mid-conversation."""
    desk = Desk()
    desk.turn(FIRST)
    return desk.why([{"role": "system", "content": "Be brief and kind."}, *NEXT[1:]])


def _volatile() -> Explanation:
    """The system prompt carries the time of day."""
    desk = Desk()

    def clock(now: str) -> Message:
        return {**SYSTEM, "content": f"It is {now} now. {SYSTEM['content']}"}

    desk.turn([clock("10:31"), *FIRST[1:]])
    desk.turn([clock("10:32"), *NEXT[1:]])
    return desk.why([clock("10:33"), *NEXT[1:], said(), {"role": "user", "content": "Thanks!"}])


def _another_bucket() -> Explanation:
    """The second request brings a tool along."""
    desk = Desk()
    desk.turn(FIRST)
    return desk.why(NEXT, tools=[TOOL])


def _another_session() -> Explanation:
    """The client loses its session key and makes up a new one."""
    desk = Desk()
    desk.turn(FIRST)
    return desk.why(NEXT, session="ann again")


def _too_short() -> Explanation:
    """min_prefix_tokens is above the conversation's length."""
    desk = Desk(min_prefix_tokens=500)
    desk.turn(FIRST)
    return desk.why(NEXT)


def _oversized() -> Explanation:
    """The whole budget is smaller than one snapshot."""
    desk = Desk(snapshot_capacity_bytes=1000)
    desk.turn(FIRST)
    return desk.why(NEXT)


def _disabled() -> Explanation:
    """The cache is switched off."""
    desk = Desk(enabled=False)
    desk.turn(FIRST)
    return desk.why(NEXT)


class _Declining(PerOrigin):
    name = "declines completions"

    def admits(self, key: CacheKey, newcomer: Snapshot) -> bool:
        return False


def _declined() -> Explanation:
    """The rule in force admits no completion, though this template would keep them."""
    desk = Desk(rule=_Declining())
    desk.turn(FIRST)
    return desk.why(NEXT)


def _evicted() -> Explanation:
    """Two others speak before Ann's next question, under a budget of two entries."""
    desk = Desk(snapshot_max_entries=2)
    for session in ("ann", "ben", "cay"):
        desk.turn(FIRST, session=session)
    return desk.why(NEXT)


def _expired() -> Explanation:
    """Ann comes back after the snapshots' time to live."""
    desk = Desk(snapshot_ttl_seconds=600)
    desk.turn(FIRST)
    desk.now = 900.0
    return desk.why(NEXT)


def _superseded() -> Explanation:
    """Across origins: the completion deletes the boundary it extends, and doesn't survive itself."""
    desk = Desk("thinking", boundary=True, supersede="session")
    desk.turn(FIRST)
    return desk.why(NEXT)


def _cleared() -> Explanation:
    """Somebody clears the store between two turns."""
    desk = Desk()
    desk.turn(FIRST)
    desk.store.clear()
    return desk.why(NEXT)


def _longer() -> Explanation:
    """Ann asks for the same answer again: the stored state holds that answer already."""
    desk = Desk()
    desk.turn(FIRST)
    return desk.why(FIRST)


_CASES: dict[Cause, Callable[[], Explanation]] = {
    Cause.FIRST_REQUEST: _first_request,
    Cause.GENERATION_PROMPT: _generation_prompt,
    Cause.REASONING_STRIPPED: _reasoning_stripped,
    Cause.RETOKENISED: _retokenised,
    Cause.RERENDERED: _rerendered,
    Cause.HISTORY_EDITED: _history_edited,
    Cause.OTHER_CONVERSATION: _other_conversation,
    Cause.SYSTEM_CHANGED: _system_changed,
    Cause.VOLATILE: _volatile,
    Cause.ANOTHER_BUCKET: _another_bucket,
    Cause.ANOTHER_SESSION: _another_session,
    Cause.TOO_SHORT: _too_short,
    Cause.OVERSIZED: _oversized,
    Cause.DISABLED: _disabled,
    Cause.DECLINED: _declined,
    Cause.EVICTED: _evicted,
    Cause.EXPIRED: _expired,
    Cause.SUPERSEDED: _superseded,
    Cause.CLEARED: _cleared,
    Cause.LONGER_THAN_REQUEST: _longer,
}
