"""Tokens of a conversation that has grown: only what is new is cut, and the answer is the same as cutting all of it.

A tokenizer cuts the text on both sides of a special token independently. So tokens up to the last special token within
the beginning that two texts share can be taken over from the first, and the rest is cut from that token on.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..store import TokenVector, as_tokens


@dataclass(frozen=True, slots=True)
class _Known:
    """A text and its tokens; `ends[i]` is the character at which a special token ends, as token number `counts[i]`."""

    text: str
    tokens: TokenVector
    ends: list[int]
    counts: list[int]


class Encoder:
    """Cuts texts into tokens as `tokenizer` does, faster where a text begins like one of the last few.

    Not thread-safe. Without a fast tokenizer behind it (Hugging Face's `tokenizers`), all is cut anew each time.
    """

    def __init__(self, tokenizer: Any, remember: int = 8) -> None:
        self._tokenizer = tokenizer
        self._backend = getattr(tokenizer, "backend_tokenizer", None)
        self._ids = {} if self._backend is None else _boundaries(self._backend)
        longest_first = sorted(self._ids, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._known: deque[_Known] = deque(maxlen=remember)

    def encode(self, text: str) -> TokenVector:
        """The tokens of a text, without any that the tokenizer would add around it, as a read-only int32 array."""
        if self._pattern is None:
            return as_tokens(self._tokenizer.encode(text, add_special_tokens=False))
        tokens = self._from_known(text)
        if tokens is None:
            tokens = as_tokens(self._cut(text))
        self._remember(text, tokens, self._pattern)
        return tokens

    def _from_known(self, text: str) -> TokenVector | None:
        best, shared = None, 0
        for known in self._known:
            if (length := shared_beginning(known.text, text)) > shared:
                best, shared = known, length
        at = bisect_right(best.ends, shared) - 1 if best else -1
        if best is None or at < 0:
            return None
        end, count = best.ends[at], best.counts[at]
        marker = next(m for m in self._ids if text.endswith(m, 0, end))
        rest = self._cut(marker + text[end:])
        if not rest or rest[0] != self._ids[marker]:
            return None
        return as_tokens(np.concatenate([best.tokens[:count], as_tokens(rest[1:])]))

    def _cut(self, text: str) -> list[int]:
        assert self._backend is not None
        found: list[int] = self._backend.encode_batch_fast([text], add_special_tokens=False)[0].ids
        return found

    def _remember(self, text: str, tokens: TokenVector, pattern: re.Pattern[str]) -> None:
        matches = list(pattern.finditer(text))
        counts = np.flatnonzero(np.isin(tokens, list(self._ids.values())))
        agree = [self._ids[match.group()] for match in matches] == tokens[counts].tolist()
        if agree:  # else the text has a special token's letters where the tokenizer sees none
            self._known.append(
                _Known(text, tokens, [match.end() for match in matches], (counts + 1).tolist())
            )


def shared_beginning(one: str, other: str) -> int:
    """How many characters two texts share from the start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


def _boundaries(backend: Any) -> dict[str, int]:
    """The special tokens at which text falls apart for certain: they take no neighbour along and nest in none."""
    added = {token.content: (index, token) for index, token in backend.get_added_tokens_decoder().items()}
    nested = {text for text in added for inner in _inside(text) if inner in added}
    nested |= {inner for text in nested for inner in _inside(text) if inner in added}
    return {
        text: index
        for text, (index, token) in added.items()
        if text not in nested and not (token.lstrip or token.rstrip or token.single_word or token.normalized)
    }


def _inside(text: str) -> Iterator[str]:
    """Every proper part of a text."""
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            if end - start < len(text):
                yield text[start:end]
