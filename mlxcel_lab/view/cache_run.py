"""One cache under the dashboard's traffic: an engine, its store, and each conversation's messages so far."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache

from ..config import PromptCacheConfig
from ..engine import DryModel, Engine, LabModel, Turn, load, load_dry
from ..engine.messages import Messages
from ..store import SnapshotStore
from .script import Say
from .setup import MAX_TOKENS, Setup

DRY = "dry/"
UNIT_TOKENS = 200  # the lab's conversations end near there; caches grow in steps of 256
REPLY_TOKENS = 20
SECONDS_A_MESSAGE = 20.0


class MovableClock:
    """Seconds that move only when told, so that two caches and a repeated run see the same times."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


@lru_cache(maxsize=1)
def load_model(name: str, template: str) -> LabModel | DryModel:
    """By the names of `engine.load`, or `dry/` and those of `engine.load_dry`; the last model is kept."""
    if name.startswith(DRY):
        return load_dry(name.removeprefix(DRY), template=template)
    return load(name, template=template)


def budget_unit(model: LabModel | DryModel) -> int:
    """The size of one of the model's snapshots, by its geometry: what a budget in snapshots is counted in."""
    from ..engine.dry import geometry_of
    from ..engine.state import capture
    from ..engine.worker import mlx_thread

    def measure() -> int:
        calls = [
            UNIT_TOKENS - REPLY_TOKENS,
            *[1] * REPLY_TOKENS,
        ]  # a window holds more until the first decode step
        return capture(geometry_of(model).cache_after(calls), UNIT_TOKENS, dry=True).nbytes

    return mlx_thread().run(measure)


def _sources(config: PromptCacheConfig) -> dict[str, str]:
    """Where each value came from, for the panel of settings."""
    default = asdict(PromptCacheConfig())
    return {
        name: "default" if value == default[name] else "dashboard" for name, value in asdict(config).items()
    }


@dataclass
class CacheRun:
    """What was said to one cache, and what came of it: `turns` with the messages that each answered."""

    title: str
    engine: Engine
    clock: MovableClock | None = None
    done: int = 0
    turns: list[tuple[Turn, Messages]] = field(default_factory=list)
    _messages: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    _begun: int = -1  # the step whose time has come, also where it was cancelled

    @classmethod
    def of(cls, setup: Setup, title: str, model: LabModel | DryModel, unit: int) -> CacheRun:
        """An empty cache with that setup; `unit` is the size of one of the model's snapshots, in bytes."""
        clock = MovableClock()
        config = setup.config(unit)
        return cls(title, Engine(model, SnapshotStore(config, clock=clock, sources=_sources(config))), clock)

    def wait(self, seconds: float) -> None:
        """Move the clock on and let what has aged expire."""
        if self.clock is None:
            raise ValueError("this engine's store has a clock of its own, which can't be moved")
        self.clock.advance(seconds)
        self.engine.store.expire()
        self.done += 1

    def say(
        self, step: Say, cancel: threading.Event, on_token: Callable[[str], None] | None = None
    ) -> Turn | None:
        """Answer one message; None where it was cancelled, and then nothing of it is kept."""
        self._begin()
        said = [*self._messages.get(step.session, []), {"role": "user", "content": step.message}]
        turn = self.engine.chat(
            said,
            step.session,
            None if step.reply else MAX_TOKENS,
            reply=step.reply,
            cancel=cancel,
            on_token=on_token,
        )
        if turn.finish_reason == "cancelled":
            return None
        self._messages[step.session] = [*said, {"role": "assistant", "content": turn.text}]
        self.turns.append((turn, said))
        if self.clock is not None:  # an engine of one's own warms up when its owner says so
            self.engine.warm_up_idle()
        self.done += 1
        return turn

    def _begin(self) -> None:
        if self.clock is not None and self._begun < self.done:
            self.clock.advance(SECONDS_A_MESSAGE)
        self._begun = self.done
