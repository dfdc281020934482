"""What came of a run: the contents of its `run.json`."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_PACKAGES = ("mlxcel_lab", "mlx", "mlx-lm", "numpy", "polars", "papermill", "ipykernel")


@cache
def versions() -> dict[str, str]:
    """The versions that a result may depend on; a package that isn't installed is left out."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What came of a run, as `run.json` keeps it. `cells_seconds`: spent in the notebook's own cells."""

    notebook: str
    status: str  # "done" or "failed"
    parameters: dict[str, Any]
    given: tuple[str, ...]
    fingerprint: str
    seed: int | None
    started: str
    seconds: float
    cells_seconds: float
    rows: int | None
    error: str | None
    result: str | None
    inputs: dict[str, str]
    package: str
    versions: dict[str, str] = field(default_factory=lambda: dict(versions()))

    @property
    def done(self) -> bool:
        return self.status == "done"

    @classmethod
    def from_json(cls, raw: bytes) -> RunRecord | None:
        """The record in a run.json; None for one of another version's form, whose run counts as never made."""
        try:
            return cls(**{**(values := json.loads(raw)), "given": tuple(values["given"])})
        except (TypeError, KeyError, ValueError):
            return None

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=2).encode()
