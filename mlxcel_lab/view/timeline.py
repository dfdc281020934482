"""One time axis for one journal or for two that are compared.

A *position* numbers the events of all journals together, turn by turn, so that one slider travels through two runs of
the same traffic: turn k of the one stands beside turn k of the other, however many events each of them took.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .frames import FrameModel

AXES = ("turns", "time", "events")
"""What x counts: turns (a turn's events spread evenly within it), seconds since the first event, or positions."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Timeline:
    """Frame models side by side; cheap to ask again while nothing was fed."""

    def __init__(self, models: Sequence[FrameModel]) -> None:
        self.models = tuple(models)
        self._cache: dict[str, Any] = {}
        self._lengths: tuple[int, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.models))

    def positions(self) -> list[Ints]:
        """The position of each row, an array a model."""
        return self._cached("positions", self._merge)

    def x(self, axis: str) -> list[Floats]:
        """Where each row stands on that axis, an array a model."""
        if axis not in AXES:
            raise ValueError(f"unknown axis {axis!r}: expected one of {', '.join(AXES)}")
        make = {"turns": _by_turn, "time": _by_time}.get(axis)
        if make is None:
            return self._cached(axis, lambda: [p.astype(np.float64) for p in self.positions()])
        return self._cached(axis, lambda: [make(model) for model in self.models])

    def domain(self, axis: str) -> tuple[float, float]:
        """First and last x, with room for the marks of the first event and for what the last one left."""
        ends = [(float(x[0]), float(x[-1])) for x in self.x(axis) if len(x)]
        if not ends:
            return 0.0, 1.0
        low, high = min(a for a, _ in ends), max(b for _, b in ends)
        room = max((high - low) * 0.02, 1e-9)
        return (low - 0.2, float(np.floor(high)) + 1) if axis == "turns" else (low - room / 2, high + room)

    def rows_at(self, position: int) -> list[int]:
        """Per model the row to show at a position (-1: none yet); a negative position is the end.

        That is the event itself in its own model, and in the other one all that happened up to the same step of the
        same turn, so that the two are seen at the same moment.
        """
        if position < 0:
            return [len(model) - 1 for model in self.models]
        found = [int(np.searchsorted(p, position, side="right")) - 1 for p in self.positions()]
        owner = next(
            (i for i, row in enumerate(found) if row >= 0 and self.positions()[i][row] == position), None
        )
        if owner is None:
            return found
        moment = self._moments()[owner][found[owner]]
        return [
            row if i == owner else int(np.searchsorted(self._moments()[i], moment, side="right")) - 1
            for i, row in enumerate(found)
        ]

    def _merge(self) -> list[Ints]:
        if len(self.models) == 1:
            return [np.arange(len(self.models[0]), dtype=np.int64)]
        moments = np.concatenate(self._moments())
        positions = np.empty(len(moments), np.int64)
        positions[np.argsort(moments, kind="stable")] = np.arange(len(moments))
        ends = np.cumsum([len(model) for model in self.models])[:-1]
        return np.split(positions, ends)

    def _moments(self) -> list[Ints]:
        """Turn and step of each row as one number that never falls."""
        return self._cached("moments", lambda: [_moment(model) for model in self.models])

    def _cached(self, name: str, make: Any) -> Any:
        lengths = tuple(map(len, self.models))
        if lengths != self._lengths:
            self._cache, self._lengths = {}, lengths
        if name not in self._cache:
            self._cache[name] = make()
        return self._cache[name]


def _moment(model: FrameModel) -> Ints:
    return (np.asarray(model.events["turn"], np.int64) << 32) + np.asarray(model.events["step"], np.int64)


def _by_turn(model: FrameModel) -> Floats:
    turn = np.asarray(model.events["turn"], np.int64)
    step = np.asarray(model.events["step"], np.float64)
    steps = np.zeros(turn[-1] + 1 if len(turn) else 0)
    np.maximum.at(steps, turn, step + 1)
    return turn + step / steps[turn]


def _by_time(model: FrameModel) -> Floats:
    time = np.asarray(model.events["time"], np.float64)
    return time - time[0] if len(time) else time
