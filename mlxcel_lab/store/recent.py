"""Memory that is bounded by forgetting what was used longest ago."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


def remember(known: OrderedDict[_K, _V], key: _K, value: _V, most: int) -> _V:
    """Put `key` last; where that makes more than `most` keys, the first is forgotten. O(1)."""
    known[key] = value
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)
    return value
