"""The bytes of a snapshot, by layer and by kind, as allocated and as trimmed to the tokens held.

Sizes are read off the shapes of a cache, live or dry; there is no formula of any family here. Kinds: `kv` (keys and
values of every token), `window` (of the last ones), `recurrent` (a state of fixed size), `convolution` (the last few
inputs of a short convolution), `scalars` (an allocator's own side tensors).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..backend import mx
from ..geometry import CacheList, Geometry, build
from ..trim import trimmed
from .allocators import Allocator, find_allocator
from .calls import Calls, format_calls, parse_calls

KINDS = ("kv", "window", "recurrent", "convolution", "scalars")
_WINDOWS = {"RotatingKVCache", "ChunkedKVCache"}


@dataclass(frozen=True, slots=True)
class Part:
    """One array of one layer. `layer` is the entry's place in the model's cache list, `name` the array's in it."""

    layer: int
    cache: str  # the class of the cache object
    name: str
    kind: str
    allocated: int
    trimmed: int


@dataclass(frozen=True)
class Breakdown:
    """A snapshot's bytes, part by part. `calls` is the text of the forward calls, `tokens` their sum."""

    parts: tuple[Part, ...]
    calls: str
    tokens: int
    allocator: str
    dtype: str
    filled: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def allocated(self) -> int:
        return sum(part.allocated for part in self.parts)

    @property
    def trimmed(self) -> int:
        return sum(part.trimmed for part in self.parts)

    def by_kind(self, *, trimmed: bool = False) -> dict[str, int]:
        """Bytes of each kind that occurs, in the order of KINDS."""
        totals = _total(((p.kind, p) for p in self.parts), trimmed)
        return {kind: totals[kind] for kind in KINDS if kind in totals}

    def by_layer(self, *, trimmed: bool = False) -> dict[int, int]:
        """Bytes of each entry of the model's cache list."""
        return _total(((p.layer, p) for p in self.parts), trimmed)

    def rows(self) -> list[dict[str, Any]]:
        """Plain rows: layer, cache, kind, name, allocated, trimmed."""
        return [{f: getattr(p, f) for f in Part.__slots__} for p in self.parts]

    def __repr__(self) -> str:
        kinds = ", ".join(f"{kind} {size:,}" for kind, size in self.by_kind().items())
        size = f"{self.allocated:,} B ({kinds}); trimmed {self.trimmed:,} B"
        return f"<Breakdown {self.calls} on {self.allocator}: {size}>"

    def _repr_html_(self) -> str:
        cut = self.by_kind(trimmed=True)
        lines = [(kind, size, cut[kind]) for kind, size in self.by_kind().items()]
        body = "".join(
            f"<tr><td>{kind}</td><td>{a:,}</td><td>{t:,}</td></tr>"
            for kind, a, t in [*lines, ("<b>all</b>", self.allocated, self.trimmed)]
        )
        head = f"<th>{self.calls} tokens, {self.allocator}, {self.dtype}</th><th>allocated B</th><th>trimmed B</th>"
        return f"<table><tr>{head}</tr>{body}</table>"


def snapshot_bytes(
    model: Mapping[str, Any] | Geometry,
    calls: Calls,
    *,
    kv_bits: int | None = None,
    allocator: str | Allocator = "mlx-lm",
    fill: bool = False,
) -> Breakdown:
    """The bytes held after these forward calls, from a config alone.

    `calls`: 72, "94+45x1" or a list; split a prompt as an allocator does with `Allocator.split`. `model`: a config as
    read from config.json, or a Geometry, which is built once for many questions. Raises MissingFields, GeometryError.
    """
    geometry = model if isinstance(model, Geometry) else build(dict(model), fill=fill)
    lengths = parse_calls(calls)
    cache = geometry.cache_after(lengths, kv_bits=kv_bits)
    parts = parts_of(cache, find_allocator(allocator))
    name = find_allocator(allocator).name
    text = format_calls(lengths)
    return Breakdown(parts, text, sum(lengths), name, geometry.dtype, geometry.filled, geometry.notes)


def totals_of(
    geometry: Geometry,
    calls: Sequence[int],
    allocator: Allocator,
    *,
    trimmed: bool = False,
    exact: bool = False,
) -> dict[str, int]:
    """The bytes of each kind after these calls: as a breakdown's, from one layer of each sort. `exact`: all of them."""
    entries = geometry.distinct_after(calls)
    if exact:
        entries = [(entry, 1) for entry in geometry.cache_after(calls, exact=True)]
    totals: dict[str, int] = {}
    for part in parts_of([entry for entry, _ in entries], allocator):
        size = (part.trimmed if trimmed else part.allocated) * entries[part.layer][1]
        totals[part.kind] = totals.get(part.kind, 0) + size
    return totals


def parts_of(cache: Sequence[Any], allocator: Allocator) -> tuple[Part, ...]:
    """The parts of a cache, live or dry, as this allocator would hold it."""
    cut = trimmed(cache)
    parts = [
        p for i, (whole, less) in enumerate(zip(cache, cut, strict=True)) for p in _parts(i, whole, less)
    ]
    hybrid = any(part.kind in ("recurrent", "convolution") for part in parts)
    narrowed = [
        _narrow(part) if allocator.narrow_state and part.kind == "recurrent" else part for part in parts
    ]
    return (*narrowed, *(() if hybrid else _scalars(parts, allocator)))


def _parts(layer: int, whole: Any, less: Any) -> Iterator[Part]:
    if isinstance(whole, CacheList):
        for outer, inner in zip(whole.caches, less.caches, strict=True):
            yield from _parts(layer, outer, inner)
        return
    cut = dict(_arrays(less))
    for name, arrays in _arrays(whole):
        sizes = sum(a.nbytes for a in arrays), sum(a.nbytes for a in cut[name])
        yield Part(layer, type(whole).__name__, name, _kind(whole, name, arrays[0]), *sizes)


def _arrays(entry: Any) -> Iterator[tuple[str, list[mx.array]]]:
    """The named arrays of a cache object: keys, values, cache[0]. Quantised keys are three arrays under one name."""
    for name, value in vars(entry).items():
        if name == "cache":
            yield from ((f"cache[{i}]", [a]) for i, a in enumerate(value) if a is not None)
        elif isinstance(value, mx.array):
            yield name, [value]
        elif isinstance(value, list | tuple) and value and isinstance(value[0], mx.array):
            yield name, list(value)


def _kind(entry: Any, name: str, array: mx.array) -> str:
    if not name.startswith("cache["):
        return "window" if type(entry).__name__ in _WINDOWS or name == "window" else "kv"
    # A convolution keeps its last inputs, (1, kernel - 1, channels): far fewer of them than channels.
    last_inputs = array.ndim == 3 and array.shape[1] < array.shape[2]
    return "convolution" if last_inputs else "recurrent"


def _narrow(part: Part) -> Part:
    """A float32 state in 16 bits."""
    return Part(part.layer, part.cache, part.name, part.kind, part.allocated // 2, part.trimmed // 2)


def _scalars(parts: Iterable[Part], allocator: Allocator) -> Iterator[Part]:
    for layer, cache in dict.fromkeys((part.layer, part.cache) for part in parts):
        if size := allocator.scalars.get(cache, 0):
            yield Part(layer, cache, "scalars", "scalars", size, size)


def _total(keyed: Iterable[tuple[Any, Part]], trimmed: bool) -> dict[Any, int]:
    totals: dict[Any, int] = {}
    for key, part in keyed:
        totals[key] = totals.get(key, 0) + (part.trimmed if trimmed else part.allocated)
    return totals
