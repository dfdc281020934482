"""The table that grows: it reads as what was written, with the types that it was asked for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.view.columns import Columns

ROW = st.tuples(st.integers(0, 255), st.integers(-(2**53), 2**53), st.floats(-1e9, 1e9))
SPEC = {"kind": "u1", "bytes": "i8", "time": "f8"}


def _table(rows):
    table = Columns(SPEC)
    for row in rows:
        table.append(*row)
    return table


@given(st.lists(ROW, max_size=20))
def test_columns_read_back_what_rows_wrote(rows):
    table = _table(rows)
    assert len(table) == len(rows)
    for place, (name, dtype) in enumerate(SPEC.items()):
        assert table[name].dtype == np.dtype(dtype)
        assert table[name].tolist() == [row[place] for row in rows]


def test_a_value_can_be_changed_and_read_alone():
    table = _table([(1, 2, 3.5), (4, 5, 6.5)])
    table.set("bytes", 1, 50)
    assert table.get("bytes", 1) == 50
    assert table["bytes"].tolist() == [2, 50]


@given(st.lists(st.lists(ROW, max_size=7), max_size=8))
def test_columns_that_are_read_between_additions_keep_up(parts):
    table, added = Columns(SPEC), []
    for part in parts:
        for row in part:
            table.append(*row)
        added += part
        for place, name in enumerate(SPEC):
            assert table[name].tolist() == [row[place] for row in added]
        if added:
            table.set("bytes", 0, 11)
            added[0] = (added[0][0], 11, added[0][2])


def test_a_column_cannot_be_changed_from_outside():
    with pytest.raises(ValueError, match="read-only"):
        _table([(1, 2, 3.0)])["bytes"][0] = 5


def test_a_column_that_was_read_lets_the_table_grow_and_stays_as_it_was():
    table = _table([(1, 2, 3.0)])
    seen = table["bytes"]
    table.append(7, 8, 9.0)
    assert (seen.tolist(), table["bytes"].tolist()) == ([2], [2, 8])


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="2 values: expected 3, one for each of kind, bytes, time"):
        Columns(SPEC).append(1, 2)
