"""Whether a changed system prompt is another one, or the same with a field in it that doesn't stay put."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..engine.messages import Message
from .asked import Asked
from .causes import Cause

_FRONT = ("system", "developer")
# A clock, a date, a counter, an id: what has a digit in it. Words that change are an edit until they change each time.
_FIELD = re.compile(r"[\w:.,/ +-]*\d[\w:.,/ +-]*|[0-9a-fA-F-]{8,}")
_EVERY_TIME = 2  # as many changes in a row are a habit


def is_front(message: Message) -> bool:
    """Whether a message is instructions rather than talk."""
    return message["role"] in _FRONT


def system_cause(
    asked: Asked, donor: Asked, earlier: Sequence[Asked], index: int
) -> tuple[Cause, dict[str, Any]]:
    """Changed or volatile, and the fields that differ; `every_time` says whether each request so far changed it."""
    chain = [*(_content(other, index) for other in earlier if other.key == asked.key), _content(asked, index)]
    before, now = _content(donor, index), chain[-1]
    changes = sum(one != other for one, other in pairwise(chain))
    was, is_now = changed_words(before, now)
    every_time = _EVERY_TIME <= changes == len(chain) - 1
    small = len(was) + len(is_now) < (len(before) + len(now)) / 2
    field = bool(_FIELD.fullmatch(was) and _FIELD.fullmatch(is_now))
    details = {
        "was": was[:80],
        "now": is_now[:80],
        "every_time": every_time,
        "changes": f"{changes} of {len(chain) - 1}",
    }
    return (Cause.VOLATILE if small and (field or every_time) else Cause.SYSTEM_CHANGED), details


def changed_words(before: str, after: str) -> tuple[str, str]:
    """The words between the shared beginning and the shared end of two texts."""
    one, other = re.split(r"(\s+)", before), re.split(r"(\s+)", after)
    head = _shared(one, other)
    tail = _shared(one[head:][::-1], other[head:][::-1])
    return "".join(one[head : len(one) - tail]), "".join(other[head : len(other) - tail])


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    length = min(len(one), len(other))
    return next((i for i in range(length) if one[i] != other[i]), length)


def _content(asked: Asked, index: int) -> str:
    return str(asked.messages[index].get("content", "")) if index < len(asked.messages) else ""
