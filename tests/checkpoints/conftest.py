"""Real checkpoints, downloaded once; a test that needs one skips with the reason where it can't be had."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from mlxcel_lab.engine import load

_TOOL = Path(__file__).with_name("smollm2.py")


def _tool():
    spec = importlib.util.spec_from_file_location("smollm2_tool", _TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def smollm2_folder():
    """The folder of SmolLM2-135M-Instruct as float32."""
    from mlxcel_lab.engine.worker import mlx_thread

    tool = _tool()
    try:
        return mlx_thread().run(tool.folder)
    except tool.Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def smollm2(smollm2_folder):
    return load(smollm2_folder)
