"""Errors in OpenAI's shape: `{"error": {"message", "type", "param", "code"}}`.

Source of the shape: the error object of OpenAI's API reference.
"""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException


class ApiError(Exception):
    """A refusal with an HTTP status; `param` names the request's field at fault."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.body = error_body(message, kind, param=param, code=code)


def error_body(
    message: str, kind: str, *, param: str | None = None, code: str | None = None
) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def validation_message(error: dict[str, Any]) -> tuple[str, str]:
    """One pydantic error as (message, the field's dotted path)."""
    path = ".".join(str(part) for part in error["loc"] if part != "body") or "body"
    return f"{path}: {error['msg'].removeprefix('Value error, ')}", path


def _on_api_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ApiError)
    return JSONResponse(error.body, error.status, headers=error.headers)


def _on_bad_request(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    message, param = validation_message(error.errors()[0])
    return JSONResponse(error_body(message, "invalid_request_error", param=param), 400)


def _on_http_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    body = error_body(str(error.detail), "invalid_request_error", code=str(error.status_code))
    return JSONResponse(body, error.status_code, headers=error.headers)


def install(app: FastAPI) -> None:
    """Answer every refusal of `app` in OpenAI's shape."""
    app.add_exception_handler(ApiError, _on_api_error)
    app.add_exception_handler(RequestValidationError, _on_bad_request)
    app.add_exception_handler(HTTPException, _on_http_error)
