"""mlxcel_lab: a workbench for the exact-prefix snapshot store of an LLM server on MLX.

The public names, nothing else. They load on first use, so that the store and the configuration never pay for MLX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .lazy import lazy_names
from .version import __version__ as __version__

_HOME = {
    "PromptCacheConfig": "config",
    "resolve": "config",
    "Bucket": "store",
    "CacheKey": "store",
    "Journal": "store",
    "Origin": "store",
    "Snapshot": "store",
    "SnapshotStore": "store",
    "Dashboard": "view.dashboard",
    "Engine": "engine",
    "compare": "runs",
    "hand_over": "runs",
    "runs_frame": "runs",
    "sweep": "runs",
    "lab_models": "engine",
    "load": "engine",
    "load_dry": "engine",
}

if TYPE_CHECKING:
    from .config import PromptCacheConfig as PromptCacheConfig
    from .config import resolve as resolve
    from .engine import Engine as Engine
    from .engine import lab_models as lab_models
    from .engine import load as load
    from .engine import load_dry as load_dry
    from .runs import compare as compare
    from .runs import hand_over as hand_over
    from .runs import runs_frame as runs_frame
    from .runs import sweep as sweep
    from .store import Bucket as Bucket
    from .store import CacheKey as CacheKey
    from .store import Journal as Journal
    from .store import Origin as Origin
    from .store import Snapshot as Snapshot
    from .store import SnapshotStore as SnapshotStore
    from .view.dashboard import Dashboard as Dashboard

__all__ = [*_HOME]
__getattr__ = lazy_names(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext mlxcel_lab`: charts are drawn offline, trusted or not; warnings are plain lines."""
    from .view import altair_renderer, notebook_log

    altair_renderer.register()
    notebook_log.register()


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext mlxcel_lab`: Altair and the log are as they were."""
    from .view import altair_renderer, notebook_log

    altair_renderer.unregister()
    notebook_log.unregister()
