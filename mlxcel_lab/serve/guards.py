"""What every request passes before any route: the API key and the bound on its size.

Plain ASGI, so that a refused request's body is never read into memory.
"""

from __future__ import annotations

import secrets

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import error_body
from .settings import ServerSettings


class RequireKey:
    """Refuses with 401 whatever doesn't carry `Authorization: Bearer <key>`; guards every route."""

    def __init__(self, app: ASGIApp, api_key: str) -> None:
        self._app = app
        self._expected = f"Bearer {api_key}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._carries_key(scope):
            body = error_body(
                "missing or wrong API key: send 'Authorization: Bearer <key>'",
                "authentication_error",
                code="invalid_api_key",
            )
            await JSONResponse(body, 401, headers={"WWW-Authenticate": "Bearer"})(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _carries_key(self, scope: Scope) -> bool:
        given = Headers(scope=scope).get("authorization", "")
        return secrets.compare_digest(given.encode(), self._expected)


class LimitBody:
    """Refuses with 413 a body of more than `max_bytes`, by its declared length or while it streams in."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdigit() and int(declared) > self._max_bytes:
            await self._refuse(scope, receive, send)
            return
        await self._bounded(scope, receive, send)

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._max_bytes:
                raise HTTPException(413, self._message)  # the application answers it in its own shape
            return message

        await self._app(scope, counted, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = error_body(self._message, "invalid_request_error", code="413")
        await JSONResponse(body, 413)(scope, receive, send)

    @property
    def _message(self) -> str:
        return f"the request's body is larger than the bound of {self._max_bytes} bytes"


def guarded(app: ASGIApp, settings: ServerSettings) -> ASGIApp:
    """The application behind its guards; the key is asked for first."""
    bounded = LimitBody(app, settings.max_body_bytes)
    return bounded if settings.api_key is None else RequireKey(bounded, settings.api_key)
