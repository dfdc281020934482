"""`mlxcel-lab bench`: the measurements of mlxcel_lab.bench, one module each, loaded when named."""

from __future__ import annotations

import click

from .lazy import LazyGroup

# measurement -> (module that holds a click command named `command`, its help line)
_MEASUREMENTS: dict[str, tuple[str, str]] = {
    "frame": (
        "mlxcel_lab.bench.frame",
        "The dashboard's frames: events taken in, time to make and to draw one.",
    ),
    "store": ("mlxcel_lab.bench.store", "The snapshot store beside mlx-lm's LRUPromptCache."),
    "replay": (
        "mlxcel_lab.bench.replay",
        "A trace against many budgets and rules, and mlx-lm's cache on the same.",
    ),
    "sweep": ("mlxcel_lab.bench.sweep", "A sweep beside bare papermill: seconds a run beyond its own cells."),
    "serve": (
        "mlxcel_lab.bench.serve",
        "The server: requests a second, time to first token, cold against warm.",
    ),
    "turn": (
        "mlxcel_lab.bench.turn",
        "A turn restored from a snapshot beside the same turn cold, and its limit.",
    ),
}


@click.group(cls=LazyGroup, table=_MEASUREMENTS, no_args_is_help=True)
def command() -> None:
    """Measure the lab: each prints its conditions and both sides of its ratio."""
