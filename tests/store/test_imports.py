"""What importing the store brings along: neither MLX nor a data frame library."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("mlx", "mlx_lm", "polars", "altair", "transformers", "IPython", "pandas", "click")


def _loaded_by(statement: str) -> set[str]:
    code = f"{statement}; import sys; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement", ["import mlxcel_lab.store", "from mlxcel_lab import SnapshotStore, Journal"]
)
def test_the_store_loads_without_mlx_and_without_polars(statement: str) -> None:
    assert _loaded_by(statement) == set()


def test_the_configuration_loads_nothing_of_what_builds_on_it() -> None:
    code = (
        "from mlxcel_lab.config import resolve; resolve({'supersede': 'learned'}, {})\n"
        "import sys; print(*(name for name, m in sys.modules.items() if hasattr(m, '__path__')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = set(done.stdout.split())
    assert "mlxcel_lab" in packages
    assert not any(name == "numpy" or name.startswith("mlxcel_lab.") for name in packages)


def test_polars_comes_with_the_first_frame() -> None:
    assert _loaded_by("from mlxcel_lab import Journal; Journal().frame()") == {"polars"}
