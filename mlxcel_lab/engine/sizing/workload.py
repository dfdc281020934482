"""What a wanted use costs: the snapshots of one conversation that a rule leaves resident, found by running the store.

Nothing here restates a rule. Stand-in token vectors, a few tokens a turn, go through a real `SnapshotStore` with the
sizes of the real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...config import PromptCacheConfig
from ...store import CacheKey, Hit, Journal, Origin, Snapshot, SnapshotStore, TokenVector, as_tokens

Sizer = Callable[[int, int], int]  # (prompt tokens, generated tokens) -> bytes of the snapshot after them


@dataclass(frozen=True)
class Workload:
    """Conversations that grow evenly to `tokens` tokens over `turns` turns, each reply `reply_tokens` long.

    `append_only`: the next prompt begins with the last one and its reply. False: the template renders the reply anew
    in the history (without its reasoning, say), so that only the prompt's own part comes again.
    """

    conversations: int = 1
    tokens: int = 8192
    turns: int = 1
    reply_tokens: int = 0
    append_only: bool = True
    boundary: bool = True
    rule: str = "origin"

    def __post_init__(self) -> None:
        for name, least in (("conversations", 1), ("tokens", 1), ("turns", 1), ("reply_tokens", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name}={value!r}: expected a whole number, {least} or more")
        if self.prompt_tokens(1) < 1:
            raise ValueError(
                f"{self.tokens} tokens over {self.turns} turns leave no prompt beside {self.reply_tokens} reply tokens"
            )

    def prompt_tokens(self, turn: int) -> int:
        """The prompt's length in that turn, the first being 1."""
        return self.tokens * turn // self.turns - self.reply_tokens


@dataclass(frozen=True, slots=True)
class ResidentSnapshot:
    """One snapshot that a conversation keeps resident."""

    origin: str
    tokens: int
    size_bytes: int


def resident(workload: Workload, size: Sizer) -> tuple[ResidentSnapshot, ...]:
    """The snapshots of one conversation that are resident after its last turn under an unlimited budget."""
    store = _store(workload.rule, 1 << 62)
    for turn in range(1, workload.turns + 1):
        _take_turn(store, workload, size, "0", turn)
    kept = sorted(store.entries(), key=lambda e: (e.snapshot.num_tokens, e.snapshot.size_bytes))
    return tuple(
        ResidentSnapshot(str(e.snapshot.origin), _tokens_of(workload, e.snapshot), e.snapshot.size_bytes)
        for e in kept
    )


def hits_in_the_last_round(workload: Workload, size: Sizer, conversations: int, capacity: int) -> int:
    """How many of so many conversations, served in turn for `turns` rounds, hit in the last round."""
    store = _store(workload.rule, capacity)
    hits = [False]
    for turn in range(1, max(workload.turns, 2) + 1):
        hits = [_take_turn(store, workload, size, str(i), turn) for i in range(conversations)]
    return sum(hits)


def _store(rule: str, capacity: int) -> SnapshotStore:
    config = PromptCacheConfig(
        snapshot_capacity_bytes=capacity, supersede=rule, min_prefix_tokens=0, snapshot_max_entries=1 << 40
    )
    return SnapshotStore(config, clock=lambda: 0.0, journal=Journal(max_events=1), max_ghosts=0, warn=False)


def _take_turn(store: SnapshotStore, workload: Workload, size: Sizer, session: str, turn: int) -> bool:
    """Look up and donate as the engine does: the boundary, then the completion. Whether the lookup hit.

    A conversation of one turn is asked for once more without growing: served, it has nothing new to donate.
    """
    key = CacheKey(session=session)
    prompt, reply = workload.prompt_tokens(min(turn, workload.turns)), workload.reply_tokens
    history, answer = _vectors(workload, turn)
    hit = isinstance(store.lookup(key, [*history, 2 * turn + 1], reserve=1), Hit)
    if hit and turn > workload.turns:
        return True
    if workload.boundary:
        store.insert(key, Snapshot(history, size(prompt, 0), Origin.BOUNDARY))
    store.insert(key, Snapshot(answer, size(prompt, reply), Origin.COMPLETION))
    return hit


def _vectors(workload: Workload, turn: int) -> tuple[TokenVector, TokenVector]:
    """Stand-ins for a turn's prompt and its prompt + reply: two tokens a turn, the second one the reply's."""
    history = [token for earlier in range(1, turn) for token in (2 * earlier, 2 * earlier + 1)] + [2 * turn]
    return as_tokens(history), as_tokens(
        [*history, 2 * turn + 1 if workload.append_only else 2 * turn + 2**30]
    )


def _tokens_of(workload: Workload, snapshot: Snapshot) -> int:
    turn = (snapshot.num_tokens + 1) // 2
    reply = workload.reply_tokens if snapshot.origin == Origin.COMPLETION else 0
    return workload.prompt_tokens(turn) + reply
