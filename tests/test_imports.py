"""Imports point one way: each part of the package knows only those that stand above it in README's tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "mlxcel_lab"
README = (ROOT / "README.md").read_text(encoding="utf-8")
TREE = README.split("\nmlxcel_lab/\n")[1].split("\nnotebooks/")[0]
NAMED = re.findall(r"^  (\w+)(?:\.py|/) ", TREE, re.M)
LEAVES = sorted(
    {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", *NAMED}
)  # known by all, and know nothing
LAYERS = [*LEAVES, *NAMED]
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem != "__init__")


def _part(module: list[str]) -> str:
    return module[1] if len(module) > 1 else ""


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the part of the package of every import in a module, wherever in it."""
    package = ["mlxcel_lab", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[list[str]] = []
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            names = [[*base, alias.name] for alias in node.names]
        yield from ((node.lineno, _part(name)) for name in names if name[0] == "mlxcel_lab")


def test_every_folder_of_the_package_is_a_layer() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= {*NAMED}


@pytest.mark.parametrize("part", LAYERS)
def test_a_part_imports_only_from_itself_and_from_those_above_it(part: str) -> None:
    above = LEAVES if part not in LEAVES else []
    allowed = {part, "__version__", *above, *NAMED[: NAMED.index(part) if part in NAMED else 0]}
    own = [path for path in MODULES if path.relative_to(PACKAGE).parts[0].removesuffix(".py") == part]
    assert own
    wrong = [(path.name, line, name) for path in own for line, name in _imported(path) if name not in allowed]
    assert wrong == []
