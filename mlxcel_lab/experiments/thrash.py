"""Pull request 1151's evidence: a conversation whose snapshots pile up, because none of them is a prefix of the next.

Its figures are restated in data/published/thrash.json. The token vectors aren't published, only their lengths; here
they are made up so that they diverge as that model's do: the generation prompt ends in an empty think block of
`THINK_BLOCK` tokens, which is in what was stored and never in the history of the next prompt.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ..paths import data_dir
from ..store import CacheKey, Hit, Snapshot, SnapshotStore, TokenVector, as_tokens
from .stores import stream

THINK_BLOCK = 4  # <think>, a blank line, </think>, a blank line


@dataclass(frozen=True, slots=True)
class Published:
    """The published figures: sizes in bytes, lengths in tokens, entries and LRU evictions after each turn."""

    source: str
    snapshot_bytes: int
    capacity_bytes: int
    stored_tokens: list[int]
    next_prompt_tokens: list[int]
    entries: list[int]
    evictions: list[int]
    evictions_after_a_second_conversation: int
    entries_after_a_second_conversation: int
    supersedes: int

    @property
    def reply_tokens(self) -> int:
        """Stored beyond the prompt, the same in every turn."""
        return self.stored_tokens[-1] - self.next_prompt_tokens[-1]

    @property
    def prompt_tokens(self) -> list[int]:
        """Of every turn; the first one isn't published and follows from the reply's length."""
        return [self.stored_tokens[0] - self.reply_tokens, *self.next_prompt_tokens]

    @property
    def snapshots_in_budget(self) -> float:
        return self.capacity_bytes / self.snapshot_bytes

    @property
    def second_turns(self) -> int:
        """How long the second conversation is: each insert into a full store evicts one, so the counts tell it."""
        inserts = self.evictions_after_a_second_conversation + self.entries_after_a_second_conversation
        return inserts - len(self.stored_tokens)

    def with_room_for(self, snapshots: int) -> Published:
        """The same conversations under a budget for another number of snapshots.

        The counts are then no longer published ones but what they follow from: nothing is superseded, so entries grow
        to what fits, and each insert beyond that evicts one. At least one must fit (ValueError).
        """
        fit, turns = int(self.snapshots_in_budget), len(self.stored_tokens)
        if snapshots < 1:
            raise ValueError(f"room for {snapshots} snapshots: expected at least 1")
        if snapshots == fit:
            return self
        every = turns + self.second_turns
        return replace(
            self,
            source=f"arithmetic from {self.source}",
            capacity_bytes=self.capacity_bytes + (snapshots - fit) * self.snapshot_bytes,
            entries=[min(turn, snapshots) for turn in range(1, turns + 1)],
            evictions=[max(0, turn - snapshots) for turn in range(1, turns + 1)],
            evictions_after_a_second_conversation=max(0, every - snapshots),
            entries_after_a_second_conversation=min(every, snapshots),
        )

    def budget_for(self, snapshot_bytes: int) -> int:
        """The budget that holds as many snapshots of another size as the published one holds of its own."""
        return int(self.snapshots_in_budget * snapshot_bytes)


def published_thrash() -> Published:
    told = json.loads((data_dir() / "published" / "thrash.json").read_text(encoding="utf-8"))
    return Published(**{field.name: told[field.name] for field in fields(Published)})


class Exchange(NamedTuple):
    """One turn as the store sees it: the prompt that is looked up, and the vector that is donated after it."""

    prompt: TokenVector
    stored: TokenVector


def diverging(conversation: str, prompt_tokens: Sequence[int], reply_tokens: int) -> list[Exchange]:
    """Turns of which no stored vector is a prefix of the next prompt: the think block stands in between."""
    think = stream("think block", THINK_BLOCK)
    return [_diverging(conversation, length, reply_tokens, think) for length in prompt_tokens]


def _diverging(conversation: str, prompt_tokens: int, reply_tokens: int, think: TokenVector) -> Exchange:
    history = prompt_tokens - len(think)
    spoken = stream(conversation, history + reply_tokens)
    prompt = np.concatenate([spoken[:history], think])
    return Exchange(as_tokens(prompt), as_tokens(np.concatenate([prompt, spoken[history:]])))


def extending(conversation: str, prompt_tokens: Sequence[int], reply_tokens: int) -> list[Exchange]:
    """Turns of the same lengths of which each stored vector is a prefix of the next prompt."""
    return [
        Exchange(stream(conversation, length), stream(conversation, length + reply_tokens))
        for length in prompt_tokens
    ]


def play(store: SnapshotStore, session: str, turns: Sequence[Exchange], size_bytes: int) -> pl.DataFrame:
    """Look up and donate turn by turn; one row a turn, see `row`."""
    key, rows = CacheKey(session=session), []
    for prompt, stored in turns:
        found = store.lookup(key, prompt, reserve=1)
        store.insert(key, Snapshot(stored, size_bytes))
        rows.append(
            row(
                store, session, len(prompt), found.cached_tokens if isinstance(found, Hit) else 0, len(stored)
            )
        )
    return pl.DataFrame(rows)


def row(store: SnapshotStore, session: str, prompt: int, cached: int, stored: int) -> dict[str, Any]:
    """A turn's lengths in tokens, and the store after it under mlxcel's names (evictions include replacements)."""
    told = store.stats_payload()
    counts = {name: told[f"snapshot_{name}"] for name in ("entries", "bytes", "inserts", "supersedes")}
    lengths = {"session": session, "prompt": prompt, "cached": cached, "stored": stored}
    return {**lengths, **counts, "evictions": told["snapshot_evictions_lru"]}
