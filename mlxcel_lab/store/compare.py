"""The one comparison that the store spends its time in."""

from __future__ import annotations

import ctypes

from .types import TokenVector

_GLANCE = 256  # tokens: most vectors that differ do so early
_BLOCK = 16_384  # tokens: both stretches stay in the processor's cache

# The process's own C library reads two long vectors as fast as memory gives them. numpy's `!=` takes a third longer, as
# it writes what it finds and `argmax` reads that again.
_memcmp = ctypes.CDLL(None).memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def common_prefix(a: TokenVector, b: TokenVector, start: int = 0) -> int:
    """How many leading tokens two vectors share, the first `start` being known to agree. O(what agrees)."""
    end = min(len(a), len(b))
    glance = min(start + _GLANCE, end)
    agreed = _first_difference(a, b, start, glance)
    if agreed < glance:
        return agreed
    return end if _same(a, b, glance, end) else _first_difference(a, b, glance, end)


def _same(a: TokenVector, b: TokenVector, start: int, end: int) -> bool:
    if start == end:
        return True
    if a.dtype != b.dtype or not (a.flags.c_contiguous and b.flags.c_contiguous):
        return False  # no two `TokenVector`s: looked through by numpy
    skip = start * a.itemsize
    return _memcmp(a.ctypes.data + skip, b.ctypes.data + skip, end * a.itemsize - skip) == 0


def _first_difference(a: TokenVector, b: TokenVector, start: int, end: int) -> int:
    """The first position from `start` on where they differ, or `end`."""
    while start < end:
        stop = min(start + _BLOCK, end)
        differs = a[start:stop] != b[start:stop]
        first = int(differs.argmax())
        if differs[first]:
            return start + first
        start = stop
    return end
