"""The HTTP face: an OpenAI-compatible server on the lab's engine and store, and the store inside mlx-lm's server.

What is not here: batching, several models at once, TLS. The server itself needs the extra `serve`; the store inside
mlx-lm's server (`mlx_lm_cache`, `mlx_lm_server`) doesn't, so the names load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..lazy import lazy_names

_HOME = {
    "ANONYMOUS_SESSION": "settings",
    "BackgroundServer": "running",
    "LabServer": "running",
    "ServerSettings": "settings",
    "create_api": "app",
    "create_app": "app",
}
_EXTRA = ("fastapi", "prometheus_client", "starlette", "uvicorn")

if TYPE_CHECKING:
    from .app import create_api as create_api
    from .app import create_app as create_app
    from .running import BackgroundServer as BackgroundServer
    from .running import LabServer as LabServer
    from .settings import ANONYMOUS_SESSION as ANONYMOUS_SESSION
    from .settings import ServerSettings as ServerSettings

__all__ = [*_HOME]
_load = lazy_names(__name__, _HOME)


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ImportError as error:
        if (error.name or "").split(".")[0] not in _EXTRA:
            raise
        raise ImportError(f'{error}: the server needs its extra, pip install "mlxcel_lab[serve]"') from error


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
