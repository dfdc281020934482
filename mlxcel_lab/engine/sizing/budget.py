"""The budget to set for wanted conversations, and what a given budget keeps warm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from ..geometry import Geometry, build
from .allocators import Allocator, find_allocator
from .breakdown import totals_of
from .memory import FreeMemory, free_memory, weights_bytes
from .model import SizeModel
from .workload import ResidentSnapshot, Sizer, Workload, hits_in_the_last_round, resident

MOST_CONVERSATIONS = 128  # how far a cliff is looked for, unless a workload has more of them


@dataclass(frozen=True)
class Cliff:
    """What a budget keeps warm when conversations are served in turn, by running a store.

    Up to `all_warm` conversations every one hits in the last round (at least, where that is MOST_CONVERSATIONS: none
    more are tried); from `all_cold` on none does (None: not seen). `oversized_from` is the prompt length from which a
    snapshot is refused (None: never).
    """

    capacity_bytes: int
    all_warm: int
    all_cold: int | None
    oversized_from: int | None

    @property
    def advice(self) -> str:
        """What this budget means, in sentences."""
        if not self.capacity_bytes:
            return "No snapshot can be kept."
        least = "at least " if self.all_warm >= MOST_CONVERSATIONS else ""
        says = [f"Served in turn, {least}{self.all_warm} stay warm under {self.capacity_bytes:,} B"]
        says.append(f" and all go cold from {self.all_cold} on." if self.all_cold else ".")
        if self.oversized_from is not None:
            says.append(f" A prompt of {self.oversized_from:,} tokens is refused as oversized.")
        return "".join(says)


@dataclass(frozen=True)
class Policy:
    """A named capacity: `parts` add up to `entry_bytes`; `capacity_bytes` is `entries` of them, or the ceiling."""

    name: str
    entry_bytes: int
    entries: int
    capacity_bytes: int
    capped: bool
    parts: Mapping[str, int] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        parts = " + ".join(f"{kind} {size:,}" for kind, size in self.parts.items())
        capped = "; capped at a quarter of the free memory" if self.capped else ""
        return f"{self.entries} entries of {self.entry_bytes:,} B ({parts}) for 8,192 tokens{capped}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and for the journal."""
        return {**asdict(self), "parts": dict(self.parts), "reason": self.reason}


@dataclass(frozen=True)
class Recommendation:
    """A capacity for a workload, its parts, and what it keeps warm. All sizes in bytes.

    `cliff` is that of the wanted capacity, `limited` that of the ceiling where it is lower.
    """

    workload: Workload
    allocator: str
    trimmed: bool
    snapshots: tuple[ResidentSnapshot, ...]
    wanted_bytes: int
    ceiling_bytes: int
    free: FreeMemory
    weights_bytes: int
    working_bytes: int
    cliff: Cliff
    limited: Cliff | None
    mlxcel: Policy

    @property
    def fits(self) -> bool:
        return self.wanted_bytes <= self.ceiling_bytes

    @property
    def capacity_bytes(self) -> int:
        """What to set: the wanted capacity, or the ceiling where memory is short."""
        return min(self.wanted_bytes, self.ceiling_bytes)

    @property
    def entries(self) -> int:
        """The resident snapshots of all conversations together: max_entries must allow as many."""
        return self.workload.conversations * len(self.snapshots)

    @property
    def advice(self) -> str:
        """In sentences: what to set, what it keeps warm, and at which number of conversations all go cold."""
        work = self.workload
        if not self.cliff.all_warm:
            return f"Nothing hits at any capacity: the rule {work.rule!r} keeps no snapshot that a next prompt extends."
        says = [
            f"{work.conversations} conversations of {work.tokens:,} tokens need {self.wanted_bytes:,} B.",
            self.cliff.advice,
        ]
        if self.limited is not None:
            says.append(
                f"Only {self.ceiling_bytes:,} B are free beside the model ({self.free.bytes:,} B less "
                f"{self.weights_bytes:,} B of weights and {self.working_bytes:,} B to work in). {self.limited.advice}"
            )
        return " ".join(says)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        told = {name: getattr(self, name) for name in ("fits", "capacity_bytes", "entries", "advice")}
        return {**asdict(self), **told}


