"""The dashboard: watch a store live, travel in time, see why; run traffic against one cache or compare two.

`Dashboard()` plays the default script on a lab model under two settings. `Dashboard(store)`, `(engine)`, `(journal)`,
`(path)`, `("http://…")` watches what is there, or two of them beside each other. Everything shown is computed from
journals; of a server that has none, its counters are shown.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from ..engine import Turn
from ..store import Journal
from .bar import RunBar
from .cache_run import DRY
from .controls import Controls
from .export import export, reproducing
from .foreign import CounterView
from .panels import summary
from .picture import png
from .reasons import Reasons
from .refresher import WATCH_SECONDS, Refresher
from .remote import NoJournalError
from .runner import Runner
from .script import Say, Wait
from .setup import Setup
from .sources import Source, as_sources
from .stage import Stage


class Dashboard(widgets.VBox):
    """Shows `things` (two at most: engines, stores, journals, their files, servers' addresses), or runs a `Setup`.

    Settings are the fields of `Setup`, by name. With an engine the typed messages and the script go to that engine.
    `api_key` opens a guarded server. Of a server without a journal the `counters` are shown, polled.
    """

    SETTINGS = Setup().parameters()
    """The settings and their defaults: the parameters of the notebook `01_dashboard`."""

    runner: Runner | None = None
    counters: CounterView | None = None
    _refresher: Refresher | None = None

    def __init__(self, *things: Any, api_key: str | None = None, **settings: Any) -> None:
        setup, engine = Setup.of(settings), None
        if len(things) == 1 and hasattr(things[0], "chat"):
            engine = things[0]
        if settings and things and engine is None:
            raise TypeError(
                f"{', '.join(settings)}: settings are for a run of one's own, not for {things[0]!r}"
            )
        self._lock = threading.RLock()
        self._due: set[str] = set()
        self.error: BaseException | None = None  # of a handler or a refresh: shown, and raised by `result`
        self._engine = engine
        self.stage = Stage()
        try:
            watched = as_sources(things, api_key)
        except NoJournalError:
            if len(things) > 1:  # counters can't be laid beside a journal
                raise
            watched, self.counters = [], CounterView(things[0], api_key=api_key)
        if engine is not None or not things:
            self.runner = Runner(setup, self._touch, engine)
        self._refresher = Refresher(
            self.refresh,
            on_error=self._failed,
            watch_seconds=WATCH_SECONDS if any(s.live for s in watched) else None,
        )
        self.controls = (
            Controls(setup, self.handled(self._changed)) if engine is None and not things else None
        )
        self.bar = RunBar(self)
        self._shown_runs: list[Any] = []
        super().__init__(self._children())
        self.add_class("mlxl-controls")
        self.stage.occupancy.observe(self._moved, names=["cursor", "axis", "window"])
        if watched:
            self._watch(watched)
            self.refresh()

    # running ------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the rest of the script and wait for it; raises what went wrong. For scripts, papermill and tests."""
        self.own_runner.run().result()
        self.result()

    def step(self) -> None:
        """Run one step of the script and wait for it."""
        self.own_runner.step().result()
        self.result()

    def say(self, session: str, message: str, reply: str | None = None) -> None:
        """Say something in a conversation and wait for the answer, before the script goes on."""
        self.own_runner.add(Say(session, message, reply)).result()
        self.result()

    def wait(self, seconds: float) -> None:
        """Move the clock on."""
        self.own_runner.add(Wait(seconds)).result()
        self.result()

    def stop(self) -> None:
        """End what is running; a turn that was going on leaves nothing behind but its lookup."""
        self.own_runner.stop()

    def reset(self, **changes: Any) -> None:
        """Begin the script anew, with other settings where some are given; an engine of one's own keeps its store."""
        self._restart(Setup.of({**self.setup.parameters(), **changes}), replay=False)

    def result(self) -> list[Turn]:
        """Waits for the worker, then the turns of the lower cache; raises an error of the worker or of the view."""
        turns = self.own_runner.result() if self.runner is not None else []
        self.refresh()
        if self.error is not None:
            raise self.error
        return turns

    # looking ------------------------------------------------------------------------------------------------------

    @property
    def setup(self) -> Setup:
        """What this dashboard runs, without steps that were typed."""
        return self.own_runner.setup

    @property
    def journals(self) -> list[Journal]:
        return [source.journal for source in self.stage.sources]

    def summary(self) -> list[dict[str, Any]]:
        """A row a cache: what became of the traffic, at the end of the journal."""
        self.refresh()
        return [{"cache": source.title, **summary(model)} for source, model in self.stage.seen()]

    def seek(self, position: int) -> None:
        """Travel to an event of the time line, -1 for the latest, and show the store as it was then."""
        self.stage.occupancy.cursor = position
        self.refresh()

    def refresh(self) -> None:
        """Draw what is new, now, in this thread."""
        with self._lock:
            due, self._due = self._due, set()
            self._follow_runner()
            if not self.stage.refresh():
                if due & {"axis", "window"}:
                    self.stage.draw()
                if due:
                    self.stage.describe()
            self.bar.show()

    def export(self, folder: str | Path = "runs/dashboard") -> list[Path]:
        """Write the picture, the journals and the parameter file that reproduces the run; the paths written."""
        self.refresh()
        setup = reproducing(self.setup, self.runner.performed) if self.runner and self.controls else None
        return export(folder, self.stage.drawing(), self.stage.sources, setup)

    def close(self) -> None:
        """End the threads, and the view."""
        for part in (self._refresher, self.runner, self.counters):
            if part is not None:  # one that could not be made is closed, too
                part.close()
        super().close()

    # for its bar --------------------------------------------------------------------------------------------------

    @property
    def own_runner(self) -> Runner:
        """What runs here. Raises ValueError where nothing does."""
        if self.runner is None:
            raise ValueError(
                "this dashboard only watches: one with an engine, or of its own, can run something"
            )
        return self.runner

    def handled(self, act: Callable[..., Any]) -> Callable[..., None]:
        """A handler whose error is shown, and raised by `result()`: in a callback it would be swallowed."""

        def handler(*args: Any) -> None:
            try:
                act(*args)
            except Exception as error:
                self._failed(error)

        return handler

    # inside -------------------------------------------------------------------------------------------------------

    def _touch(self) -> None:
        if self._refresher is not None:
            self._refresher.touch()

    def _moved(self, change: Any) -> None:
        self._due.add(change["name"])
        self._touch()

    def _changed(self) -> None:
        if self.controls is not None:
            self._restart(self.controls.setup)

    def _failed(self, error: BaseException) -> None:
        self.error = error
        self.bar.show()

    def _restart(self, setup: Setup, replay: bool = True) -> None:
        """Another setup: run again what was run, where that costs a moment only."""
        old, self.error = self.own_runner, None
        again = len(old.steps) if old.busy else old.done
        self.runner = Runner(setup, self._touch, self._engine)
        same_script = (setup.script, setup.lines) == (old.setup.script, old.setup.lines)
        if replay and same_script:
            self.runner.steps = list(old.steps)
        old.close()
        if self.controls is not None and not replay:
            self.controls.show(setup)
        if replay and again and "/" not in setup.model.removeprefix(DRY):
            self.runner.run(again if same_script else None)
        else:
            self.runner.prepare()
        self._touch()

    def _follow_runner(self) -> None:
        """Watch the journals of the runner's caches, once it has made them."""
        if self.runner is None or not self.runner.runs or self.runner.runs is self._shown_runs:
            return
        self._shown_runs = self.runner.runs
        sources = [Source(run.title, run.engine.store.journal) for run in self._shown_runs]
        self._watch(
            sources, [Reasons(s.journal, run) for s, run in zip(sources, self._shown_runs, strict=True)]
        )
        if self.controls is not None:
            self.controls.show_unit(self.runner.unit)

    def _watch(self, sources: list[Source], reasons: list[Reasons] | None = None) -> None:
        self.stage.watch(sources, reasons or [])
        if any(source.live for source in sources) and self._refresher is not None:
            self._refresher.start()

    def _children(self) -> list[Any]:
        if self.counters is not None:
            return [self.counters]
        talk = [self.bar.talk] if self.runner is not None else []
        own = [self.controls.box] if self.controls else []
        return [self.bar.box, *own, self.stage.occupancy, *talk, self.stage.details]

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget and, for whoever can't show it, the picture."""
        bundle = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        if data is None:
            return bundle
        with self._lock:
            picture = base64.b64encode(png(self.stage.drawing())).decode() if self.stage.sources else None
        data = {**data, "text/plain": repr(self), **({"image/png": picture} if picture else {})}
        return data, metadata

    def __repr__(self) -> str:
        seen = ", ".join(f"{s.title}: {len(s.journal)} events" for s in self.stage.sources)
        return f"Dashboard({seen or ('counters only' if self.counters else 'nothing yet')})"
