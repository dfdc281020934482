"""The edge where token ids come in: whatever holds them becomes one read-only int32 vector, once."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from .types import TokenVector

_INT32 = np.iinfo(np.int32)


def as_tokens(tokens: Any) -> TokenVector:
    """Token ids as a `TokenVector`: a read-only, contiguous int32 array of shape (num_tokens,); may be empty.

    Takes a list, tuple, range or other sequence of integers, an `array.array`, and numpy and mlx arrays of an integer
    type. A vector that is already one, and that nobody can write to, is returned as it is; anything else is copied.

    Raises TypeError for what isn't a one-dimensional sequence of integers (bools, floats and text aren't), ValueError
    for ids outside of int32.
    """
    if isinstance(tokens, np.ndarray):
        return _from_array(tokens)
    if isinstance(tokens, str | bytes | bytearray):
        raise TypeError(
            f"tokens are {type(tokens).__name__}: expected token ids (integers); tokenize the text first"
        )
    if _is_mlx(tokens) and str(tokens.dtype) == "mlx.core.bfloat16":  # which numpy knows nothing of
        raise TypeError("tokens are of type bfloat16: expected an integer type")
    if isinstance(tokens, array) or hasattr(tokens, "__array__") or _is_mlx(tokens):
        return _from_array(np.array(tokens))
    if isinstance(tokens, Sequence):
        return _from_sequence(tokens)
    raise TypeError(
        f"tokens are {type(tokens).__name__}: expected a list, tuple, numpy or mlx array of integers"
    )


def _is_mlx(tokens: object) -> bool:
    return type(tokens).__module__.startswith("mlx.")


def _from_array(tokens: np.ndarray[Any, Any]) -> TokenVector:
    if tokens.ndim != 1:
        raise TypeError(f"tokens have shape {tokens.shape}: expected one dimension, (num_tokens,)")
    if tokens.dtype == np.int32:
        return tokens if _is_frozen(tokens) else _frozen(tokens.copy())
    if tokens.dtype.kind not in "iu":
        raise TypeError(f"tokens are of type {tokens.dtype}: expected an integer type")
    if len(tokens) and not (_INT32.min <= int(tokens.min()) and int(tokens.max()) <= _INT32.max):
        outside = tokens[(tokens < _INT32.min) | (tokens > _INT32.max)]
        raise ValueError(f"token {outside[0]} is outside of int32: token ids are at most {_INT32.max}")
    return _frozen(tokens.astype(np.int32))


def _from_sequence(tokens: Sequence[Any]) -> TokenVector:
    vector = _packed(tokens)
    # A bool passes for an integer, but only as 0 or 1: those few are looked at again.
    for position in np.flatnonzero(vector.view(np.uint32) <= 1).tolist():
        if isinstance(tokens[position], bool):
            raise TypeError(f"token {tokens[position]!r} at position {position}: expected an integer")
    return _frozen(vector)


def _packed(tokens: Sequence[Any]) -> TokenVector:
    """As int32, by array.array, which refuses floats and text as it goes, unlike numpy."""
    # Unsigned first: a third of the time of "i" or of numpy. Ids from 2**31 on show as negative ones, and those that
    # are negative, or far too great, overflow.
    for code in ("I", "i"):
        with suppress(OverflowError, TypeError):
            vector = np.frombuffer(array(code, tokens), np.int32).copy()
            if code == "i" or not len(vector) or vector.min() >= 0:
                return vector
    raise _complaint(tokens)


def _complaint(tokens: Sequence[Any]) -> Exception:
    """What is wrong with the first that is no int32."""
    for position, token in enumerate(tokens):
        try:
            number = operator.index(token)
        except TypeError:
            return TypeError(f"token {token!r} at position {position}: expected an integer")
        if not _INT32.min <= number <= _INT32.max:
            return ValueError(f"token {number} is outside of int32: token ids are at most {_INT32.max}")
    return TypeError(f"tokens are a {type(tokens).__name__} that changed while it was read")


def _is_frozen(tokens: np.ndarray[Any, Any]) -> bool:
    """Whether nobody can write to it: not itself, nor through the array that it is a view of."""
    base = tokens.base
    owned = base is None or (isinstance(base, np.ndarray) and base.base is None and not base.flags.writeable)
    return owned and not tokens.flags.writeable and tokens.flags.c_contiguous


def _frozen(vector: TokenVector) -> TokenVector:
    vector.flags.writeable = False
    return vector
