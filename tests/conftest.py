"""What all tests share: where the project's reference material is, and hypothesis without a clock."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A busy machine must not fail a test: no deadlines.
settings.register_profile("lab", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lab")

_REPOSITORY = Path(__file__).resolve().parents[1]


def _shared_candidates() -> list[Path]:
    named = os.environ.get("MLXCEL_LAB_SHARED")
    return [Path(named)] if named else [_REPOSITORY / "../shared", _REPOSITORY / "../../shared"]


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder of reference numbers, traces and tools that lies beside the repository; skips where it is absent."""
    for folder in _shared_candidates():
        if (folder / "DESIGN.md").is_file():
            return folder.resolve()
    pytest.skip("no reference material: put it at ../shared or name its folder in MLXCEL_LAB_SHARED")
