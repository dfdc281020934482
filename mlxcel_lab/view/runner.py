"""The thread that runs the dashboard's traffic: Run, Step, Stop, Reset and typed messages, for one cache or two.

Handlers only call the methods here; each submits work to one thread or sets an event, and returns at once. Two caches
see the same traffic in lockstep: the second one is given the first one's replies.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ..engine import Engine, Turn
from ..engine.dry import DryModel
from .cache_run import CacheRun, budget_unit, load_model
from .script import Say, Step, Wait
from .setup import Setup


class Runner:
    """`on_change` is called from the worker's thread whenever there is something new to show.

    With an `engine` of one's own the traffic goes to it, and the setup's model and cache settings don't count.
    """

    def __init__(
        self, setup: Setup, on_change: Callable[[], None] = lambda: None, engine: Engine | None = None
    ) -> None:
        self.setup = setup
        self.runs: list[CacheRun] = [] if engine is None else [CacheRun("", engine)]
        self.steps: list[Step] = list(setup.steps())
        self.unit = 0
        self.error: BaseException | None = None
        self.doing = ""
        self._engine = engine
        self._on_change = on_change
        self._cancel = threading.Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="dashboard")
        self._pending: Future[Any] | None = None

    @property
    def busy(self) -> bool:
        return self._pending is not None and not self._pending.done()

    @property
    def done(self) -> int:
        """How many steps are behind every cache."""
        return min((run.done for run in self.runs), default=0)

    @property
    def performed(self) -> tuple[Step, ...]:
        return tuple(self.steps[: self.done])

    def prepare(self) -> Future[None]:
        """Load the model and make the caches, if that isn't done."""
        return self._submit(lambda cancel: self._prepare())

    def run(self, until: int | None = None) -> Future[None]:
        """All remaining steps, or those before step `until`."""
        return self._submit(lambda cancel: self._run(cancel, until))

    def step(self) -> Future[None]:
        return self._submit(lambda cancel: self._run(cancel, self.done + 1))

    def add(self, step: Step) -> Future[None]:
        """Perform one more step now, before those of the script that are still to come."""

        def work(cancel: threading.Event) -> None:
            self._prepare()
            begun = max(run.done for run in self.runs)  # after a Stop one of two caches may be a step behind
            self._run(cancel, begun)
            if not cancel.is_set():
                self.steps.insert(begun, step)
                self._run(cancel, begun + 1)

        return self._submit(work)

    def stop(self) -> None:
        """End the turn that is going on at its next token, and drop what was submitted behind it."""
        self._cancel.set()
        self._cancel = threading.Event()

    def close(self) -> None:
        """Stop, and let the thread end."""
        self.stop()
        self._pool.shutdown(wait=False)

    def result(self) -> list[Turn]:
        """The turns of the (lower) cache once the worker is idle; raises what went wrong there."""
        if self._pending is not None:
            self._pending.result()
        if self.error is not None:
            raise self.error
        return [turn for turn, _ in self.runs[-1].turns] if self.runs else []

    def _submit(self, work: Callable[[threading.Event], None]) -> Future[None]:
        cancel = self._cancel
        self._pending = pending = self._pool.submit(self._guarded, work, cancel)
        return pending

    def _guarded(self, work: Callable[[threading.Event], None], cancel: threading.Event) -> None:
        """An error is kept for `result()` and shown: a future that nobody asks would swallow it."""
        if cancel.is_set():
            return
        self.error = None
        try:
            work(cancel)
        except Exception as error:
            self.error = error
        self._say("")

    def _say(self, doing: str) -> None:
        self.doing = doing
        self._on_change()

    def _prepare(self) -> None:
        if self.runs:
            return
        self._say(f"loading {self.setup.model}")
        model = load_model(self.setup.model, self.setup.template)
        self.unit = budget_unit(model)
        self.runs = [
            CacheRun.of(side, title, model, self.unit)
            for side, title in zip(self.setup.sides(), self.setup.titles(), strict=True)
        ]

    def _run(self, cancel: threading.Event, until: int | None) -> None:
        self._prepare()
        last = len(self.steps) if until is None else min(until, len(self.steps))
        while self.done < last and not cancel.is_set():
            self._perform(self.done, cancel)
            self._on_change()

    def _perform(self, index: int, cancel: threading.Event) -> None:
        """The step for each cache that is not past it: after a Stop one of two may be."""
        for run in self.runs:
            if run.done > index or cancel.is_set():
                continue
            step = self.steps[index]
            if isinstance(step, Wait):
                run.wait(step.seconds)
                continue
            self._say(f"{step.session} · message {index + 1} of {len(self.steps)}")
            turn = run.say(self._replied(run, step), cancel, lambda _: self._on_change())
            if turn is not None and step.reply is None and len(self.runs) > 1:
                self.steps[index] = replace(step, reply=turn.text)

    def _replied(self, run: CacheRun, step: Say) -> Say:
        """A model without weights can't speak: it says the message back."""
        if step.reply is None and isinstance(run.engine.model, DryModel):
            return replace(step, reply=f"You said: {step.message}")
        return step
