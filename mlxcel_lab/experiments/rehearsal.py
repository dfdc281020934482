"""Conversations as they were held, replayed turn by turn against a store: what would hit, and what breaks it.

A dry engine takes the turns: its geometry is a small recurrent model's, which can't be cut back, its tokenizer and
template are a real family's. The replies are the conversations' own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import polars as pl

from ..config import PromptCacheConfig
from ..engine import Engine, Turn, load_dry
from ..engine.families import Family, family, load_tokenizer
from ..engine.messages import Message, without_reasoning
from ..engine.models import chat_template_text, load_lab_tokenizer
from ..explain import MEANINGS, Asked, Explanation, lookup_seq, what_ended
from ..explain.survival import live_reply
from ..store import SnapshotStore
from ..store.types import Hit
from .messages_file import Conversation

CURES: dict[str, PromptCacheConfig] = {
    "no cure": PromptCacheConfig(boundary=False, warmup=False),
    "boundary": PromptCacheConfig(warmup=False),
    "boundary and warm-up": PromptCacheConfig(),
}


@dataclass(frozen=True)
class Rehearsed:
    """One turn of a conversation: what it reused, and why no more (None: all that was there)."""

    session: str
    message: int
    turn: Turn
    told: Explanation | None

    @property
    def missed(self) -> bool:
        return not isinstance(self.turn.outcome, Hit)

    @property
    def why(self) -> str:
        return "" if self.told is None else MEANINGS[self.told.cause].name


# The lab's own templates, which need no package.
_LAB = {
    "plain": Family("plain", "plain", None, "<|im_end|>"),
    "thinking": Family(
        "thinking", "thinking", None, "<|im_end|>", None, ("<think>\n", "\n</think>\n\n"), "enable_thinking"
    ),
}


def speaker(name: str) -> Family:
    """A real family, or one of the lab's own templates, by name."""
    return _LAB[name] if name in _LAB else family(name)


@cache
def wrapped_tokenizer(name: str) -> Any:
    """A speaker's tokenizer as the engine takes it; each is loaded once."""
    from ..engine import backend  # noqa: F401, I001  (before mlx: see there)
    from mlx_lm.tokenizer_utils import TokenizerWrapper

    if name in _LAB:
        return load_lab_tokenizer(chat_template_text(name))
    return TokenizerWrapper(load_tokenizer(name))


def rehearse(
    conversations: Iterable[Conversation],
    name: str,
    mode: str | None = None,
    *,
    config: PromptCacheConfig | None = None,
    store: SnapshotStore | None = None,
) -> Iterator[Rehearsed]:
    """Every assistant's message as one turn, conversation after conversation, against one store.

    `name` is a family or a template of the lab's own, `mode` one of its modes (default: its first). A conversation that
    the template refuses raises a ValueError with the template's own words, and so does a lot without any turn.
    """
    one = speaker(name)
    mode = mode_of(one, mode)
    said: list[Message] = []  # the latest reply, as its client sends it back
    model = load_dry("gated-delta", tokenizer=wrapped_tokenizer(name))
    engine = Engine(model, store, config, reply_message=lambda text, tools: said[-1])
    asked: list[Asked] = []
    for conversation in (as_said(given, mode) for given in conversations):
        for index, message in enumerate(conversation.messages):
            if message["role"] == "assistant" and index:
                said[:] = [message]
                yield _turn(engine, one, mode, conversation, index, asked)
    if not asked:
        raise ValueError("no assistant message that answers another: nothing to replay")


def mode_of(one: Family, mode: str | None) -> str:
    """The wanted mode where the family has it, else its first."""
    return mode if mode in one.modes else one.modes[0]


def as_said(conversation: Conversation, mode: str) -> Conversation:
    """The conversation as a model in that mode holds it: without the reasoning unless it thinks."""
    if mode == "thinking on":
        return conversation
    return replace(conversation, messages=without_reasoning(conversation.messages))


def _turn(
    engine: Engine, one: Family, mode: str, conversation: Conversation, index: int, asked: list[Asked]
) -> Rehearsed:
    tokenizer, kwargs = engine.model.tokenizer, one.kwargs(mode)
    before, said = conversation.messages[:index], conversation.messages[index]
    key = engine.key(conversation.session, conversation.tools, kwargs)
    request = Asked.rendered(tokenizer, key, before, conversation.tools, **kwargs)
    completion, text = live_reply(one, tokenizer, request, said)
    turn = engine.chat(
        before,
        conversation.session,
        tools=conversation.tools,
        template_kwargs=kwargs,
        reply=completion.tolist(),
    )
    told = what_ended(
        turn.outcome,
        request,
        tokenizer=tokenizer,
        earlier=asked,
        journal=engine.store.journal,
        seq=lookup_seq(turn.events),
    )
    asked.append(request.answered(completion, text))
    engine.warm_up_idle()
    return Rehearsed(conversation.session, index, turn, told)


_TURN: dict[str, Any] = {
    "session": pl.String, "message": pl.Int64, "prompt": pl.Int64, "cached": pl.Int64, "missed": pl.Boolean,
    "lost": pl.Int64, "why": pl.String, "at_token": pl.Int64, "in_message": pl.Int64,
}  # fmt: skip


def turn_table(turns: Iterable[Rehearsed]) -> pl.DataFrame:
    """One row a turn: what it asked, reused and lost, and what broke the rest."""
    rows = [
        {
            "session": r.session,
            "message": r.message,
            "prompt": r.turn.prompt_tokens,
            "cached": r.turn.cached_tokens,
            "missed": r.missed,
            "lost": 0 if r.told is None else r.told.lost_tokens,
            "why": r.why,
            "at_token": None if r.told is None else r.told.evidence.position,
            "in_message": None if r.told is None else r.told.evidence.message,
        }
        for r in turns
    ]
    return pl.DataFrame(rows, schema=_TURN)


def cause_table(
    conversations: Sequence[Conversation], names: Sequence[str], mode: str | None = None
) -> pl.DataFrame:
    """Every family under every cure: turns, misses, the share of prompt tokens reused, and the misses by cause."""
    rows = []
    for name in names:
        for cure, config in CURES.items():
            turns = list(rehearse(conversations, name, mode, config=config))
            misses = [r for r in turns if r.missed]
            causes = pl.Series("why", [r.why for r in misses], pl.String).value_counts(sort=True)
            prompt = sum(r.turn.prompt_tokens for r in turns) or 1
            rows.append(
                {
                    "family": name,
                    "mode": mode_of(speaker(name), mode),
                    "cure": cure,
                    "turns": len(turns),
                    "misses": len(misses),
                    "reused": sum(r.turn.cached_tokens for r in turns) / prompt,
                    "causes": ", ".join(f"{count} {why}" for why, count in causes.iter_rows()),
                }
            )
    return pl.DataFrame(rows)
