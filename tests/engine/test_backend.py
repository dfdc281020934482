"""Importing MLX: the error where it has no backend, and OpenBLAS before it."""

from __future__ import annotations

import ast
import ctypes
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mlxcel_lab

PACKAGE = Path(mlxcel_lab.__file__).parent
Scope = tuple[ast.AST, ...]

_WITHOUT_MLX = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == "mlx.core":
            raise ImportError("libmlx.so: cannot open shared object file")

sys.meta_path.insert(0, Blocked())
from mlxcel_lab import SnapshotStore, load
SnapshotStore()  # the store needs no MLX
try:
    load("dense")
except ImportError as error:
    print(error)
"""


def _python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_without_a_backend_the_error_names_the_extras_to_install():
    said = _python(_WITHOUT_MLX)
    assert "mlx has no backend on this machine (libmlx.so: cannot open shared object file)" in said
    assert 'pip install "mlxcel_lab[cpu]"' in said
    assert 'pip install "mlxcel_lab[cuda13]"' in said


def _openblas_is_installed():
    try:
        ctypes.CDLL("libopenblas.so.0")
    except OSError:
        return False
    return sys.platform == "linux"


@pytest.mark.skipif(
    not _openblas_is_installed(), reason="no libopenblas.so.0: apt-get install libopenblas0-pthread"
)
@pytest.mark.parametrize(
    "first",
    [
        "from mlxcel_lab import load; load('dense')",
        "import mlxcel_lab.bench.serve",
        "import mlxcel_lab.serve.replies",
    ],
)
def test_an_installed_openblas_is_in_the_process_before_mlx(first):
    said = _python(
        f"{first}; from mlxcel_lab.engine import backend;"
        "print(backend.has_openblas, 'libopenblas' in open('/proc/self/maps').read())"
    )
    assert said.split() == ["True", "True"]


def _imports(node: ast.AST, scope: Scope = ()) -> Iterator[tuple[ast.Import | ast.ImportFrom, Scope]]:
    """Each import that is ever run, with the functions that it stands in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, scope
        elif not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _imports(child, (*scope, child) if function else scope)


def _names(found: ast.Import | ast.ImportFrom) -> list[str]:
    names = [alias.name for alias in found.names]
    if isinstance(found, ast.Import):
        return names
    return [f"{'.' * found.level}{found.module or ''}.{name}" for name in names]


def _too_early(source: str) -> list[str]:
    """The imports of MLX or mlx-lm with none of the backend before them, in their function or around it."""
    found = list(_imports(ast.parse(source)))
    backends = [(i, scope) for i, scope in found if any("backend" in name.split(".") for name in _names(i))]
    return [
        ast.unparse(one)
        for one, scope in found
        if any(name.split(".")[0] in ("mlx", "mlx_lm") for name in _names(one))
        and not any(i.lineno < one.lineno and around == scope[: len(around)] for i, around in backends)
    ]


@pytest.mark.parametrize(
    "path", [p for p in sorted(PACKAGE.rglob("*.py")) if p != PACKAGE / "engine" / "backend.py"],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)  # fmt: skip
def test_no_module_imports_mlx_before_the_backend_which_would_shut_openblas_out(path):
    assert _too_early(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "early"),
    [
        ("import mlx.core as mx", 1),
        ("from mlx_lm import load", 1),
        ("from .backend import mx\nimport mlx.nn", 0),
        ("def a():\n from .backend import mx\ndef b():\n import mlx.nn", 1),
        ("if TYPE_CHECKING:\n import mlx.core", 0),
        ("from ..engine import backend\ndef b():\n import mlx_lm", 0),
        ("from .mlx_lm import replay", 0),
    ],
)
def test_the_check_of_imports_sees_what_comes_too_early(source, early):
    assert len(_too_early(source)) == early


def test_openblas_is_not_loaded_behind_an_mlx_that_is_there_already():
    said = _python("import mlx.core; from mlxcel_lab.engine import backend; print(backend.has_openblas)")
    assert said.strip() == "False"


@pytest.mark.parametrize(
    "module", ["mlxcel_lab", "mlxcel_lab.store", "mlxcel_lab.engine", "mlxcel_lab.engine.chat"]
)
def test_importing_what_needs_no_mlx_imports_none(module):
    assert _python(f"import sys, {module}; print('mlx.core' in sys.modules)").strip() == "False"


def test_a_process_that_ends_while_a_turn_runs_ends_cleanly():
    said = _python(
        "from mlxcel_lab import Engine, load\n"
        "stream = Engine(load('dense')).stream([{'role': 'user', 'content': 'Why?'}], max_tokens=5000)\n"
        "print(next(stream) != '')"
    )
    assert said.strip() == "True"


def test_a_process_that_ends_with_turns_waiting_ends_cleanly():
    said = _python(
        "from mlxcel_lab import Engine, load\n"
        "engine = Engine(load('dense'))\n"
        "ask = [{'role': 'user', 'content': 'Why?'}]\n"
        "streams = [engine.stream(ask, max_tokens=5000) for _ in range(3)]\n"
        "print(next(streams[0]) != '')"
    )
    assert said.strip() == "True"
