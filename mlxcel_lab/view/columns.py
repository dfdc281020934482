"""A table that grows a row at a time and is read as numpy columns: what a live journal needs.

All values lie row by row in one `array.array` of doubles, so that a row is added by a single call. A column that is
read is copied out once and then kept up with what was added since: a million events can be looked at again and again.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


class Columns:
    """Named columns of one length; `spec` maps a name to the numpy type that it is read as.

    Integers are exact up to 2**53. `append` takes the values in the order of the spec.
    """

    def __init__(self, spec: Mapping[str, str]) -> None:
        self._dtypes = dict(spec)
        self._places = {name: place for place, name in enumerate(spec)}
        self._width = len(spec)
        self._values = array("d")
        self._read: dict[str, npt.NDArray[Any]] = {}  # with room to grow
        self._read_rows: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._values) // self._width

    def append(self, *values: float) -> None:
        if len(values) != self._width:
            raise ValueError(
                f"{len(values)} values: expected {self._width}, one for each of {', '.join(self._places)}"
            )
        self._values.extend(values)

    def set(self, name: str, row: int, value: float) -> None:
        self._values[row * self._width + self._places[name]] = value
        if row < self._read_rows.get(name, 0):
            self._read[name][row] = value

    def get(self, name: str, row: int) -> float:
        return self._values[row * self._width + self._places[name]]

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Read-only. It doesn't grow with the table, and sees values that `set` changes."""
        rows, done = len(self), self._read_rows.get(name, 0)
        column = self._read.get(name)
        if column is None or rows > len(column):
            column = self._grown(name, max(rows, 2 * done))
        if done < rows:
            added = np.frombuffer(self._values, np.float64, offset=8 * done * self._width)
            column[done:rows] = added.reshape(-1, self._width)[:, self._places[name]]
            self._read_rows[name] = rows
        seen = column[:rows]
        seen.flags.writeable = False
        return seen

    def _grown(self, name: str, room: int) -> npt.NDArray[Any]:
        grown = np.empty(room, self._dtypes[name])
        done = self._read_rows.get(name, 0)
        grown[:done] = self._read[name][:done] if done else ()
        self._read[name] = grown
        return grown
