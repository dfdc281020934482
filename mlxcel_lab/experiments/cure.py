"""The cure for a cache that never hits, measured: by template, by supersede rule, and beside the published figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl

from ..config import PromptCacheConfig
from ..engine import Engine, load_dry
from ..engine.chat import PROBES, render, warmup_target
from ..engine.messages import Message
from ..explain.survival import live_reply
from ..paths import data_dir
from ..store import SnapshotStore, common_prefix
from ..store.types import TokenVector
from .messages_file import Conversation, read_conversations
from .rehearsal import CURES, Rehearsed, as_said, mode_of, rehearse, speaker, wrapped_tokenizer

_OFF, _ON = CURES["no cure"], CURES["boundary"]
_ACROSS = PromptCacheConfig(supersede="session", warmup=False)


def sea_story(turns: int = 4) -> Conversation:
    """The shipped conversation, its first so many turns (four at most)."""
    (whole,) = read_conversations(data_dir() / "conversations" / "sea_story.json")
    return Conversation(whole.session, whole.messages[: 1 + 2 * turns], whole.tools)


def held(
    name: str, mode: str, turns: int, config: PromptCacheConfig
) -> tuple[list[Rehearsed], SnapshotStore]:
    """The sea story under a template and a configuration: its turns and the store afterwards."""
    store = SnapshotStore(config)
    return [*rehearse([sea_story(turns)], name, mode, store=store)], store


def by_cure(names: Sequence[str], turns: int) -> pl.DataFrame:
    """Cached tokens turn by turn, for every template in each of its modes and under each cure."""
    rows = []
    for name in names:
        for mode in speaker(name).modes:
            for cure, config in CURES.items():
                for number, one in enumerate(held(name, mode, turns, config)[0], 1):
                    rows.append(
                        (f"{name}, {mode}", cure, number, one.turn.prompt_tokens, one.turn.cached_tokens)
                    )
    return pl.DataFrame(rows, ["template", "cure", "turn", "prompt", "cached"], orient="row")


def by_rule(name: str, mode: str, turns: int) -> pl.DataFrame:
    """The supersede rules side by side with boundaries on: what is cached, and what the counters show."""
    rows = []
    for rule in ("off", "session", "origin"):
        config = PromptCacheConfig(supersede=rule, warmup=False)
        talk, store = held(name, mode, turns, config)
        stats = store.stats()
        cached = ", ".join(f"{t.turn.cached_tokens}/{t.turn.prompt_tokens}" for t in talk[1:])
        rows.append((rule, cached, stats.hits, stats.inserts, stats.supersedes, len(store)))
    names = ["rule", "cached/prompt, turns 2 on", "hits", "inserts", "supersedes", "entries"]
    return pl.DataFrame(rows, names, orient="row")


def hits_alone(name: str, mode: str, turns: int) -> int:
    """How many turns hit with completions alone: 0 under a template that keeps none of them."""
    return held(name, mode, turns, _OFF)[1].stats().hits


def probe_targets(name: str, mode: str) -> pl.DataFrame:
    """What turn 2 reuses after a warm-up by target: the history and reply as they are, one probe, two probes."""
    one = speaker(name)
    mode = mode_of(one, mode)
    kwargs = one.kwargs(mode)
    rows = []
    for kind, target in _TARGETS.items():
        cached, prompt = _second_turn(name, kwargs, as_said(sea_story(2), mode).messages, target)
        rows.append((kind, cached, prompt))
    return pl.DataFrame(rows, ["target", "cached", "prompt"], orient="row")


Target = Callable[[Any, Sequence[Message], Message, dict[str, Any]], TokenVector]


def _naive(words: Any, before: Sequence[Message], said: Message, kwargs: dict[str, Any]) -> TokenVector:
    return render(words, [*before, said], add_generation_prompt=False, **kwargs)


def _one_probe(words: Any, before: Sequence[Message], said: Message, kwargs: dict[str, Any]) -> TokenVector:
    naive = _naive(words, before, said, kwargs)
    probed = render(words, [*before, said, {"role": "user", "content": PROBES[0]}], **kwargs)
    return naive[: common_prefix(naive, probed)]


def _two_probes(words: Any, before: Sequence[Message], said: Message, kwargs: dict[str, Any]) -> TokenVector:
    return warmup_target(words, before, said, **kwargs)


_TARGETS: dict[str, Target] = {"naive": _naive, "one probe": _one_probe, "two probes": _two_probes}


def _second_turn(
    name: str, kwargs: dict[str, Any], messages: Sequence[Message], target: Target
) -> tuple[int, int]:
    """Turn 1, a warm-up to that target, turn 2: its cached and its prompt tokens."""
    engine = Engine(load_dry("gated-delta", tokenizer=wrapped_tokenizer(name)), config=_ON)
    words, (system, ask, said, follow, *_) = engine.model.tokenizer, messages
    request = _asked(engine, [system, ask], kwargs)
    completion, _ = live_reply(speaker(name), words, request, said)
    engine.chat([system, ask], "s", reply=completion.tolist(), template_kwargs=kwargs)
    engine.extend(request.key, target(words, [system, ask], said, kwargs))
    turn = engine.chat([system, ask, said, follow], "s", reply=completion.tolist(), template_kwargs=kwargs)
    return turn.cached_tokens, turn.prompt_tokens


def _asked(engine: Engine, messages: list[Message], kwargs: dict[str, Any]) -> Any:
    from ..explain import Asked

    key = engine.key("s", None, kwargs)
    return Asked.rendered(engine.model.tokenizer, key, messages, **kwargs)


def beside_published() -> pl.DataFrame:
    """The published rows of mlxcel's boundary and warm-up beside ours, with what differs and why.

    Ours come from the sea story under the family's real template: another text, so lengths differ and shapes agree.
    """
    rows = json.loads((data_dir() / "published" / "boundary.json").read_text(encoding="utf-8"))
    ours = list(_ours())
    return pl.DataFrame(
        [{**row, "ours": mine, "differs": why} for row, (mine, why) in zip(rows, ours, strict=True)]
    )


def _ours() -> Iterator[tuple[str, str]]:
    """Our figure and what differs, in the order of data/published/boundary.json."""
    warmed = CURES["boundary and warm-up"]
    text = "another text, so other lengths"
    yield _told("qwen3.5", "thinking off", _OFF, "hits", "inserts"), text
    yield _told("qwen3.5", "thinking off", _ON, "hits", "inserts", "entries"), text
    yield _told("qwen3.5", "thinking off", _ACROSS, "hits", "inserts", "entries"), text
    yield (
        _told("falcon-h1", "plain", _OFF),
        (
            "our completion claims the turn's end marker, before which this template writes a line break: it never hits"
        ),
    )
    yield _told("falcon-h1", "plain", _ON), text
    yield _told("qwen3.5", "thinking off", _ON), text
    yield _told("qwen3.5", "thinking off", warmed), text
    for row in probe_targets("qwen3.5", "thinking off").iter_rows(named=True):
        yield f"{row['cached']}/{row['prompt']}", text
    yield (
        _told("gemma-4", "thinking off", warmed, "hits", "lru", first=1),
        (
            "our hits are the requests' alone, and the budget holds all: no eviction; the tokenizer is a stand-in"
        ),
    )
    yield _told("qwen3.5", "thinking off", warmed, "hits"), text


def _told(name: str, mode: str, config: PromptCacheConfig, *counters: str, first: int = 2) -> str:
    talk, store = held(name, mode, 3, config)
    stats = store.stats()
    counts = {"hits": stats.hits, "inserts": stats.inserts, "entries": len(store), "lru": stats.evictions_lru}
    cached = ", ".join(f"{one.turn.cached_tokens}/{one.turn.prompt_tokens}" for one in talk[first - 1 :])
    return "; ".join([cached, *(f"{counter} {counts[counter]}" for counter in counters)])
