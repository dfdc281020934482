"""A model's geometry without its weights: the cache of any mlx-lm family, exact in shape and type.

MLX is lazy. A model class built from a config.json and called without evaluation has computed nothing, yet its cache
has the shapes and types that the real one would have. Covered: every architecture that mlx-lm can build. Not covered:
values (every array here is a lazy zero) and what an allocator other than mlx-lm's would hold.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .backend import mx  # before anything else of MLX: it may have a BLAS to load first

# isort: split
import mlx.nn as nn
from mlx.utils import tree_map_with_path
from mlx_lm.models.cache import ArraysCache, CacheList, make_prompt_cache

from .classes import model_classes
from .neutral import MissingFields, complete, missing_in, with_aliases_read

_DTYPES = {"bfloat16": mx.bfloat16, "float16": mx.float16, "float32": mx.float32}


class GeometryError(ValueError):
    """A config that mlx-lm's classes can't build or call, and why."""


def build(config: dict[str, Any], dtype: str | None = None, *, fill: bool = False) -> Geometry:
    """The geometry of a config.json, without weights and without evaluating anything.

    `dtype` is the type of the activations (bfloat16, float16, float32); None takes the config's own, else bfloat16.
    `fill` gives fields that don't matter for the state's size their neutral value where the config lacks them; what was
    filled is in `Geometry.filled`. Raises MissingFields, which names them, or GeometryError.
    """
    config, notes = with_aliases_read(config)
    name = dtype or _own_dtype(config)
    if name not in _DTYPES:
        raise ValueError(f"unknown dtype {name!r}: expected one of {', '.join(_DTYPES)}")
    filled: dict[str, Any] = {}
    while True:
        try:
            model = _instantiate(config)
            break
        except TypeError as error:
            config = complete(config, missing_in(error), filled, fill, error)
    _cast(model, _DTYPES[name])
    geometry = Geometry(model, config, name, filled, notes)
    geometry.probe()
    return geometry


def _own_dtype(config: dict[str, Any]) -> str:
    text = config.get("text_config") or {}
    name = config.get("dtype") or config.get("torch_dtype") or text.get("dtype") or text.get("torch_dtype")
    return str(name or "bfloat16")


def _instantiate(config: dict[str, Any]) -> nn.Module:
    """mlx-lm's own class for this config. A TypeError (fields missing) passes through."""
    try:
        model_class, args_class = model_classes(config)
        model: nn.Module = model_class(args_class.from_dict(deepcopy(config)))  # some classes write into it
    except (ValueError, KeyError, AttributeError, IndexError, ZeroDivisionError, ImportError) as error:
        kind = config.get("model_type")
        raise GeometryError(f"mlx-lm can't build model_type {kind!r} from this config: {error!r}") from error
    return model


def _cast(model: nn.Module, dtype: mx.Dtype) -> None:
    """Give the lazy parameters the type that mlx-lm's converter gives them, sparing what a class wants spared."""
    wanted = getattr(model, "cast_predicate", lambda _: True)

    def cast(path: str, value: mx.array) -> mx.array:
        return value.astype(dtype) if mx.issubdtype(value.dtype, mx.floating) and wanted(path) else value

    model.update(tree_map_with_path(cast, model.parameters()))


def leaves(cache: Sequence[Any]) -> Iterator[Any]:
    """The cache objects of a prompt cache in order, with every CacheList opened."""
    for entry in cache:
        if isinstance(entry, CacheList):
            yield from leaves(entry.caches)
        else:
            yield entry


def settle(cache: Sequence[Any]) -> None:
    """Replace every array of a dry cache by a lazy zero of its shape and type, so that no graph grows."""
    for entry in leaves(cache):
        for name, value in vars(entry).items():
            setattr(entry, name, _zeros(value))


def _zeros(value: Any) -> Any:
    if isinstance(value, mx.array):
        return mx.zeros(value.shape, value.dtype)
    if isinstance(value, list | tuple):
        return type(value)(_zeros(item) for item in value)
    return value


