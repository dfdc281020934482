"""The HTTP face: an OpenAI-compatible server on the lab's engine and store, and the store inside mlx-lm's server.

What is not here: batching, several models at once, TLS. Needs the extra `serve`.
"""

try:
    import fastapi  # noqa: F401
    import prometheus_client  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError(f'{error}: the server needs its extra, pip install "mlxcel_lab[serve]"') from error

from .app import create_api, create_app
from .running import BackgroundServer, LabServer
from .settings import ANONYMOUS_SESSION, ServerSettings

__all__ = ["ANONYMOUS_SESSION", "BackgroundServer", "LabServer", "ServerSettings", "create_api", "create_app"]
