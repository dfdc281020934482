"""The application: one engine, one store, their routes, behind their guards."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp

from ..engine import Engine
from ..version import __version__
from . import errors
from .cache import cache_routes
from .chat import ChatFace, chat_routes
from .guards import guarded
from .metrics import Metrics
from .settings import ServerSettings
from .turns import TurnQueue


def create_api(engine: Engine, settings: ServerSettings, stopping: threading.Event | None = None) -> FastAPI:
    """The routes over `engine`, without guards. The engine is the caller's to close, after the application.

    `stopping` ends the answers that would otherwise go on for ever.
    """
    metrics = Metrics(engine.store)
    turns = TurnQueue(engine, settings.max_waiting)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        turns.close()

    api = FastAPI(title="mlxcel_lab", version=__version__, lifespan=lifespan)
    errors.install(api)
    api.include_router(chat_routes(ChatFace(turns, settings, metrics), settings))
    api.include_router(cache_routes(engine.store, stopping or threading.Event()))
    _service_routes(api, turns, metrics, settings)
    return api


def create_app(engine: Engine, settings: ServerSettings, stopping: threading.Event | None = None) -> ASGIApp:
    """What a server runs: the routes behind the key and the bound on a body."""
    return guarded(create_api(engine, settings, stopping), settings)


def _service_routes(api: FastAPI, turns: TurnQueue, metrics: Metrics, settings: ServerSettings) -> None:
    @api.get("/health", tags=["service"])
    def health() -> dict[str, Any]:
        """Alive, which model, and how many turns run or wait."""
        return {"status": "ok", "model": settings.model_name, "waiting": len(turns)}

    @api.get("/metrics", tags=["service"], response_class=Response)
    def scrape() -> Response:
        """Prometheus' text format."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)
