"""What of the server's folder works where its extra isn't installed, and what the rest says then."""

from __future__ import annotations

import subprocess
import sys

import pytest

EXTRA = ("fastapi", "prometheus_client", "starlette", "uvicorn")


def _python_without(names: tuple[str, ...], code: str) -> str:
    blocked = f"import sys; sys.modules.update(dict.fromkeys({names!r}))\n"
    return subprocess.run([sys.executable, "-c", blocked + code], capture_output=True, text=True).stderr


@pytest.mark.parametrize(
    "code",
    [
        "import mlxcel_lab.serve.mlx_lm_cache",
        "import mlxcel_lab.serve.mlx_lm_server",
        "from mlxcel_lab.serve import ANONYMOUS_SESSION, ServerSettings",
        "from mlxcel_lab.bench.store_sides import make_ours, make_peer",
        "import mlxcel_lab.cli.serve, mlxcel_lab.cli.mlx_lm_server",
    ],
)
def test_what_needs_no_server_loads_without_the_extra(code):
    assert _python_without(EXTRA, code) == ""


@pytest.mark.parametrize("missing", EXTRA)
@pytest.mark.parametrize(
    "code",
    [
        "from mlxcel_lab.serve import LabServer",
        "import sys; sys.argv = ['mlxcel-lab', 'serve', 'dense']; from mlxcel_lab.cli import main; main()",
    ],
    ids=["import", "command"],
)
def test_what_needs_the_server_names_the_extra(code, missing):
    last = _python_without((missing,), code).strip().splitlines()[-1]
    assert 'the server needs its extra, pip install "mlxcel_lab[serve]"' in last


def test_another_error_of_an_import_is_told_as_it_is():
    last = _python_without(("mlx_lm",), "from mlxcel_lab.serve import LabServer").strip().splitlines()[-1]
    assert "mlx_lm" in last
    assert "extra" not in last


def test_an_unknown_name_is_an_attribute_error():
    import mlxcel_lab.serve

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mlxcel_lab.serve.nothing  # noqa: B018