def recommend(
    model: Mapping[str, Any] | Geometry,
    conversations: int = 1,
    tokens: int = 8192,
    turns: int = 1,
    *,
    reply_tokens: int = 0,
    append_only: bool = True,
    boundary: bool = True,
    rule: str = "origin",
    allocator: str | Allocator = "mlx-lm",
    trimmed: bool = False,
    dtype: str | None = None,
    fill: bool = False,
    free_bytes: int | None = None,
    loaded: bool = False,
) -> Recommendation:
    """The capacity that keeps so many conversations warm, under a ceiling of what is really free beside the model.

    `tokens`: a conversation's length at its last turn, reply included. `free_bytes`: the memory to plan with, before
    the model; None measures this machine's. `loaded`: the model is in memory already, its weights aren't taken off.
    """
    geometry = model if isinstance(model, Geometry) else build(dict(model), dtype, fill=fill)
    workload = Workload(conversations, tokens, turns, reply_tokens, append_only, boundary, rule)
    chosen = find_allocator(allocator)
    size = sizer(geometry, chosen, trimmed)
    kept = resident(workload, size)
    wanted = conversations * sum(snapshot.size_bytes for snapshot in kept)
    free = free_memory() if free_bytes is None else FreeMemory(free_bytes, "as given")
    weights = 0 if loaded else weights_bytes(geometry)
    # One conversation is live beside the store: its cache, and the copy of it that is being donated or restored.
    working = 2 * sizer(geometry, chosen, False)(workload.prompt_tokens(turns), reply_tokens)
    ceiling = max(free.bytes - weights - working, 0)
    curve = SizeModel.learn(geometry, allocator=chosen, trimmed=trimmed)
    return Recommendation(
        workload=workload,
        allocator=chosen.name,
        trimmed=trimmed,
        snapshots=kept,
        wanted_bytes=wanted,
        ceiling_bytes=ceiling,
        free=free,
        weights_bytes=weights,
        working_bytes=working,
        cliff=find_cliff(workload, size, wanted, curve),
        limited=find_cliff(workload, size, ceiling, curve) if ceiling < wanted else None,
        mlxcel=mlxcel_default(geometry, max(free.bytes - weights, 0)),
    )


def mlxcel_default(
    geometry: Geometry, free_bytes: int, *, allocator: str | Allocator = "mlxcel", trimmed: bool = False
) -> Policy:
    """mlxcel's model-aware default (its pull request 1509): six entries of 8,192 tokens, at most a quarter of the free.

    `free_bytes`: what is left beside the model. Scalars aren't counted, as in its figures.
    """
    sizes = totals_of(geometry, [8192], find_allocator(allocator), trimmed=trimmed)
    parts = {
        "KV": sum(sizes.get(kind, 0) for kind in ("kv", "window")),
        "fixed": sum(sizes.get(kind, 0) for kind in ("recurrent", "convolution")),
    }
    entry = sum(parts.values())
    ceiling = free_bytes // 4
    return Policy("mlxcel", entry, 6, min(6 * entry, ceiling), 6 * entry > ceiling, parts)


def sizer(geometry: Geometry, allocator: Allocator, trimmed: bool) -> Sizer:
    """The exact bytes after a prompt and a reply, each length run once."""

    @cache
    def size(prompt: int, generated: int) -> int:
        calls = allocator.split(prompt, generated)
        return sum(totals_of(geometry, calls, allocator, trimmed=trimmed).values())

    return size


def keeps_warm(model: Mapping[str, Any] | Geometry, capacity_bytes: int, workload: Workload) -> Cliff:
    """The other way round: what this capacity keeps warm of a workload's conversations, and what it refuses."""
    geometry = model if isinstance(model, Geometry) else build(dict(model))
    size = sizer(geometry, find_allocator("mlx-lm"), trimmed=False)
    return find_cliff(workload, size, capacity_bytes, SizeModel.learn(geometry))


def find_cliff(workload: Workload, size: Sizer, capacity: int, curve: SizeModel) -> Cliff:
    """How many conversations a capacity keeps warm when they are served in turn, and from how many on none is."""

    @cache
    def hits(conversations: int) -> int:
        return hits_in_the_last_round(workload, size, conversations, capacity)

    fit = curve.longest_within(capacity)
    most = (
        capacity // size(workload.prompt_tokens(1), 0) + 2
    )  # a snapshot each, and the shortest: no more can hit
    guess = capacity // sum(snapshot.size_bytes for snapshot in resident(workload, size))
    all_warm = _last(most, guess, lambda n: hits(n) == n)
    some_warm = _last(most, all_warm, lambda n: hits(n) > 0)
    return Cliff(
        capacity, all_warm, some_warm + 1 if some_warm < most else None, None if fit is None else fit + 1
    )


def _last(most: int, guess: int, holds: Callable[[int], bool]) -> int:
    """The last number in [1, most] up to which `holds` holds, else 0: by strides from the guess, then by halving."""
    good, bad, stride = 0, most + 1, 1
    probe = min(max(guess, 1), most)
    while good < probe < bad:
        if holds(probe):
            good, probe = probe, probe + stride if bad > most else bad
        else:
            bad, probe = probe, good or probe - stride
        stride *= 2
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
