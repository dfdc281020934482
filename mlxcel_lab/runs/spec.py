"""What a run is: one notebook with one value for each of its parameters, and a fingerprint of all that decides it.

Two runs with the same fingerprint have the same code cells, the same values, the same contents of the files that
values name, and the same code and data of this package. Prose and saved outputs of the notebook don't count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import nbformat

from ..paths import data_dir
from ..version import __version__
from .parameters import Parameter, complete, find_notebook, inspect, read_notebook

LONGEST_VALUE = 100
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One run, as plain values that can be sent to another machine: `source` is the notebook's JSON."""

    notebook: str
    source: str = field(repr=False)
    parameters: dict[str, Any]
    types: dict[str, str]
    given: tuple[str, ...]
    inputs: dict[str, str]
    package: str
    fingerprint: str

    @property
    def folder(self) -> str:
        """Where its results lie below the results' root: `<notebook>/name=value/…`, every parameter in its order."""
        return "/".join([self.notebook, *(_segment(name, value) for name, value in self.parameters.items())])

    def label(self) -> str:
        """The values that were given, as text."""
        return " ".join(f"{name}={_text(self.parameters[name])}" for name in self.given) or "defaults"


@dataclass(frozen=True, slots=True)
class Experiment:
    """A notebook read once, from which any number of runs are made."""

    name: str
    source: str = field(repr=False)
    parameters: dict[str, Parameter]
    digest: str

    @classmethod
    def load(cls, notebook: str | Path) -> Experiment:
        """Read the notebook at a path, or the lab's own of that name."""
        path = find_notebook(notebook)
        node = read_notebook(path)
        code = [cell.source for cell in node.cells if cell.cell_type == "code"]
        return cls(path.stem, nbformat.writes(node), inspect(path), _digest(code))

    @property
    def hands_over(self) -> bool:
        """Whether its code calls `hand_over` at all."""
        return "hand_over(" in self.source

    def spec(self, values: Mapping[str, Any]) -> RunSpec:
        """The run with these values over the defaults; a ValueError for an unknown name or another type."""
        parameters = complete(values, self.parameters)
        inputs = {path: file_digest(path) for path in _files(parameters)}
        package = package_digest()
        fingerprint = _digest([self.digest, parameters, inputs, package])
        given = tuple(name for name in parameters if name in values)
        types = {name: parameter.type for name, parameter in self.parameters.items()}
        return RunSpec(self.name, self.source, parameters, types, given, inputs, package, fingerprint)


def file_digest(path: str) -> str:
    """The SHA-256 of a file's contents; read once for all the runs that name it, as long as it isn't touched."""
    stat = Path(path).stat()
    return _file_digest(path, stat.st_mtime_ns, stat.st_size)


@cache
def _file_digest(path: str, _modified: int, _size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def package_digest() -> str:
    """Version and SHA-256 of this package's code and data, as they are on this machine."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for root in (package, data_dir()):
        for path in sorted(p for p in root.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + file_digest(str(path)).encode())
    return f"{__version__}+{digest.hexdigest()[:16]}"


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _files(parameters: Mapping[str, Any]) -> Iterator[str]:
    for value in parameters.values():
        for item in value if isinstance(value, list) else [value]:
            # A name like "off" is no file, even where a file of that name happens to lie in the working folder.
            if isinstance(item, str) and ("/" in item or "." in item) and Path(item).is_file():
                yield item


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _segment(name: str, value: Any) -> str:
    """`name=value`, as hive partitioning reads it; what doesn't fit a file name becomes `name~digest`."""
    text = _NULL if value is None else quote(_text(value), safe="+,@ ")
    if isinstance(value, list) or len(text) > LONGEST_VALUE or text == "":
        return f"{name}~{_digest(value)[:12]}"
    return f"{name}={text}"
