"""What is taken for token ids, what is refused, and that nothing is converted twice."""

from __future__ import annotations

from array import array

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from mlxcel_lab.store import as_tokens

INT32 = st.integers(-(2**31), 2**31 - 1)


@given(st.lists(INT32, max_size=50))
def test_every_container_of_integers_gives_the_same_vector(ids: list[int]) -> None:
    for given_as in (ids, tuple(ids), array("q", ids), np.array(ids, np.int64), np.array(ids, np.int32)):
        vector = as_tokens(given_as)
        assert vector.tolist() == ids
        assert vector.dtype == np.int32
        assert vector.flags.c_contiguous
        assert not vector.flags.writeable


def test_a_vector_that_is_one_already_is_handed_through() -> None:
    vector = as_tokens([1, 2, 3])
    assert as_tokens(vector) is vector
    view = vector[:2]
    assert as_tokens(view) is view


def test_an_array_that_its_owner_can_still_write_to_is_copied() -> None:
    owner = np.array([1, 2, 3], np.int32)
    disguised = owner[:]
    disguised.flags.writeable = False
    for taken in (as_tokens(owner), as_tokens(disguised)):
        owner[0] = 9
        assert taken[0] == 1
        owner[0] = 1


def test_a_strided_view_becomes_contiguous() -> None:
    every_other = np.arange(10, dtype=np.int32)[::2]
    every_other.flags.writeable = False
    assert as_tokens(every_other).tolist() == [0, 2, 4, 6, 8]
    assert as_tokens(every_other).flags.c_contiguous


def test_mlx_arrays_are_taken_at_the_edge() -> None:
    mx = pytest.importorskip("mlx.core", exc_type=ImportError)
    assert as_tokens(mx.array([1, 2, 3])).tolist() == [1, 2, 3]
    assert as_tokens(mx.array([1, 2, 3], mx.uint32)).tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="float32"):
        as_tokens(mx.array([1.0, 2.0]))
    with pytest.raises(TypeError, match="bool"):
        as_tokens(mx.array([True]))
    with pytest.raises(TypeError, match="bfloat16: expected an integer type"):
        as_tokens(mx.array([1.0], mx.bfloat16))


def test_a_range_and_integers_of_numpy_in_a_list_are_taken() -> None:
    assert as_tokens(range(3)).tolist() == [0, 1, 2]
    assert as_tokens([np.int64(4), np.uint8(5)]).tolist() == [4, 5]


@pytest.mark.parametrize(
    ("tokens", "named"),
    [
        ([1, 2.0], "2.0 at position 1"),
        ([1, "2"], "'2' at position 1"),
        ([5, 1, True], "True at position 2"),
        ([0, False], "False at position 1"),
        ([[1, 2]], r"\[1, 2\] at position 0"),
        ([None], "None at position 0"),
        ([np.bool_(True)], "at position 0"),
        ([np.array([5, 6])], r"array\(\[5, 6\]\) at position 0"),
        ([4, np.array([5])], "at position 1"),
        ([-1, 1.5], "1.5 at position 1"),
        ([-1, "2"], "'2' at position 1"),
        ("hello", "str"),
        (b"hello", "bytes"),
        (np.array([1.0]), "float64"),
        (np.array([True]), "bool"),
        (np.array(["a"]), "<U1"),
        (np.zeros((2, 2), np.int32), r"\(2, 2\)"),
        (np.int32(3), r"\(\)"),
        (array("d", [1.0]), "float64"),
        (7, "int"),
        (None, "NoneType"),
        ({1, 2}, "set"),
        (iter([1]), "list_iterator"),
    ],
)
def test_what_is_not_a_row_of_integers_is_refused_by_name(tokens: object, named: str) -> None:
    with pytest.raises(TypeError, match=named):
        as_tokens(tokens)


@pytest.mark.parametrize(
    "tokens", [[1, 2**31], [-(2**31) - 1], np.array([2**31]), np.array([2**63], np.uint64)]
)
def test_ids_outside_of_int32_are_refused_by_name(tokens: object) -> None:
    with pytest.raises(ValueError, match=r"-?\d{10,} is outside of int32"):
        as_tokens(tokens)
