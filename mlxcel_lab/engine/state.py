"""A model's cached state as a value: captured, measured, truncated and restored, for any cache class of mlx-lm.

A captured state shares no buffer with the cache it came from, so later decoding can't change it and no larger parent
buffer stays alive through it; every array in it is evaluated. Restoring copies, so a state can serve again. The walk
over a cache's attributes is generic; only truncation knows the classes, since only some of them can go back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .backend import mx
from .trim import trimmed
from .truncation import allows, cut


@dataclass(frozen=True, slots=True)
class Blank:
    """An array of which only shape and type are known: what a dry engine holds in place of values."""

    shape: tuple[int, ...]
    dtype: Any

    @classmethod
    def of(cls, array: Any) -> Blank:
        return cls(tuple(array.shape), array.dtype)

    @property
    def nbytes(self) -> int:
        size: int = self.dtype.size
        for length in self.shape:
            size *= length
        return size


@dataclass(frozen=True, slots=True, eq=False)
class LayerState:
    """One cache object: its class, and its attributes with arrays detached and nested caches as LayerStates."""

    kind: type[Any]
    fields: dict[str, Any]

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in _arrays(self))


@dataclass(frozen=True, eq=False)
class CapturedState:
    """The whole cached state after `num_tokens` tokens, one LayerState a layer."""

    num_tokens: int
    layers: tuple[LayerState, ...]

    @cached_property
    def nbytes(self) -> int:
        """What the arrays hold, in bytes: the state's accounted size."""
        return sum(layer.nbytes for layer in self.layers)

    def can_truncate(self, num_tokens: int) -> bool:
        """Whether every layer can be cut to its first `num_tokens` tokens. O(layers), copies nothing."""
        if num_tokens == self.num_tokens:
            return True
        return 0 < num_tokens < self.num_tokens and all(allows(entry, num_tokens) for entry in self.entries())

    def entries(self) -> list[Any]:
        """The cache objects over the very arrays held here: to look at, never to run on (`restore` is for that)."""
        return [_build(layer, _same) for layer in self.layers]

    def restore(self, num_tokens: int | None = None) -> list[Any]:
        """A cache of its own, ready to go on from, cut to `num_tokens` where given.

        Raises ValueError where a layer can't be cut to that length; nothing is copied then.
        """
        length = self.num_tokens if num_tokens is None else num_tokens
        if not self.can_truncate(length):
            raise ValueError(f"this state of {self.num_tokens} tokens can't be cut to {length}")
        cache = [_build(layer, _copy) for layer in self.layers]
        if length < self.num_tokens:
            for layer in cache:
                cut(layer, length)
        mx.eval([array for array in _arrays(cache) if array is not None] if self._holds_values else [])
        return cache

    @property
    def _holds_values(self) -> bool:
        return not any(isinstance(array, Blank) for array in _arrays(self.layers))

    def __repr__(self) -> str:
        kinds = ", ".join(sorted({layer.kind.__name__ for layer in self.layers}))
        return f"CapturedState({self.num_tokens} tokens, {len(self.layers)} layers of {kinds}, {self.nbytes:,} bytes)"


def capture(cache: Sequence[Any], num_tokens: int, *, dry: bool = False, trim: bool = False) -> CapturedState:
    """Detaches a cache that holds exactly `num_tokens` tokens; `dry` keeps shapes and types alone.

    `trim` keeps of keys and values what the tokens need (see trim.py) instead of all that mlx-lm allocated.

    Raises TypeError for the cache classes of batched generation: they hold several conversations at once.
    """
    hold: Callable[[Any], Any] = Blank.of if dry else _copy
    layers = tuple(_detach(layer, hold) for layer in (trimmed(cache) if trim else cache))
    if not dry:
        mx.eval([*_arrays(layers)])
    return CapturedState(num_tokens, layers)


def measure(cache: Sequence[Any], *, trim: bool = False) -> int:
    """What capturing this cache would hold, in bytes, without copying anything."""
    return capture(cache, 0, dry=True, trim=trim).nbytes


def _copy(array: Any) -> Any:
    # mx.array of an array is a real copy into a buffer of exactly its size (a deepcopy would share the buffer, and
    # mx.contiguous would keep a parent alive through a view).
    return mx.zeros(array.shape, array.dtype) if isinstance(array, Blank) else mx.array(array)


def _same(array: Any) -> Any:
    return mx.zeros(array.shape, array.dtype) if isinstance(array, Blank) else array


def _detach(layer: Any, hold: Callable[[Any], Any]) -> LayerState:
    if type(layer).__name__.startswith("Batch"):
        raise TypeError(
            f"{type(layer).__name__} holds a batch of conversations: capture one conversation's cache"
        )
    return LayerState(type(layer), {name: _held(value, hold) for name, value in vars(layer).items()})


def _held(value: Any, hold: Callable[[Any], Any]) -> Any:
    if isinstance(value, mx.array):
        return hold(value)
    if isinstance(value, list | tuple):
        return type(value)(_held(item, hold) for item in value)
    return _detach(value, hold) if hasattr(value, "is_trimmable") else value


def _build(layer: LayerState, take: Callable[[Any], Any]) -> Any:
    made: Any = object.__new__(layer.kind)
    for name, value in layer.fields.items():
        setattr(made, name, _taken(value, take))
    return made


def _taken(value: Any, take: Callable[[Any], Any]) -> Any:
    if isinstance(value, mx.array | Blank):
        return take(value)
    if isinstance(value, list | tuple):
        return type(value)(_taken(item, take) for item in value)
    return _build(value, take) if isinstance(value, LayerState) else value


def _arrays(value: Any) -> Iterator[Any]:
    """Every array (or Blank) in layers, caches and their nested attributes."""
    if isinstance(value, mx.array | Blank):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _arrays(item)
    elif isinstance(value, LayerState):
        yield from _arrays(list(value.fields.values()))
    elif hasattr(value, "is_trimmable"):
        yield from _arrays(list(vars(value).values()))


__all__ = ["Blank", "CapturedState", "LayerState", "capture", "measure"]
