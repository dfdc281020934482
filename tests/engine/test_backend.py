"""Importing MLX: the error where it has no backend, and OpenBLAS before it."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

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
def test_an_installed_openblas_is_in_the_process_before_mlx():
    said = _python(
        "from mlxcel_lab import load; load('dense'); from mlxcel_lab.engine import backend;"
        "print(backend.has_openblas, 'libopenblas' in open('/proc/self/maps').read())"
    )
    assert said.split() == ["True", "True"]


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
