"""Everything that decides a run of the dashboard, as plain values: what the controls set and a parameter file holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ..config import PromptCacheConfig
from ..store.words import size
from .script import Step, load_script, parse

MAX_TOKENS = 24  # of a reply where the model speaks itself
MIN_PREFIX_TOKENS = 8  # the lab's conversations are short
BYTES_FROM = 1000  # a budget from here on counts bytes


@dataclass(frozen=True, slots=True)
class Setup:
    """A run: a model, what is said to it, and one or two caches that see the same traffic.

    `budget` counts snapshots of the model's own size; 1,000 and more are bytes. `compare` says what differs in a second
    cache, e.g. "rule off" or "rule session, budget 1.5"; "" for none. `lines` are the steps, see `script.py`; where
    there are any they stand instead of `script`.
    """

    model: str = "gated-delta"
    template: str = "plain"
    script: str = "interleaved"
    rule: str = "origin"
    budget: float = 2.5
    ttl_seconds: float = 7200.0
    boundary: bool = False
    warmup: bool = False
    compare: str = "rule off"
    lines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "lines", tuple(self.lines))
        self.steps()
        for setup in self.sides():
            setup.config(snapshot_bytes=1)

    def steps(self) -> tuple[Step, ...]:
        return parse(self.lines) if self.lines else load_script(self.script)

    def sides(self) -> tuple[Setup, ...]:
        """One setup a cache: that of `compare` first, so that what it leads to stands above."""
        changes = self.changes()
        alone = replace(self, compare="") if self.compare else self
        return (replace(alone, **changes), alone) if changes else (alone,)

    def changes(self) -> dict[str, Any]:
        """What `compare` says, with the types of the fields."""
        found: dict[str, Any] = {}
        for part in filter(None, (part.strip() for part in self.compare.split(","))):
            name, _, text = part.partition(" ")
            if name not in COMPARED or not text.strip():
                raise ValueError(
                    f"compare {self.compare!r}: expected names with values, as in 'rule off, budget 2'; the names are "
                    f"{', '.join(COMPARED)}"
                )
            found[name] = _read(name, text.strip())
        return found

    def config(self, snapshot_bytes: int) -> PromptCacheConfig:
        """The cache's configuration, for a model whose snapshots have that size."""
        if not (math.isfinite(self.budget) and self.budget >= 0):
            raise ValueError(
                f"budget={self.budget!r}: expected a number of snapshots, or {BYTES_FROM} bytes and more"
            )
        in_bytes = self.budget >= BYTES_FROM
        return PromptCacheConfig(
            min_prefix_tokens=MIN_PREFIX_TOKENS,
            snapshot_capacity_bytes=round(self.budget * (1 if in_bytes else snapshot_bytes)),
            snapshot_ttl_seconds=self.ttl_seconds,
            supersede=self.rule,
            boundary=self.boundary,
            warmup=self.warmup,
        )

    def titles(self) -> tuple[str, ...]:
        """What a reader has to know of each side beside the other one."""
        named = ["rule", *(name for name in self.changes() if name != "rule")]
        return tuple(", ".join(_words(name, getattr(side, name)) for name in named) for side in self.sides())

    def parameters(self) -> dict[str, Any]:
        """The values under the names of the dashboard notebook's parameters."""
        return {**asdict(self), "lines": list(self.lines)}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Setup:
        """A setup out of parameters; unknown names are refused."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise TypeError(f"unknown setting {name!r}: expected one of {', '.join(known)}")
        return cls(**values)


COMPARED = ("rule", "budget", "ttl_seconds", "boundary", "warmup")
_SWITCHES = {"on": True, "true": True, "off": False, "false": False}


def _read(name: str, text: str) -> Any:
    if name == "rule":
        return text
    if name in ("boundary", "warmup"):
        if text.lower() not in _SWITCHES:
            raise ValueError(f"compare: {name} {text!r}: expected on or off")
        return _SWITCHES[text.lower()]
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"compare: {name} {text!r}: expected a number") from None


def _words(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"{name} {'on' if value else 'off'}"
    if name == "budget":
        return f"budget {size(value)}" if value >= BYTES_FROM else f"budget {value:g} snapshots"
    return f"time to live {value:g} s" if name == "ttl_seconds" else f"supersede {value}"
