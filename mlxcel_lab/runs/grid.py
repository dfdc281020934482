"""Which runs a sweep is made of: grids, cases and defaults, as a command line or a YAML file writes them.

A grid is every combination of its values, a case is one combination, and a default is the value of what a grid or a
case leaves out. Texts are read by the notebook's own types, so that YAML's `off` stays the rule `off`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from ..files import read_text
from .parameters import Parameter, known

Grid = Mapping[str, Iterable[Any]]
MOST_RUNS = 1_000_000


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as written: `grids`, `cases` and `defaults` hold values, checked when its runs are made."""

    grids: Sequence[Grid] = ()
    cases: Sequence[Mapping[str, Any]] = ()
    defaults: Mapping[str, Any] | None = None

    def combinations(self) -> Iterator[dict[str, Any]]:
        """The values of each run, grids first, in the order in which they were written."""
        defaults = dict(self.defaults or {})
        for grid in self.grids:
            axes = {name: _axis(name, values) for name, values in grid.items()}
            if (size := math.prod(map(len, axes.values()))) > MOST_RUNS:
                raise ValueError(f"a grid of {size:,} runs is more than {MOST_RUNS:,}: split it")
            for values in product(*axes.values()):
                yield {**defaults, **dict(zip(axes, values, strict=True))}
        for case in self.cases:
            yield {**defaults, **case}


def _axis(name: str, values: Iterable[Any]) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name}={values!r}: a grid takes a list of values")
    axis = list(values)
    if not axis:
        raise ValueError(f"{name} has no values: a grid without any has no runs")
    return axis


def parse_grid(pairs: Iterable[str], parameters: Mapping[str, Parameter]) -> dict[str, list[Any]]:
    """The grid of texts like `budget=1:8`, `rule=session,off`, `rate=0.5:2:0.5` or `counts=[1, 2],[3]`."""
    grid: dict[str, list[Any]] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ValueError(f"{pair!r}: expected name=values")
        if name in grid:
            raise ValueError(f"{name} is given twice")
        grid[name] = parse_axis(known(name, parameters), text)
    return grid


def parse_axis(parameter: Parameter, text: str) -> list[Any]:
    """The values of one axis. A number may be a range with both ends included, `1:8`, and a step, `1:8:2`."""
    if parameter.item is not None:
        items = yaml.load(f"[{text}]", yaml.BaseLoader)
        return [parameter.read(item) for item in items]
    pieces = [piece.strip() for piece in text.split(",")]
    return [value for piece in pieces for value in _piece(parameter, piece)]


def _piece(parameter: Parameter, text: str) -> list[Any]:
    if ":" not in text or parameter.type not in ("int", "float"):
        return [parameter.parse(text)]
    ends = [parameter.parse(end) for end in text.split(":")]
    first, last, step = [*ends, 1][:3]
    if len(ends) > 3 or step <= 0 or last < first or not all(map(math.isfinite, ends)):
        raise ValueError(f"{parameter.name}={text!r}: expected first:last or first:last:step, rising")
    # Counted rather than added up, so that 0.1:0.7:0.2 ends at 0.7; the little more is for its rounding.
    steps = math.floor((last - first) / step + 1e-9)
    return [parameter.check(round(first + i * step, 12)) for i in range(steps + 1)]


def read_file(path: str | Path, parameters: Mapping[str, Parameter]) -> Sweep:
    """The sweep of a YAML file with `grids` (one or a list), `cases` (a list) and `defaults`."""
    content = load_yaml(path)
    grids = content.get("grids", [])
    return Sweep(
        [
            _file_grid(path, grid, parameters)
            for grid in ([grids] if isinstance(grids, dict) else _items(path, grids))
        ],
        [_file_values(path, case, parameters) for case in _items(path, content.get("cases", []))],
        _file_values(path, content.get("defaults", {}), parameters),
    )


def load_yaml(path: str | Path) -> dict[str, Any]:
    """The sweep file's mapping with every scalar as text; a ValueError for anything but the four known keys."""
    content, allowed = _yaml(path), {"notebook", "grids", "cases", "defaults"}
    if not isinstance(content, dict) or not content.keys() <= allowed:
        raise ValueError(f"{path}: expected the keys {', '.join(sorted(allowed))}")
    return content


def read_values(path: str | Path, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """One run's values out of a YAML or JSON file of `name: value`."""
    return _file_values(path, _yaml(path), parameters)


def _yaml(path: str | Path) -> Any:
    """What the file holds, with every scalar as text: YAML itself would take the rule `off` for False."""
    try:
        return yaml.load(read_text(path), yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is no YAML: {' '.join(str(error).split())}") from None


def _items(path: str | Path, content: Any) -> list[Any]:
    if not isinstance(content, list):
        raise ValueError(f"{path}: expected a list, found {content!r}")
    return content


def _file_grid(path: str | Path, grid: Any, parameters: Mapping[str, Parameter]) -> dict[str, list[Any]]:
    if not isinstance(grid, dict):
        raise ValueError(f"{path}: a grid is a mapping of names to values, not {grid!r}")
    return {name: _file_axis(known(name, parameters), values) for name, values in grid.items()}


def _file_axis(parameter: Parameter, values: Any) -> list[Any]:
    if isinstance(values, str):
        return parse_axis(parameter, values)
    if parameter.item is not None or not isinstance(values, list):
        return [parameter.read(value) for value in values]
    return [value for text in values for value in _piece(parameter, text)]


def _file_values(path: str | Path, values: Any, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a mapping of names to values, found {values!r}")
    return {name: known(name, parameters).read(value) for name, value in values.items()}
