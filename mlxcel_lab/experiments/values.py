"""Values that a notebook's parameters may have: what it can't answer is refused in one sentence before it runs."""

from __future__ import annotations

from collections.abc import Iterable


def one_of(name: str, value: str, known: Iterable[str]) -> None:
    """ValueError where the value is none of those."""
    expected = [*known]
    if value not in expected:
        raise ValueError(f"{name} is {value!r}: expected one of {', '.join(map(repr, expected))}")


def within(name: str, value: float, least: float, most: float | None = None) -> None:
    """ValueError where the value lies below `least`, or above `most` where there is one."""
    if value < least or (most is not None and value > most):
        bounds = f"{least:,} or more" if most is None else f"{least:,} to {most:,}"
        raise ValueError(f"{name} is {value:,}: expected {bounds}")
