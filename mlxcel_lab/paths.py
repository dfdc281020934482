"""Where the lab's own files lie: beside the package in a clone, inside it in an installed wheel."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _shipped(name: str) -> Path:
    inside = _PACKAGE / f"_{name}"
    return inside if inside.is_dir() else _PACKAGE.parent / name


def data_dir() -> Path:
    """The folder of lab models, conversations, small traces and published figures."""
    return _shipped("data")


def notebooks_dir() -> Path:
    """The folder of the numbered notebooks."""
    return _shipped("notebooks")


def cache_dir() -> Path:
    """The user's folder for what is made or fetched once: MLXCEL_LAB_CACHE, else mlxcel_lab in the XDG cache."""
    given = os.environ.get("MLXCEL_LAB_CACHE")
    return (
        Path(given)
        if given
        else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mlxcel_lab"
    )
