"""What `bench turn` measures: a turn restored from a snapshot beside the same turn cold, and beside its limit.

Times are seconds, the fastest of some repeats, the sides taking turns, so that another process's noise hits none alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..config import PromptCacheConfig
from ..engine import Engine, LabModel, Turn
from ..engine.backend import mx
from ..engine.chat import history_boundary, render
from ..engine.forward import LivePass, chunk_ends
from ..engine.messages import Messages
from ..engine.reply import Drawn, Sampling, Scripted
from ..engine.state import CapturedState, capture
from ..engine.worker import mlx_thread
from ..store import as_tokens
from ..store.types import CacheKey, Hit, Snapshot, TokenVector

_ROOM = 1 << 50
_WARM_UPS = 2


@dataclass(frozen=True, slots=True)
class Effort:
    """What to measure: tokens of history and of new prompt, repeats, and tokens of the reply that ends a whole turn."""

    history: tuple[int, ...] = (256, 1024)
    new: tuple[int, ...] = (32, 128)
    repeats: int = 7
    reply: int = 64
    boundary: bool = True


@dataclass(frozen=True, slots=True)
class Measured:
    """One history length with one number of new tokens.

    `cold`, `restored`: seconds to the first token of the whole prompt with an empty store, and from a snapshot
    of the history; the configuration is the same, so that a boundary is taken on both sides or on none.
    `new_alone`: of a prompt that consists of as many new tokens only. `going_on`: of the new tokens on a live
    cache that holds the history already, rendering left out. `copy_out`, `copy_in`: capturing and restoring the
    snapshot of `snapshot_bytes`; `plain_copy`: copying one array of as many bytes. `turn`: the restored turn
    with its whole reply; `donating`: what of it went into taking snapshots and giving them to the store.
    """

    history_tokens: int
    new_tokens: int
    cold: float
    restored: float
    new_alone: float
    going_on: float
    snapshot_bytes: int
    copy_out: float
    copy_in: float
    plain_copy: float
    turn: float
    donating: float
    identical: bool

    @property
    def limit(self) -> float:
        """The least that a restored turn can cost: its new tokens alone, and one copy of the snapshot."""
        return self.new_alone + self.plain_copy

    @property
    def over_limit(self) -> float:
        return self.restored / self.limit

    @property
    def over_going_on(self) -> float:
        """The same against the new tokens on a live cache: they attend to the history, as the restored turn's do."""
        return self.restored / (self.going_on + self.plain_copy)

    @property
    def donating_share(self) -> float:
        """By how much donating lengthens the turn."""
        return self.donating / (self.turn - self.donating)


class Talker:
    """Conversations with a chosen number of tokens, in the tokenizer's own words."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._word = next(
            (w for w in (" sea", " the", " a") if len(tokenizer.encode(w, add_special_tokens=False)) == 1),
            " the",
        )

    def user(self, before: Messages, tokens: int, start: int = 0) -> Messages:
        """`before` and a user's message, so that the prompt has `start + tokens` tokens, or the fewest it can have."""
        words = max(1, tokens)
        for _ in range(8):
            messages = [*before, {"role": "user", "content": "the" + self._word * (words - 1)}]
            over = len(render(self._tokenizer, messages)) - start - tokens
            if over == 0 or words - over < 1:
                break
            words -= over
        return messages


def measure(model: LabModel, effort: Effort, say: Callable[[str], None] = lambda _: None) -> list[Measured]:
    """All combinations of `effort`; `say` hears what is being measured."""
    measured = []
    for history in effort.history:
        bench = _History(model, history, effort)
        for new in effort.new:
            say(f"measuring {history:,} tokens of history, {new} new ones")
            measured.append(bench.measured(new))
    return measured


