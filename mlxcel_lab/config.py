"""The prompt cache's configuration: default < environment < flag, and where each value came from.

Names, defaults and the meaning of 0 are mlxcel's; `supersede` is the lab's own. Nothing is read from the process's
environment before `resolve` is called, and nothing here imports MLX.
"""

from __future__ import annotations

import html
import logging
import math
import operator
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

Source = Literal["default", "environment", "flag"]

AUTO = "auto"  # a capacity that is known when the model is: see engine/sizing/auto.py
# store/rules.py and store/learned.py have a class for each
SUPERSEDE_RULES = ("off", "session", "origin", "learned")

_LOG = logging.getLogger("mlxcel_lab.config")
_WORDS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(("0", "false", "no", "off"), False)


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.lower() not in _WORDS:
        raise ValueError("expected true or false")
    return _WORDS[value.lower()]


def _count(value: object) -> int:
    # Plain decimal digits only: int() would also take "1_000", which mlxcel refuses.
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value):
        value = int(value)
    if isinstance(value, str | bool) or not hasattr(value, "__index__"):
        raise ValueError("expected a whole number, 0 or more")
    if (number := operator.index(value)) < 0:
        raise ValueError("must not be negative, expected a whole number, 0 or more")
    return number


def _seconds(value: object) -> float:
    if isinstance(value, str) and re.fullmatch(r"[+-]?([0-9]+\.[0-9]*|\.[0-9]+)", value):
        value = float(value)
    if isinstance(value, float) and math.isfinite(value) and value >= 0:
        return value
    try:
        return _count(value)
    except ValueError:
        raise ValueError("expected a finite number of seconds, 0 or more") from None


def _capacity(value: object) -> int | str:
    if isinstance(value, str) and value.lower() == AUTO:
        return AUTO
    try:
        return _count(value)
    except ValueError as error:
        raise ValueError(f"{error}, or {AUTO}") from None


def _rule(value: object) -> str:
    if value not in SUPERSEDE_RULES:
        raise ValueError(f"expected one of {', '.join(SUPERSEDE_RULES)}")
    return str(value)


