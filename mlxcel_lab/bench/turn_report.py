"""What `bench turn` tells: its conditions, both sides of each ratio, and whether the targets are met."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from .turn_measure import Effort, Measured

OVER_LIMIT = 1.15  # restored seconds to first token by the limit's
DONATING = 0.02  # of the whole turn; both targets are this project's own


def results(model: str, measured: list[Measured]) -> pl.DataFrame:
    """One row a combination, times in milliseconds, copies in GB/s."""
    return pl.DataFrame([_row(model, one) for one in measured])


def _row(model: str, m: Measured) -> dict[str, Any]:
    return {
        "model": model,
        "history": m.history_tokens,
        "new": m.new_tokens,
        "cold_ms": m.cold * 1e3,
        "restored_ms": m.restored * 1e3,
        "new_alone_ms": m.new_alone * 1e3,
        "limit_ms": m.limit * 1e3,
        "over_limit": m.over_limit,
        "going_on_ms": m.going_on * 1e3,
        "over_going_on": m.over_going_on,
        "bytes": m.snapshot_bytes,
        "out_gbs": m.snapshot_bytes / m.copy_out / 1e9,
        "in_gbs": m.snapshot_bytes / m.copy_in / 1e9,
        "plain_gbs": m.snapshot_bytes / m.plain_copy / 1e9,
        "copy_in_ms": m.copy_in * 1e3,
        "turn_ms": m.turn * 1e3,
        "donating": m.donating_share,
        "within_limit": m.over_limit <= OVER_LIMIT,
        "donating_met": m.donating_share <= DONATING,
        "identical": m.identical,
    }


_COLUMNS = (
    ("history", "history", "{:>8,}"), ("new", "new", "{:>5}"), ("cold_ms", "cold ms", "{:>9.1f}"),
    ("restored_ms", "restored", "{:>9.1f}"), ("new_alone_ms", "new alone", "{:>10.1f}"),
    ("copy_in_ms", "copy in", "{:>8.2f}"), ("over_limit", "/ limit", "{:>8.2f}"),
    ("going_on_ms", "going on", "{:>9.1f}"), ("over_going_on", "/ going on", "{:>10.2f}"),
    ("bytes", "bytes", "{:>13,}"),
    ("out_gbs", "out GB/s", "{:>9.1f}"), ("in_gbs", "in GB/s", "{:>8.1f}"), ("plain_gbs", "plain", "{:>7.1f}"),
    ("turn_ms", "turn ms", "{:>9.1f}"), ("donating", "donating", "{:>9.2%}"), ("identical", "identical", "{!s:>10}"),
)  # fmt: skip


def table(frame: pl.DataFrame) -> str:
    """The rows as text, a line each."""
    widths = [len(form.format(True if name == "identical" else 0)) for name, _, form in _COLUMNS]
    head = " ".join(f"{title:>{width}}" for (_, title, _), width in zip(_COLUMNS, widths, strict=True))
    rows = (
        " ".join(form.format(row[name]) for name, _, form in _COLUMNS) for row in frame.iter_rows(named=True)
    )
    return "\n".join([head, *rows])


def conditions(effort: Effort, model_id: str) -> dict[str, str]:
    """Where and how it was measured."""
    from ..engine.backend import has_openblas, mx

    device = mx.device_info() if hasattr(mx, "device_info") else {}
    blas = ", OpenBLAS" if has_openblas else ""
    return {
        "model": model_id,
        "device": f"{mx.default_device()} {device.get('device_name', '')}{blas}".strip(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        "versions": ", ".join(f"{name} {_version(name)}" for name in ("mlx", "mlx-lm", "mlxcel_lab")),
        "repeats": f"{effort.repeats}, the fastest counts; boundary {'on' if effort.boundary else 'off'}, warm-up off",
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(not installed)"
