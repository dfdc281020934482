"""A notebook's parameters: their names, types, defaults and help, and values checked against them.

Papermill itself only warns of an unknown name, and injects whatever text it was given: `-p flag false` becomes the
string "false", which is true. Here both are refused before a kernel starts.
"""

from __future__ import annotations

import ast
import difflib
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import yaml

from ..files import read_text
from ..paths import notebooks_dir

# What nbformat raises, by how far from a notebook a file is.
_NO_NOTEBOOK = (nbformat.ValidationError, ValueError, TypeError, KeyError, AttributeError)
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _read_str(text: str) -> str:
    if not isinstance(text, str):
        raise ValueError
    return text


def _list(texts: Any) -> list[str]:
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError
    return texts


def _read_bool(text: str) -> bool:
    return _BOOLEANS[text.lower()]


def _read_int(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError
    return int(text)


_READ: dict[str, Callable[[str], Any]] = {
    "int": _read_int,
    "float": float,
    "str": _read_str,
    "bool": _read_bool,
}
_EXPECTED = {"int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a notebook: `type` is int, float, str, bool or a list of one of them, as `list[int]`."""

    name: str
    type: str
    default: Any
    help: str = ""

    @property
    def item(self) -> str | None:
        """The type of a list's items; None for a scalar."""
        return self.type[5:-1] if self.type.startswith("list[") else None

    def parse(self, text: str) -> Any:
        """The value that a command line wrote as text; a list as `[1, 2]`."""
        if self.item is None:
            return self.read(text)
        try:
            return self.read(yaml.load(text, yaml.BaseLoader))
        except (ValueError, yaml.YAMLError):
            raise ValueError(f"{self.name}={text!r}: expected {self._expected()}") from None

    def read(self, texts: Any) -> Any:
        """The value that a file wrote as a text, or for a list as a list of texts; `null` where that is the default."""
        if self.default is None and texts in ("null", "~"):
            return None
        try:
            if self.item is None:
                return _READ[self.type](texts)
            return [_READ[self.item](text) for text in _list(texts)]
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"{self.name}={texts!r}: expected {self._expected()}") from None

    def check(self, value: Any) -> Any:
        """The value as its type has it; a ValueError if it has another. An int is a float, a bool is no int."""
        if value is None and self.default is None:
            return None
        if self.item is None:
            return self._scalar(value, self.type)
        if not isinstance(value, list | tuple):
            raise ValueError(f"{self.name}={value!r}: expected {self._expected()}")
        return [self._scalar(item, self.item) for item in value]

    def _scalar(self, value: Any, kind: str) -> Any:
        if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if type(value).__name__ != kind:
            raise ValueError(f"{self.name}={value!r}: expected {self._expected()}")
        return value

    def _expected(self) -> str:
        if self.item is None:
            return _EXPECTED[self.type]
        return f"a list like [a, b], each item {_EXPECTED[self.item]}"


def find_notebook(name: str | Path) -> Path:
    """The notebook at that path, or the lab's own of that name: `20_thrash` will do."""
    tried = [
        Path(name),
        Path(f"{name}.ipynb"),
        notebooks_dir() / f"{name}",
        notebooks_dir() / f"{name}.ipynb",
    ]
    for path in tried:
        if path.suffix == ".ipynb" and path.is_file():
            return path
    there = ", ".join(sorted(p.stem for p in notebooks_dir().glob("*.ipynb"))) or "none here"
    raise ValueError(f"no notebook {str(name)!r}: give a path, or the name of one of the lab's ({there})")


def inspect(notebook: str | Path) -> dict[str, Parameter]:
    """The parameters of a notebook's cell tagged `parameters`, in their order there."""
    from papermill import inspect_notebook

    quiet_papermill()
    found = inspect_notebook(read_notebook(notebook)).values()
    return {p["name"]: _parameter(p, Path(notebook).name) for p in found}


def read_notebook(path: str | Path) -> nbformat.NotebookNode:
    """The notebook, to be run by the kernel `python3` of this environment whatever it was saved with.

    Raises ValueError for a file that is no notebook.
    """
    text = read_text(path)
    try:
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
    except _NO_NOTEBOOK as error:
        why = str(error).splitlines()[:1] or [type(error).__name__]
        raise ValueError(f"{path} is no notebook: {why[0]}") from error
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def _parameter(found: Mapping[str, Any], notebook: str) -> Parameter:
    name = found["name"]
    try:
        default = ast.literal_eval(found["default"])
    except (ValueError, SyntaxError):
        raise ValueError(
            f"{notebook}: the default of {name}, {found['default']}, must be a literal"
        ) from None
    kind = found["inferred_type_name"].replace(" ", "")
    if kind == "None":  # not annotated
        kind = type(default).__name__
    parameter = Parameter(name, kind, default, found["help"])
    if (parameter.item or kind) not in _READ:
        raise ValueError(
            f"{notebook}: {name} is a {kind}, expected {', '.join(_READ)}, or a list like list[int]"
        )
    return parameter


def parse_assignments(pairs: Iterable[str], parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """The checked values of texts like `budget=3`."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ValueError(f"{pair!r}: expected name=value")
        if name in values:
            raise ValueError(f"{name} is given twice")
        values[name] = known(name, parameters).parse(text)
    return values


def known(name: str, parameters: Mapping[str, Parameter]) -> Parameter:
    """The parameter of that name; a ValueError that lists the names there are."""
    if name in parameters:
        return parameters[name]
    near = difflib.get_close_matches(name, parameters, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(parameters) or 'none'}"
    raise ValueError(f"the notebook has no parameter {name!r}: {hint}")


def complete(values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """Every parameter's value, checked, in the notebook's order: the given ones over the defaults."""
    checked = {name: known(name, parameters).check(value) for name, value in values.items()}
    return {name: checked.get(name, p.default) for name, p in parameters.items()}


def quiet_papermill() -> None:
    """Keep papermill's commentary out of our output: what it warns of is refused here, what fails is in the record."""
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
