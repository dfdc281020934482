"""Running the application: in the foreground for the command, in a thread for a notebook or a test."""

from __future__ import annotations

import logging
import socket
import threading
from types import FrameType, TracebackType

import uvicorn
from starlette.types import ASGIApp

from ..engine import Engine
from .app import create_app
from .settings import ServerSettings

_GRACE_SECONDS = 5
_LOG = logging.getLogger("mlxcel_lab.serve")


class LabServer(uvicorn.Server):
    """Uvicorn, which on a signal first tells those who follow the journal that it is over."""

    def __init__(
        self, engine: Engine, settings: ServerSettings, *, host: str = "127.0.0.1", port: int = 8080
    ) -> None:
        self.stopping = threading.Event()
        self.app: ASGIApp = create_app(engine, settings, self.stopping)
        config = uvicorn.Config(
            self.app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=_GRACE_SECONDS
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            _LOG.info("listening on %s", self.url)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.stopping.set()
        super().handle_exit(sig, frame)

    @property
    def url(self) -> str:
        """Where it listens, e.g. http://127.0.0.1:8080, once it has started."""
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class BackgroundServer:
    """`with BackgroundServer(engine, settings) as url:` serves on a free port of this machine until the block ends."""

    def __init__(self, engine: Engine, settings: ServerSettings) -> None:
        self._server = LabServer(engine, settings, port=0)
        self._thread = threading.Thread(target=self._server.run, name="server", daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.01)  # a pause that ends at once where the server fails to start
            if not self._thread.is_alive():
                raise RuntimeError("the server did not start: its log says why")
        return self._server.url

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stopping.set()
        self._server.should_exit = True
        self._thread.join()