class _History:
    """One history length: its conversation, its snapshot, and the two engines."""

    def __init__(self, model: LabModel, tokens: int, effort: Effort) -> None:
        config = PromptCacheConfig(
            min_prefix_tokens=1, snapshot_capacity_bytes=_ROOM, warmup=False, boundary=effort.boundary
        )
        self.model, self.effort, self.talker = model, effort, Talker(model.tokenizer)
        self.engine, self.cold = Engine(model, config=config), Engine(model, config=config)
        self.first = self.talker.user([], tokens)
        self.opening: Turn = self.engine.chat(self.first, "s", reply=" the sea")
        self.said = {"role": "assistant", "content": self.opening.text}
        self.key: CacheKey = self.opening.key
        self.snapshot: Snapshot = max(
            self.engine.store.entries(), key=lambda e: e.snapshot.num_tokens
        ).snapshot

    def measured(self, new: int) -> Measured:
        following = self.talker.user([*self.first, self.said], new, self.snapshot.num_tokens)
        alone = self.talker.user([], new)
        prompt = render(self.model.tokenizer, following)
        split = (
            history_boundary(self.model.tokenizer, following, min_prefix_tokens=1)
            if self.effort.boundary
            else None
        )
        sides: dict[str, Callable[[], float]] = {
            "cold": lambda: self._cold(following),
            "restored": lambda: self._restored(following).seconds_to_first_token,
            "new_alone": lambda: self._cold(alone),
            "going_on": lambda: mlx_thread().run(lambda: self._go_on(prompt, split)),
        }
        fastest = _fastest(sides, self.effort.repeats)
        reply = " the" * (self.effort.reply - 1)
        whole = [self._restored(following, reply) for _ in range(self.effort.repeats)]
        turn = min(whole, key=lambda one: one.seconds)
        copies = mlx_thread().run(lambda: _copies(self.snapshot, self.effort.repeats))
        return Measured(
            history_tokens=self.snapshot.num_tokens,
            new_tokens=turn.prompt_tokens - turn.cached_tokens,
            snapshot_bytes=self.snapshot.size_bytes,
            turn=turn.seconds,
            donating=turn.seconds_donating,
            identical=mlx_thread().run(lambda: self._identical(turn.prompt)),
            **fastest,
            **copies,
        )

    def _cold(self, messages: Messages) -> float:
        self.cold.store.clear()
        return self.cold.chat(messages, "cold", reply=" so").seconds_to_first_token

    def _go_on(self, prompt: TokenVector, split: int | None) -> float:
        """Seconds to the first token from a cache that is there already: what no engine can save."""
        held = self.snapshot.num_tokens
        going = LivePass(self.model.model, _state(self.snapshot), prompt[:held], trim=False)
        started = time.perf_counter()
        _prefill(going, prompt, held, split)
        next(iter(going.decode(prompt[-1:], 1, Drawn(Sampling()))))
        return time.perf_counter() - started

    def _identical(self, prompt: TokenVector) -> bool:
        """Whether the engine's own snapshot gives the logits of a cache that did what its donor did, bit for bit."""
        donor, opening = LivePass(self.model.model, None, as_tokens([]), trim=False), self.opening
        _prefill(donor, opening.prompt, 0, opening.boundary_tokens)
        replied = opening.completion.tolist()
        for _ in donor.decode(opening.prompt[-1:], len(replied), Scripted(replied)):
            pass
        new = mx.array(prompt[self.snapshot.num_tokens :])[None]
        caches = donor.cache, _state(self.snapshot).restore()
        went_on, restored = (self.model.model(new, cache=cache)[:, -1] for cache in caches)
        return bool(mx.array_equal(went_on, restored))

    def _restored(self, messages: Messages, reply: str = " so") -> Turn:
        """A turn from the history's snapshot, whatever an earlier repeat has left in the store."""
        self.engine.store.clear()
        self.engine.store.insert(self.key, self.snapshot)
        turn = self.engine.chat(messages, "s", reply=reply)
        if not isinstance(turn.outcome, Hit) or turn.cached_tokens != self.snapshot.num_tokens:
            raise ValueError(
                f"{self.model.name}: the second turn reuses {turn.cached_tokens} of {self.snapshot.num_tokens} tokens: "
                "its chat template must keep prompt and reply for this measurement"
            )
        return turn


def _prefill(live: LivePass, prompt: TokenVector, start: int, split: int | None) -> None:
    """All of the prompt but its last token, in the engine's own chunks."""
    for end in chunk_ends(start, len(prompt) - 1, split):
        live.forward(prompt[start:end])
        start = end


def _copies(snapshot: Snapshot, repeats: int) -> dict[str, float]:
    state = _state(snapshot)
    cache = state.restore()
    block = mx.zeros((max(1, state.nbytes),), mx.uint8)
    mx.eval(block)
    sides: dict[str, Callable[[], Any]] = {
        "copy_out": lambda: capture(cache, state.num_tokens),
        "copy_in": state.restore,
        "plain_copy": lambda: mx.eval(mx.array(block)),
    }
    return _fastest({name: _timed(work) for name, work in sides.items()}, repeats)


def _state(snapshot: Snapshot) -> CapturedState:
    assert isinstance(snapshot.state, CapturedState)  # the engine's own donation
    return snapshot.state


def _timed(work: Callable[[], Any]) -> Callable[[], float]:
    def timed() -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    return timed


def _fastest(sides: dict[str, Callable[[], float]], repeats: int) -> dict[str, float]:
    """Each side's fastest run; the first rounds, which compile, record graphs and allocate, don't count."""
    rounds = [{name: run() for name, run in sides.items()} for _ in range(repeats + _WARM_UPS)][_WARM_UPS:]
    return {name: min(one[name] for one in rounds) for name in sides}
