"""What goes wrong with mlx-lm's `LRUPromptCache`, situation by situation, and what our store does in its place.

Each situation is built on both through the same interface, and what came of it is looked at, not assumed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import polars as pl

from ..config import PromptCacheConfig
from ..engine import LabModel
from ..engine.backend import mx
from ..engine.worker import mlx_thread
from ..serve.mlx_lm_cache import PerCacheType, SnapshotPromptCache
from ..store import SnapshotStore

_WORDS = list(range(300, 500))
_UNBOUNDED = 2**40

Cache = Any
"""An `LRUPromptCache` or a `SnapshotPromptCache`."""


def faults(model: LabModel) -> pl.DataFrame:
    """A row a situation: `situation`, `asks` (what is looked at), `peer`, `ours`, `right` (what it should be)."""
    return pl.DataFrame(mlx_thread().run(lambda: [_row(situation, model) for situation in _SITUATIONS]))


class Situation(NamedTuple):
    """What happens, what is looked at, what it should be, and how it is built on a cache made by the given maker."""

    text: str
    asks: str
    right: Any
    build: Callable[[LabModel, Callable[..., Cache]], Any]


def _row(situation: Situation, model: LabModel) -> dict[str, Any]:
    seen = {side: situation.build(model, make) for side, make in (("peer", _peer), ("ours", _ours))}
    shown = {name: str(value) for name, value in {**seen, "right": situation.right}.items()}
    return {"situation": situation.text, "asks": situation.asks, **shown}


def _whole_prompt(model: LabModel, make: Callable[..., Cache]) -> int:
    cache = make()
    cache.insert_cache("m", _WORDS[:59], _holding(model, _WORDS[:59]), cache_type="user")
    cache.insert_cache("m", _WORDS[:60], _holding(model, _WORDS[:60]))
    return len(cache.fetch_nearest_cache("m", _WORDS[:60])[1])


def _oversized(model: LabModel, make: Callable[..., Cache]) -> int:
    small = _holding(model, _WORDS[:40])
    cache = make(max_bytes=sum(layer.nbytes for layer in small))
    cache.insert_cache("m", _WORDS[:40], small)
    cache.insert_cache("m", _WORDS[::-1] * 8, _holding(model, _WORDS * 8))
    return len(cache)


def _in_use(model: LabModel, make: Callable[..., Cache]) -> bool:
    cache = make(max_size=2)
    for start in (0, 40):
        cache.insert_cache("m", _WORDS[start : start + 40], _holding(model, _WORDS[start : start + 40]))
    cache.fetch_nearest_cache("m", _WORDS[:45])
    cache.insert_cache("m", _WORDS[80:120], _holding(model, _WORDS[80:120]))
    return cache.fetch_nearest_cache("m", _WORDS[:45])[0] is not None


def _bad_type(model: LabModel, make: Callable[..., Cache]) -> int:
    cache = make()
    try:
        cache.insert_cache("m", _WORDS[:40], _holding(model, _WORDS[:40]), cache_type="robot")
    except (KeyError, ValueError):
        return int(cache.nbytes)
    raise AssertionError("an unknown cache type was taken")


def _donor_goes_on(model: LabModel, make: Callable[..., Cache]) -> bool:
    cache, donor = make(), _holding(model, _WORDS[:60])
    cache.insert_cache("m", _WORDS[:60], donor)
    _logits(model, donor, _WORDS[100:110])
    found, rest = cache.fetch_nearest_cache("m", _WORDS[:70])
    expected = _logits(model, _holding(model, _WORDS[:60]), _WORDS[60:70])
    return bool(mx.array_equal(_logits(model, found, rest), expected).item())


_SITUATIONS = (
    Situation("The stored vector is asked for again", "tokens left to forward", 1, _whole_prompt),
    Situation("A snapshot larger than the whole budget is donated", "other entries left", 1, _oversized),
    Situation("The older of two entries is in use when a third one comes", "it still hits", True, _in_use),
    Situation(
        "A donation names an unknown cache type and is refused", "bytes accounted for it", 0, _bad_type
    ),
    Situation(
        "The donor decodes on with the cache that it donated",
        "the stored state is as it was",
        True,
        _donor_goes_on,
    ),
)


def _peer(max_size: int = 10, max_bytes: int = _UNBOUNDED) -> Cache:
    from mlx_lm.models.cache import LRUPromptCache

    return LRUPromptCache(max_size=max_size, max_bytes=max_bytes)


def _ours(max_size: int = 10, max_bytes: int = _UNBOUNDED) -> Cache:
    config = PromptCacheConfig(
        min_prefix_tokens=1, snapshot_max_entries=max_size, snapshot_capacity_bytes=max_bytes
    )
    return SnapshotPromptCache(SnapshotStore(config, rule=PerCacheType(), warn=False))


def _holding(model: LabModel, tokens: list[int]) -> list[Any]:
    """A cache of the model that holds exactly those tokens."""
    from mlx_lm.models.cache import make_prompt_cache

    cache: list[Any] = make_prompt_cache(model.model)
    mx.eval(_logits(model, cache, tokens))
    return cache


def _logits(model: LabModel, cache: list[Any], tokens: Any) -> Any:
    return model.model(mx.array([list(tokens)]), cache=cache)[0, -1]
