"""The row of buttons: Run, Step, Stop, Reset, a message to type, the clock, Export; progress and errors."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, Protocol

import ipywidgets as widgets

from .runner import Runner
from .script import Say, Wait, load_script

WAITS = {"10 minutes": 600, "1 hour": 3600, "3 hours": 10_800}


class Played(Protocol):
    """What the bar is for: a dashboard. `runner` is None where it only watches, and then `own_runner` raises."""

    runner: Runner | None
    error: BaseException | None

    @property
    def own_runner(self) -> Runner: ...
    def handled(self, act: Callable[..., Any]) -> Callable[..., None]: ...
    def stop(self) -> None: ...
    def reset(self) -> None: ...
    def export(self) -> list[Path]: ...


class RunBar:
    """Handlers here only submit work or set an event; what came of it is shown by `show`."""

    def __init__(self, dashboard: Played) -> None:
        self._dashboard = dashboard
        self.run = _button("Run", "play", "success", "Run the rest of the script")
        self.step = _button("Step", "step-forward", "", "One message")
        self.stop = _button("Stop", "stop", "warning", "End the turn that is going on")
        self.reset = _button("Reset", "undo", "", "Begin anew")
        self.export = _button(
            "Export", "download", "", "Picture, journals and parameter file, under runs/dashboard"
        )
        self.progress = widgets.IntProgress(0, 0, 1, layout={"width": "110px", "height": "18px"})
        self.status, self.error = widgets.HTML().add_class("mlxl-status"), widgets.HTML()
        self.session = widgets.ToggleButtons(options=self._sessions(), style={"button_width": "36px"})
        self.message = widgets.Text(
            placeholder="Type a message to one of the conversations", layout={"width": "400px"}
        )
        self.send = _button("Send", "paper-plane", "", "Say it now, before the script goes on")
        self.hours = widgets.Dropdown(options=WAITS, value=3600, layout={"width": "105px"})
        self.later = _button("Later", "clock-o", "", "Move the clock on, so that snapshots age")
        self._connect()
        started = [self.run, self.step, self.stop, self.reset] if dashboard.runner else []
        self.box = widgets.VBox([_row([*started, self.export, self.progress, self.status]), self.error])
        self.talk = _row([self.session, self.message, self.send, self.hours, self.later])

    def show(self) -> None:
        """Bring progress, status and errors up to date."""
        runner = self._dashboard.runner
        error = self._dashboard.error or (runner.error if runner else None)
        _set(
            self.error, f'<div class="mlxl-error" role="alert">{escape(_said(error))}</div>' if error else ""
        )
        self.progress.layout.visibility = "visible" if runner else "hidden"
        if runner is None:
            return
        total = len(runner.steps)
        self.progress.max, self.progress.value = max(total, 1), runner.done
        doing = runner.doing or f"{runner.done} of {total} messages"
        _set(self.status, f"<span>{escape(doing)}</span>")
        self.stop.disabled = not runner.busy
        self.run.disabled = runner.busy or (runner.done >= total > 0)
        self.step.disabled = self.run.disabled

    def _connect(self) -> None:
        dash, handled = self._dashboard, self._dashboard.handled
        self.run.on_click(handled(lambda _: dash.own_runner.run()))
        self.step.on_click(handled(lambda _: dash.own_runner.step()))
        self.stop.on_click(handled(lambda _: dash.stop()))
        self.reset.on_click(handled(lambda _: dash.reset()))
        self.export.on_click(handled(lambda _: self._exported()))
        self.send.on_click(handled(lambda _: self._sent()))
        self.later.on_click(handled(lambda _: dash.own_runner.add(Wait(self.hours.value))))

    def _sent(self) -> None:
        if text := self.message.value.strip():
            self._dashboard.own_runner.add(Say(self.session.value, text))
            self.message.value = ""

    def _exported(self) -> None:
        paths = self._dashboard.export()
        _set(self.status, f"written: {escape(', '.join(map(str, paths)))}")

    def _sessions(self) -> list[str]:
        """The script's first two conversations."""
        runner = self._dashboard.runner
        steps = runner.steps if runner else load_script("interleaved")
        found = list(dict.fromkeys(step.session for step in steps if isinstance(step, Say)))
        return [*found, "A", "B"][:2] if len(found) < 2 else found[:2]


def _said(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}"


def _button(text: str, icon: str, style: str, tip: str) -> widgets.Button:
    layout = {"width": "82px"}
    button = widgets.Button(description=text, icon=icon, button_style=style, tooltip=tip, layout=layout)
    return button.add_class(f"mlxl-{text.lower()}")


def _row(parts: list[Any]) -> widgets.HBox:
    return widgets.HBox(
        parts, layout=widgets.Layout(flex_flow="row wrap", align_items="center", grid_gap="0 6px")
    )


def _set(widget: widgets.HTML, value: str) -> None:
    if widget.value != value:
        widget.value = value
