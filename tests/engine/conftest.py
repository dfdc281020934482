"""What the engine's tests share: each lab model is loaded once."""

from __future__ import annotations

from functools import cache

import pytest

from mlxcel_lab.engine import load

LAB_MODELS = ("chunked", "dense", "falcon-h1", "gated-delta", "mamba2", "sliding-window")


@pytest.fixture(scope="session")
def lab():
    """`lab(name)` gives that lab model, the same one each time."""
    return cache(load)


def pytest_generate_tests(metafunc):
    """A test that takes `name` runs on every lab model."""
    if "name" in metafunc.fixturenames and not any(
        "name" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize")
    ):
        metafunc.parametrize("name", LAB_MODELS)