@dataclass(eq=False)
class Geometry:
    """A model class without weights. `filled`: neutral values that were added; `notes`: what else was read in."""

    model: nn.Module
    config: dict[str, Any]
    dtype: str
    filled: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def new_cache(self) -> list[Any]:
        cache: list[Any] = make_prompt_cache(self.model)
        return cache

    def forward(self, cache: list[Any], num_tokens: int) -> None:
        """Call the model once on `num_tokens` tokens, unevaluated. Exact by construction; where mlx-lm runs a Python
        loop over the tokens (gated delta and RWKV without a GPU kernel) its cost grows with them."""
        self.model(mx.zeros((1, _positive(num_tokens)), mx.int32), cache=cache)
        settle(cache)

    def advance(self, cache: list[Any], num_tokens: int) -> None:
        """As `forward`, at a cost that doesn't depend on `num_tokens`: what each layer feeds its cache was seen in a
        probe call, and is fed to mlx-lm's own cache objects, which decide how they grow."""
        if self._feeds is None:
            self.forward(cache, num_tokens)
        else:
            self.append(cache, num_tokens)
            settle(cache)

    def append(self, cache: list[Any], num_tokens: int) -> list[Any]:
        """Feed every cache object zeros for `num_tokens` tokens and return their states, unevaluated and unsettled.

        Evaluating them does what a forward call does to the cache alone. Raises GeometryError where what the layers
        feed isn't known to be the same each time.
        """
        if self._feeds is None:
            raise GeometryError(
                f"model_type {self.config.get('model_type')!r} feeds its cache differently each time"
            )
        for entry, feed in zip(leaves(cache), self._feeds, strict=True):
            feed.into(entry, _positive(num_tokens))
        return [entry.state for entry in leaves(cache)]

    def cache_after(
        self, calls: Sequence[int], *, exact: bool = False, kv_bits: int | None = None
    ) -> list[Any]:
        """The cache after these forward calls, e.g. [94] + 45 * [1].

        `exact` calls the model each time. `kv_bits` quantises the keys and values after each call, as mlx-lm's
        generation does. Raises GeometryError where mlx-lm can't quantise this family's cache.
        """
        cache = self.new_cache()
        if not exact and kv_bits is None and self._feeds is not None:
            for first, *others in self._advance_alike(cache, calls):
                for other in others:
                    vars(other).update(vars(first))
            settle(cache)
            return cache
        for num_tokens in calls:
            (self.forward if exact else self.advance)(cache, num_tokens)
            self._quantise(cache, kv_bits)
        return cache

    def distinct_after(self, calls: Sequence[int]) -> list[tuple[Any, int]]:
        """As `cache_after`, one cache object for each kind of layer and how many there are: a few instead of dozens."""
        cache = self.new_cache()
        if self._feeds is None:
            return [(entry, 1) for entry in leaves(self.cache_after(calls))]
        return [(first, 1 + len(others)) for first, *others in self._advance_alike(cache, calls)]

    def _advance_alike(self, cache: list[Any], calls: Sequence[int]) -> list[list[Any]]:
        """Replay the calls for one of the layers that are alike: most models have two or three kinds of them."""
        alike: dict[Any, list[Any]] = {}
        for entry, feed in zip(leaves(cache), self._feeds or (), strict=True):
            settings = {k: v for k, v in vars(entry).items() if isinstance(v, int)}
            alike.setdefault((type(entry), feed, tuple(settings.items())), []).append(entry)
        for (_, feed, _), (first, *_) in alike.items():
            for num_tokens in calls:
                feed.into(first, _positive(num_tokens))
                settle([first])
        return list(alike.values())

    def _quantise(self, cache: list[Any], kv_bits: int | None) -> None:
        if kv_bits is None:
            return
        quantise = importlib.import_module("mlx_lm.generate").maybe_quantize_kv_cache
        try:
            quantise(cache, quantized_kv_start=0, kv_group_size=64, kv_bits=kv_bits)
        except (NotImplementedError, ValueError) as error:
            raise GeometryError(f"mlx-lm can't hold this cache in {kv_bits} bits: {error}") from error
        settle(cache)

    def probe(self) -> None:
        """Call the model once, so that a config that builds but can't run is told of here."""
        self._feeds  # noqa: B018

    @cached_property
    def _feeds(self) -> tuple[_Feed, ...] | None:
        """What each leaf is fed, from a call of two tokens and one more; None where that isn't the same each time."""
        cache = self.new_cache()
        try:
            self.forward(cache, 2)
            after_two = [_Feed.of(entry) for entry in leaves(cache)]
            self.forward(cache, 1)
        except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
            kind = self.config.get("model_type")
            raise GeometryError(
                f"mlx-lm builds model_type {kind!r} from this config but can't call it: {error!r}"
            ) from error
        steady = all(
            a is not None and a == _Feed.of(entry) for a, entry in zip(after_two, leaves(cache), strict=True)
        )
        return tuple(a for a in after_two if a is not None) if steady else None


def _positive(num_tokens: int) -> int:
    if num_tokens < 1:
        raise ValueError(f"a forward call takes at least one token, not {num_tokens}")
    return num_tokens


@dataclass(frozen=True)
class _Feed:
    """What one layer hands its cache in a call: shapes with the token axis left out, or states that replace."""

    arrays: tuple[tuple[tuple[int, ...], mx.Dtype] | None, ...]
    replaces: bool  # a recurrent state replaces the old one; keys and values are appended

    @classmethod
    def of(cls, entry: Any) -> _Feed | None:
        if isinstance(entry, ArraysCache):
            return cls(tuple(None if a is None else (a.shape, a.dtype) for a in entry.cache), replaces=True)
        if not hasattr(entry, "update_and_fetch"):
            return None
        pair = (entry.keys, entry.values)
        return cls(
            tuple(None if a is None else (_without_tokens(a.shape), a.dtype) for a in pair), replaces=False
        )

    def into(self, entry: Any, num_tokens: int) -> None:
        if self.replaces:
            entry.cache = [None if a is None else mx.zeros(*a) for a in self.arrays]
        elif all(a is not None for a in self.arrays):
            if hasattr(entry, "maybe_trim_front"):  # a chunked cache: its model calls this before it attends
                entry.maybe_trim_front()
            keys, values = (
                mx.zeros((*s[:2], num_tokens, *s[3:]), d) for s, d in (a for a in self.arrays if a)
            )
            entry.update_and_fetch(keys, values)


def _without_tokens(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[:2], 0, *shape[3:])


__all__ = ["Geometry", "GeometryError", "MissingFields", "build", "leaves", "settle"]
