"""The one comparison that the store spends its time in."""

from __future__ import annotations

from .types import TokenVector

_FIRST_BLOCK = 256  # tokens: most vectors that differ do so early
_LARGEST_BLOCK = 131_072  # tokens: the temporary, a byte each, stays in the processor's cache


def common_prefix(a: TokenVector, b: TokenVector, start: int = 0) -> int:
    """How many leading tokens agree, the first `start` being known to. Blocks grow: a difference ends it early."""
    end, block = min(len(a), len(b)), _FIRST_BLOCK
    while start < end:
        stop = min(start + block, end)
        differs = a[start:stop] != b[start:stop]
        first = int(differs.argmax())
        if differs[first]:
            return start + first
        start, block = stop, min(8 * block, _LARGEST_BLOCK)
    return end
