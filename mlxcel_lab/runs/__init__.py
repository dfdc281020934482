"""Notebooks as runs: one with checked parameters, sweeps of many, and all their results as one frame.

The names load on first use: a notebook that hands over one row shouldn't pay for a sweep's imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

_HOME = {
    "Parameter": "parameters",
    "SweepResult": "sweeps",
    "compare": "charts",
    "find_notebook": "parameters",
    "hand_over": "handover",
    "inspect": "parameters",
    "result_of": "handover",
    "runs_frame": "frame",
    "sweep": "sweeps",
}

if TYPE_CHECKING:
    from .charts import compare as compare
    from .frame import runs_frame as runs_frame
    from .handover import hand_over as hand_over
    from .handover import result_of as result_of
    from .parameters import Parameter as Parameter
    from .parameters import find_notebook as find_notebook
    from .parameters import inspect as inspect
    from .sweeps import SweepResult as SweepResult
    from .sweeps import sweep as sweep

__all__ = [*_HOME]
__getattr__ = lazy_names(__name__, _HOME)
