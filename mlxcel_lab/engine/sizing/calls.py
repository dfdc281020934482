"""Sequences of forward calls, as lists and as the short text `94+45x1`."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable

Calls = int | str | Iterable[int]


def parse_calls(calls: Calls) -> tuple[int, ...]:
    """The lengths of the forward calls: 72, "94+45x1" (94, then 45 times one) or a sequence of integers.

    Raises ValueError where there is none, or one of no tokens.
    """
    if isinstance(calls, str):
        lengths = [length for term in calls.split("+") for length in _term(term, calls)]
    else:
        lengths = [operator.index(n) for n in ([calls] if isinstance(calls, int) else calls)]
    if not lengths or min(lengths) < 1:
        raise ValueError(
            f"calls={calls!r}: expected one or more calls of at least one token each, like 94+45x1"
        )
    return tuple(lengths)


def format_calls(calls: Iterable[int]) -> str:
    """The short text of a sequence of calls; equal neighbours are counted."""
    runs: list[list[int]] = []
    for length in calls:
        if runs and runs[-1][1] == length:
            runs[-1][0] += 1
        else:
            runs.append([1, length])
    return "+".join(f"{count}x{length}" if count > 1 else str(length) for count, length in runs)


def _term(term: str, whole: str) -> list[int]:
    match = re.fullmatch(r"\s*(?:(\d+)\s*x\s*)?(\d+)\s*", term)
    if match is None:
        raise ValueError(f"calls={whole!r}: {term.strip()!r} isn't a length or COUNTxLENGTH, as in 94+45x1")
    return int(match[1] or 1) * [int(match[2])]
