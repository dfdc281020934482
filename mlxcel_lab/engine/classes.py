"""mlx-lm's model classes without what its package imports to load and to generate (transformers: over a second).

Sizing needs the classes alone. `mlx_lm`'s own `__init__` is put off until something of it is used; which class belongs
to which model_type is read from the installed `mlx_lm/utils.py`, not restated.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any


class _PutOff(ModuleType):
    """A package whose `__init__` runs when the first of its own names is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self.__spec__ is None or self.__spec__.loader is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self.__class__ = ModuleType  # type: ignore[assignment]
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def put_off_loading() -> None:
    """Let `mlx_lm.models` be imported without `mlx_lm`'s `__init__`; does nothing where that has run already."""
    spec = None if "mlx_lm" in sys.modules else importlib.util.find_spec("mlx_lm")
    if spec is not None:
        package = _PutOff("mlx_lm")
        package.__spec__, package.__file__ = spec, spec.origin
        package.__path__ = list(spec.submodule_search_locations or ())
        sys.modules["mlx_lm"] = package


def model_classes(config: Mapping[str, Any]) -> tuple[Any, Any]:
    """The model class and the arguments' class for a config, as `mlx_lm.utils` chooses them. Raises ValueError."""
    if "mlx_lm.utils" in sys.modules:
        classes: tuple[Any, Any] = sys.modules["mlx_lm.utils"]._get_classes(config)
        return classes
    kind, architectures = config["model_type"], config.get("architectures") or ()
    names = [architectures] if isinstance(architectures, str) else architectures
    by_architecture = _table("MODEL_ARCHITECTURE_REMAPPING")
    chosen = next((by_architecture[kind, a] for a in names if (kind, a) in by_architecture), None)
    module = chosen or _table("MODEL_REMAPPING").get(kind, kind)
    try:
        found = importlib.import_module(f"mlx_lm.models.{module}")
    except ImportError as error:
        raise ValueError(f"Model type {module} not supported.") from error
    return found.Model, found.ModelArgs


@cache
def _table(name: str) -> dict[Any, str]:
    """A literal table of mlx_lm/utils.py, read without running it; empty where this version has none."""
    spec = importlib.util.find_spec("mlx_lm.models")
    source = Path(str(spec and spec.origin)).parents[1] / "utils.py"
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in node.targets
        ):
            table: dict[Any, str] = ast.literal_eval(node.value)
            return table
    return {}
