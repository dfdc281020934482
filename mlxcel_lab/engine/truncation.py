"""Cutting a cache back to fewer tokens: which classes of mlx-lm can, to which lengths, and how.

| class | can go back to n tokens |
|---|---|
| KVCache, QuantizedKVCache, ConcatenateKVCache | always: every position is still there |
| RotatingKVCache (sliding window) | until it wraps: what the window dropped can't come back |
| ChunkedKVCache | while the chunk that position n lies in is still whole |
| ArraysCache (recurrent state, convolutions) | never: a sum over the past has no parts |
| CacheList | where all of its members can |
| any of them, none of it ever used (shared layers) | trivially |
| anything else | never: unknown is no |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .backend import mx  # noqa: F401  (first: see there)

# isort: split
from mlx_lm.models.cache import (
    ArraysCache,
    CacheList,
    ChunkedKVCache,
    ConcatenateKVCache,
    KVCache,
    QuantizedKVCache,
    RotatingKVCache,
)


def allows(cache: Any, num_tokens: int) -> bool:
    """Whether this cache object can be cut to its first `num_tokens` tokens."""
    if isinstance(cache, CacheList):
        return all(allows(member, num_tokens) for member in cache.caches)
    if type(cache) not in _ALLOWS:
        return False
    return _unused(cache) or _ALLOWS[type(cache)](cache, num_tokens)


def ever(cache: Any) -> bool:
    """Whether a cache object of this kind can be cut at any time once it holds something."""
    if isinstance(cache, CacheList):
        return all(ever(member) for member in cache.caches)
    return type(cache) in _ALLOWS and type(cache) is not ArraysCache


def cut(cache: Any, num_tokens: int) -> None:
    """Cuts this cache object in place; `allows` must have said yes."""
    if isinstance(cache, CacheList):
        for member in cache.caches:
            cut(member, num_tokens)
    elif _unused(cache):
        return
    elif isinstance(cache, ConcatenateKVCache):
        # Its own trim moves the offset but keeps the arrays, and the next update would append behind what was cut.
        cache.keys, cache.values = cache.keys[..., :num_tokens, :], cache.values[..., :num_tokens, :]
        cache.offset = num_tokens
    else:
        cache.trim(cache.offset - num_tokens)


def _unused(cache: Any) -> bool:
    # An ArraysCache calls itself empty by its first slot alone, and some families fill only others.
    return (
        all(slot is None for slot in cache.cache) if isinstance(cache, ArraysCache) else bool(cache.empty())
    )


def _within(cache: Any, num_tokens: int) -> bool:
    return bool(0 <= num_tokens <= cache.offset)


def _not_wrapped(cache: RotatingKVCache, num_tokens: int) -> bool:
    return bool(cache.offset < cache.max_size and num_tokens <= cache.offset)


def _chunk_is_whole(cache: ChunkedKVCache, num_tokens: int) -> bool:
    # The next token attends to its own chunk only, from the chunk's first position on.
    first_needed = num_tokens // cache.chunk_size * cache.chunk_size
    return bool(cache.start_position <= first_needed and num_tokens <= cache.offset)


_ALLOWS: dict[type, Callable[[Any, int], bool]] = {
    KVCache: _within,
    QuantizedKVCache: _within,
    ConcatenateKVCache: _within,
    RotatingKVCache: _not_wrapped,
    ChunkedKVCache: _chunk_is_whole,
    ArraysCache: lambda cache, num_tokens: False,
}
