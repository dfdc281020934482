"""How much two vectors share: the same answer by every way there is of looking for it."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from mlxcel_lab.store import as_tokens, common_prefix

LENGTHS = st.one_of(
    st.integers(0, 600), st.sampled_from([255, 256, 257, 16_383, 16_384, 16_385, 16_640, 40_000])
)


def _shared(a: list[int], b: list[int]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)))
def test_it_is_the_longest_shared_beginning(one: list[int], other: list[int]) -> None:
    assert common_prefix(as_tokens(one), as_tokens(other)) == _shared(one, other)


@given(LENGTHS, LENGTHS, LENGTHS, st.data())
def test_so_it_is_of_long_vectors_that_differ_anywhere_or_nowhere(
    one: int, other: int, differs: int, data: st.DataObject
) -> None:
    a, b = np.arange(one, dtype=np.int32), np.arange(other, dtype=np.int32)
    b[differs:] += 1
    expected = min(one, other, differs)
    known = data.draw(st.integers(0, expected))
    assert common_prefix(a, b) == common_prefix(b, a) == common_prefix(a, b, known) == expected
    assert common_prefix(a, b[:expected]) == expected


@pytest.mark.parametrize("differs", [3, 300, 999, None])
def test_vectors_that_are_no_token_vectors_are_compared_by_value_all_the_same(differs: int | None) -> None:
    plain = np.arange(1_000, dtype=np.int32)
    wide, strided = plain.astype(np.int64), np.repeat(plain, 2)[::2]
    if differs is not None:
        wide[differs] = strided[differs] = -1
    for other in (wide, strided):
        assert common_prefix(plain, other) == common_prefix(other, plain) == (differs or 1_000)
