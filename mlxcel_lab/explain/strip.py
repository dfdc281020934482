"""Tokens as text: pieces around a position, and whether two sides say the same in other tokens."""

from __future__ import annotations

from typing import Any

from ..store.types import TokenVector
from .causes import Piece

BEFORE, AFTER = 10, 14


def pieces(tokenizer: Any, tokens: TokenVector, start: int, stop: int) -> tuple[Piece, ...]:
    """The tokens of [start, stop), clipped to the vector, each decoded by itself."""
    wanted = range(max(0, start), min(stop, len(tokens)))
    return tuple(Piece(i, int(tokens[i]), tokenizer.decode([int(tokens[i])])) for i in wanted)


def around(tokenizer: Any, tokens: TokenVector, position: int) -> tuple[Piece, ...]:
    """The tokens some way around a position, for a strip."""
    return pieces(tokenizer, tokens, position - BEFORE, position + AFTER)


def decode(tokenizer: Any, tokens: TokenVector) -> str:
    return str(tokenizer.decode([int(token) for token in tokens]))


def retokenised(tokenizer: Any, stored: TokenVector, requested: TokenVector, position: int) -> bool:
    """Whether both sides say the same text across the tokens in which they differ at `position`.

    The first differing tokens of both sides must be covered by common text: 'he' + 'llo' against 'hello' is another
    cut, 'he' + 'llo' against 'help' another word.
    """
    if position >= min(len(stored), len(requested)):
        return False
    sides = [side[position : position + AFTER] for side in (stored, requested)]
    texts = [decode(tokenizer, side) for side in sides]
    firsts = [decode(tokenizer, side[:1]) for side in sides]
    if "\ufffd" in "".join(firsts):  # a piece of a character: the shortest runs of tokens that decode cleanly
        firsts = [_clean_beginning(tokenizer, side) for side in sides]
    return _common_text(*texts) >= max(len(first) for first in firsts) > 0


def _clean_beginning(tokenizer: Any, tokens: TokenVector) -> str:
    runs = (decode(tokenizer, tokens[:n]) for n in range(1, len(tokens) + 1))
    return next((run for run in runs if "\ufffd" not in run), decode(tokenizer, tokens))


def _common_text(one: str, other: str) -> int:
    length = min(len(one), len(other))
    return next((i for i in range(length) if one[i] != other[i]), length)