def _not_disabled(value: object) -> bool:
    """An environment's MLXCEL_DISABLE_* (text, where "1" disables), or the field itself (a bool)."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise ValueError("expected true or false")
    if value not in ("0", "1"):
        raise ValueError("expected 1 to disable, or 0")
    return value == "0"


class Setting(NamedTuple):
    """One row of the configuration: its names, how a value is read, what 0 does, and its help."""

    field: str
    flag: str | None
    environment: str
    read: Callable[[object], Any]
    help: str
    zero: str = ""


_CACHE = "MLXCEL_PROMPT_CACHE"
SETTINGS: tuple[Setting, ...] = (
    Setting("enabled", "--prompt-cache-enabled", f"{_CACHE}_ENABLED", _boolean, "Keep snapshots at all."),
    Setting("min_prefix_tokens", "--prompt-cache-min-prefix", f"{_CACHE}_MIN_PREFIX", _count,
            "Shortest prefix, in tokens, worth storing or restoring.", "a prefix of any length is stored"),
    Setting("snapshot_capacity_bytes", "--prompt-cache-snapshot-capacity-bytes", f"{_CACHE}_SNAPSHOT_CAPACITY_BYTES",
            _capacity, "Budget of all resident snapshots together, in bytes, or auto: by the model's own sizes.",
            "every snapshot is rejected"),
    Setting("snapshot_max_entries", "--prompt-cache-snapshot-max-entries", f"{_CACHE}_SNAPSHOT_MAX_ENTRIES",
            _count, "Most snapshots resident at once.", "every snapshot is evicted at once"),
    Setting("snapshot_ttl_seconds", "--prompt-cache-snapshot-ttl", f"{_CACHE}_SNAPSHOT_TTL", _seconds,
            "Seconds without a hit after which a snapshot expires.", "no snapshot ever expires"),
    Setting("supersede", "--prompt-cache-supersede", "MLXCEL_LAB_SUPERSEDE", _rule,
            "Which older snapshots of a conversation a newer one replaces."),
    Setting("boundary", None, "MLXCEL_DISABLE_BOUNDARY_SNAPSHOT", _not_disabled,
            "Take a snapshot where the history ends."),
    Setting("warmup", None, "MLXCEL_DISABLE_CACHE_WARMUP", _not_disabled,
            "Prefill the next turn's history while idle."),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PromptCacheConfig:
    """What the snapshot store and the engine obey. A bad value raises a ValueError; an unknown field a TypeError."""

    enabled: bool = True
    min_prefix_tokens: int = 32
    snapshot_capacity_bytes: int | str = 536_870_912  # or AUTO
    snapshot_max_entries: int = 4096
    snapshot_ttl_seconds: float = 7200
    supersede: str = "origin"
    boundary: bool = True
    warmup: bool = True

    def __post_init__(self) -> None:
        for setting in SETTINGS:
            value = getattr(self, setting.field)
            if isinstance(value, str) and setting.field != "supersede" and value != AUTO:
                raise ValueError(
                    f"{setting.field}={value!r}: expected a value, not its text; resolve() reads texts"
                )
            object.__setattr__(self, setting.field, _read(setting, value, setting.field))

    @property
    def capacity_bytes(self) -> int:
        """The budget as a number. Raises ValueError while it is `auto`, which only a model can resolve."""
        if isinstance(self.snapshot_capacity_bytes, str):
            raise ValueError(
                "snapshot_capacity_bytes is auto: give the config to an Engine, which knows its model, or resolve it "
                "with mlxcel_lab.engine.sizing.with_capacity(config, model)"
            )
        return self.snapshot_capacity_bytes


class Message(NamedTuple):
    """Something to tell once at start: `level` is `logging`'s."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """A configuration, per field where its value came from, and what is to be told about it."""

    config: PromptCacheConfig
    sources: Mapping[str, Source]
    messages: tuple[Message, ...] = ()

    def log(self, logger: logging.Logger = _LOG) -> None:
        """Say the messages, then every resolved value with its source: a server's start-up lines."""
        for level, text in self.messages:
            logger.log(level, text)
        values = (f"{field}={value} ({self.sources[field]})" for field, value in asdict(self.config).items())
        logger.info("prompt cache: %s", ", ".join(values))

    def rows(self) -> list[dict[str, Any]]:
        """One row a field: field, value, source, flag, environment."""
        return [
            {"field": s.field, "value": getattr(self.config, s.field), "source": self.sources[s.field],
             "flag": s.flag, "environment": s.environment}
            for s in SETTINGS
        ]  # fmt: skip

    def _repr_html_(self) -> str:
        def line(cells: list[object], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"

        body = "".join(line(["-" if v is None else v for v in row.values()], "td") for row in self.rows())
        said = "".join(f"<br>{html.escape(text)}" for _, text in self.messages)
        return f"<table>{line(['field', 'value', 'source', 'flag', 'environment'], 'th')}{body}</table>{said}"


def resolve(flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Resolved:
    """The configuration out of flags (by field name; None: not given) over the environment over the defaults.

    A bad or unknown flag raises a ValueError. An environment value that doesn't parse is warned of and ignored, never
    a silent zero. `environ` is the process's own unless given.
    """
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    _refuse_unknown(given)
    env = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    messages: list[Message] = []
    for setting in SETTINGS:
        read = _from_environment(setting, env, messages)
        sources[setting.field] = "environment" if read else "default"
        values.update({setting.field: read[0]} if read else {})
        if setting.flag and setting.field in given:
            values[setting.field] = _read(setting, given[setting.field], setting.flag)
            sources[setting.field] = "flag"
            if read:
                told = f"{setting.flag} ({values[setting.field]}) beats {setting.environment} ({read[0]})"
                messages.append(Message(logging.INFO, told))
    config = PromptCacheConfig(**values)
    return Resolved(config, sources, (*messages, *_zeros(config)))


def _refuse_unknown(flags: Mapping[str, Any]) -> None:
    known = {setting.field: setting for setting in SETTINGS}
    for name in flags:
        if name not in known:
            expected = ", ".join(s.field for s in SETTINGS if s.flag)
            raise ValueError(f"unknown setting {name!r}: expected one of {expected}")
        if known[name].flag is None:
            raise ValueError(
                f"{name} has no flag: set {known[name].environment}=1 in the environment to disable it"
            )


def _read(setting: Setting, value: object, name: str) -> Any:
    try:
        return setting.read(value.strip() if isinstance(value, str) else value)
    except ValueError as error:
        raise ValueError(f"{name}={value!r}: {error}") from None


def _from_environment(setting: Setting, env: Mapping[str, str], messages: list[Message]) -> tuple[Any] | None:
    if setting.environment not in env:
        return None
    try:
        return (_read(setting, env[setting.environment], setting.environment),)
    except ValueError as error:
        messages.append(Message(logging.WARNING, f"{error}; ignored"))
        return None


def _zeros(config: PromptCacheConfig) -> list[Message]:
    return [
        Message(logging.WARNING, f"{setting.field} is 0: {setting.zero}")
        for setting in SETTINGS
        if setting.zero and getattr(config, setting.field) == 0
    ]
