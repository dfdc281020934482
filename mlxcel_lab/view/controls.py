"""The controls that decide a run, as ipywidgets: they hold a `Setup`, and say when a person changed it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import ipywidgets as widgets

from ..engine import known_configs, lab_models, templates
from ..store import CacheKey, make_rule, rule_names
from .cache_run import DRY
from .script import script_names
from .setup import BYTES_FROM, Setup

_EACH = ("rule", "budget", "boundary", "warmup")
_NARROW = {"description_width": "initial"}


def _dropdown(name: str, options: Sequence[str], value: str, width: str) -> widgets.Dropdown:
    options = [*options, *([] if value in options else [value])]
    return widgets.Dropdown(
        options=options, value=value, description=name, style=_NARROW, layout={"width": width}
    )


class CacheControls:
    """The settings of one cache: its rule, its budget in snapshots, boundary and warm-up."""

    def __init__(self, setup: Setup) -> None:
        self.rule = widgets.ToggleButtons(
            options=rule_names(),
            value=setup.rule,
            tooltips=[make_rule(name).explain(CacheKey()) for name in rule_names()],
            style={"button_width": "58px"},
            layout={"width": "auto"},
        )
        self.budget = widgets.FloatSlider(
            _in_snapshots(setup.budget), min=0, max=12, step=0.25, description="budget", style=_NARROW,
            continuous_update=False, readout_format=".2f", layout={"width": "160px"},
            tooltip="How many snapshots of this model the store may hold",
        )  # fmt: skip
        self.boundary = _check("boundary", setup.boundary, "Also take a snapshot where the history ends")
        self.warmup = _check("warm-up", setup.warmup, "Prefill the next turn's history while idle")

    def fields(self) -> list[Any]:
        return [getattr(self, name) for name in _EACH]

    def values(self) -> dict[str, Any]:
        return {name: getattr(self, name).value for name in _EACH}

    def show(self, setup: Setup) -> None:
        for name in _EACH:
            value = getattr(setup, name)
            getattr(self, name).value = _in_snapshots(value) if name == "budget" else value


class Controls:
    """`setup` is what the controls say now; `on_change` is called when a person changed something."""

    def __init__(self, setup: Setup, on_change: Callable[[], None]) -> None:
        self._base, self._on_change, self._unit = setup, on_change, 0
        self._silent, self._typed_bytes = False, setup.budget >= BYTES_FROM
        sides = setup.sides()
        self.cache = CacheControls(setup)
        self.other = CacheControls(sides[0] if len(sides) > 1 else replace(setup, rule="off"))
        self.compare = _check(
            "compare with", len(sides) > 1, "The same traffic under other settings, shown above"
        )
        self.compare.layout.width = "116px"
        models = [*lab_models(), *(f"{DRY}{name}" for name in known_configs())]
        self.model = _dropdown("model", models, setup.model, "220px")
        self.template = _dropdown("template", templates(), setup.template, "170px")
        self.script = _dropdown("script", script_names(), setup.script, "190px")
        self.budget_bytes = widgets.IntText(
            0, description="bytes", style=_NARROW, layout={"width": "118px"}, continuous_update=False
        )
        self.ttl_seconds = widgets.FloatText(
            setup.ttl_seconds, description="time to live (s)", style=_NARROW, layout={"width": "170px"}
        )
        self.box = self._layout()
        for field in self._fields():
            field.observe(self._changed, names="value")

    @property
    def setup(self) -> Setup:
        """Raises a ValueError that says which value can't be."""
        values, others = self.cache.values(), self.other.values()
        differing = ", ".join(
            f"{name} {_text(others[name])}" for name in values if values[name] != others[name]
        )
        values["budget"] = self._budget()
        return replace(
            self._base, model=self.model.value, template=self.template.value, script=self.script.value,
            ttl_seconds=self.ttl_seconds.value, compare=differing if self.compare.value else "", **values,
        )  # fmt: skip

    def show(self, setup: Setup) -> None:
        """Set the controls without calling `on_change`."""
        self._base, sides = setup, setup.sides()
        self._typed_bytes = setup.budget >= BYTES_FROM
        with self._quietly():
            self.cache.show(setup)
            self.compare.value = len(sides) > 1
            if len(sides) > 1:
                self.other.show(sides[0])
            for name in ("model", "template", "script", "ttl_seconds"):
                getattr(self, name).value = getattr(setup, name)
        self.show_unit(self._unit)

    def show_unit(self, unit: int) -> None:
        """The size of one of the model's snapshots is known: say the budget in bytes, too."""
        self._unit = unit
        with self._quietly():
            self.budget_bytes.value = self._base.config(unit).snapshot_capacity_bytes

    def _budget(self) -> float:
        """In bytes where those were typed, in snapshots where the slider says it."""
        return max(self.budget_bytes.value, BYTES_FROM) if self._typed_bytes else self.cache.budget.value

    def _changed(self, change: Any) -> None:
        if self._silent:
            return
        self._show_other()
        with self._quietly():
            self._keep_together(change)
        self._on_change()

    def _keep_together(self, change: Any) -> None:
        """Bytes and slider say the same; the other cache follows in what it had in common."""
        owner, before = change["owner"], self.cache.budget.value
        if owner is self.cache.budget:
            before, self._typed_bytes = change["old"], False
            self.budget_bytes.value = round(self.cache.budget.value * self._unit)
        elif owner is self.budget_bytes and self._unit:
            self._typed_bytes = True
            self.cache.budget.value = self.budget_bytes.value / self._unit
        if self.other.budget.value == before:
            self.other.budget.value = self.cache.budget.value
        for mine, its in ((self.cache.boundary, self.other.boundary), (self.cache.warmup, self.other.warmup)):
            if owner is mine and its.value == change["old"]:
                its.value = change["new"]

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """While the controls are set by the program and not by a person."""
        self._silent = True
        try:
            yield
        finally:
            self._silent = False

    def _fields(self) -> list[Any]:
        own = [self.model, self.template, self.script, self.budget_bytes, self.ttl_seconds, self.compare]
        return [*own, *self.cache.fields(), *self.other.fields()]

    def _show_other(self) -> None:
        for field in self.other.fields():
            field.layout.visibility = "visible" if self.compare.value else "hidden"

    def _layout(self) -> widgets.VBox:
        self._show_other()
        name = widgets.Label("supersede", layout={"width": "116px"})
        rows = [
            [self.model, self.template, self.script, self.ttl_seconds],
            [name, *self.cache.fields(), self.budget_bytes],
            [self.compare, *self.other.fields()],
        ]
        return widgets.VBox([widgets.HBox(row, layout=_wrapping()) for row in rows])


def _check(name: str, value: bool, tip: str) -> widgets.Checkbox:
    return widgets.Checkbox(value, description=name, tooltip=tip, indent=False, layout={"width": "94px"})


def _wrapping() -> widgets.Layout:
    return widgets.Layout(flex_flow="row wrap", align_items="center", grid_gap="0 8px")


def _in_snapshots(budget: float) -> float:
    """The slider's value; a budget in bytes is told by the field beside it."""
    return budget if budget < BYTES_FROM else 0.0


def _text(value: Any) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
