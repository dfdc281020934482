"""A table that grows a row at a time and is read as numpy arrays: what a live journal needs.

Appending to `array.array` costs tens of nanoseconds a value and reading one column back is a single copy, so a
million events can be taken in and looked at without a frame library in between.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


class Columns:
    """Named columns of one length; `spec` maps a name to an `array` type code (`d`, `q`, `i`, `B`).

    `append` takes the values in the order of the spec.
    """

    def __init__(self, spec: Mapping[str, str]) -> None:
        self._columns = {name: array(code) for name, code in spec.items()}
        self._appends = tuple(column.append for column in self._columns.values())

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def append(self, *values: float) -> int:
        """Add a row and say where it went."""
        for append, value in zip(self._appends, values, strict=True):
            append(value)  # type: ignore[arg-type]
        return len(self) - 1

    def set(self, name: str, row: int, value: float) -> None:
        self._columns[name][row] = value  # type: ignore[call-overload]

    def get(self, name: str, row: int) -> float:
        value: float = self._columns[name][row]
        return value

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """A copy: an exported buffer would forbid the column to grow."""
        column = self._columns[name]
        return (
            np.frombuffer(column, dtype=column.typecode).copy()
            if len(column)
            else np.empty(0, column.typecode)
        )
