"""`POST /v1/chat/completions`, whole and as server-sent events, and `GET /v1/models`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from ..engine import Turn
from .errors import ApiError
from .metrics import Metrics
from .replies import Envelope, ReplyReader, usage
from .schemas import ChatRequest
from .settings import ANONYMOUS_SESSION, ServerSettings
from .turns import Job, TurnQueue, stopped_when_left


class ChatFace:
    """Turns OpenAI's chat requests into the engine's turns and back."""

    def __init__(self, turns: TurnQueue, settings: ServerSettings, metrics: Metrics) -> None:
        self._turns = turns
        self._settings = settings
        self._metrics = metrics

    async def complete(self, body: ChatRequest, request: Request) -> Response:
        self._check(body)
        reader = ReplyReader(self._turns.engine.model.tokenizer, body.plain_tools())
        job = self._submit(body)
        if body.stream:
            return await self._stream(body, request, job, reader)
        async with stopped_when_left(job, request.is_disconnected):
            turn = await _ended(job)
        if turn.finish_reason == "cancelled":  # nobody is there to read it; the status is for the log
            raise ApiError(499, "the client went away", kind="cancelled_error", code="cancelled")
        self._observe(turn)
        reader.feed(turn.text)
        reader.finish()
        envelope = Envelope(self._settings.model_name)
        return JSONResponse(envelope.completion(reader.message(), _finish(turn, reader), _usage(turn)))

    def _check(self, body: ChatRequest) -> None:
        settings = self._settings
        if body.model != settings.model_name:
            message = f"model {body.model!r} is not served here: this server has {settings.model_name!r}"
            raise ApiError(404, message, param="model", code="model_not_found")
        if len(body.messages) > settings.max_messages:
            message = f"{len(body.messages)} messages, more than the bound of {settings.max_messages}"
            raise ApiError(400, message, param="messages", code="too_many_messages")
        if body.limit(1) > settings.max_tokens:
            message = f"max_tokens is {body.limit(1)}, more than the bound of {settings.max_tokens}"
            raise ApiError(400, message, param="max_tokens", code="max_tokens_too_large")

    def _submit(self, body: ChatRequest) -> Job:
        settings = self._settings
        return self._turns.submit(
            [message.plain() for message in body.messages],
            session=body.session(ANONYMOUS_SESSION),
            max_tokens=body.limit(min(settings.default_max_tokens, settings.max_tokens)),
            tools=body.plain_tools(),
            template_kwargs=body.chat_template_kwargs,
            temperature=body.temperature,
            top_p=body.top_p,
            seed=body.seed,
            stop=body.stops(),
        )

    async def _stream(
        self, body: ChatRequest, request: Request, job: Job, reader: ReplyReader
    ) -> StreamingResponse:
        """Waits for the first piece, so that a request that can't be served still gets its own status."""
        pieces = job.pieces()
        async with stopped_when_left(job, request.is_disconnected):
            try:
                first = await anext(pieces, "")
            except Exception as error:
                raise _as_api_error(error) from error
        include = body.stream_options is not None and body.stream_options.include_usage
        events = self._events(job, pieces, first, reader, include_usage=include)
        return StreamingResponse(
            events, media_type="text/event-stream", headers={"Cache-Control": "no-cache"}
        )

    async def _events(
        self, job: Job, pieces: AsyncIterator[str], first: str, reader: ReplyReader, *, include_usage: bool
    ) -> AsyncIterator[str]:
        envelope = Envelope(self._settings.model_name)
        try:
            yield _sse(envelope.chunk({"role": "assistant", "content": ""}))
            for delta in reader.feed(first):
                yield _sse(envelope.chunk(delta))
            async for piece in pieces:
                for delta in reader.feed(piece):
                    yield _sse(envelope.chunk(delta))
            turn = await job.turn
            self._observe(turn)
            for delta in reader.finish():
                yield _sse(envelope.chunk(delta))
            yield _sse(envelope.chunk({}, _finish(turn, reader)))
            if include_usage:
                yield _sse(envelope.usage_chunk(_usage(turn)))
            yield "data: [DONE]\n\n"
        except Exception as error:  # the status has gone out: the error is the stream's last event
            yield _sse(_as_api_error(error).body)
        finally:
            job.cancel()

    def _observe(self, turn: Turn) -> None:
        outcome = "hit" if turn.cached_tokens else "miss"
        self._metrics.first_token_seconds.labels(outcome).observe(turn.seconds_to_first_token)


def chat_routes(face: ChatFace, settings: ServerSettings) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["chat"])

    @router.post("/chat/completions", response_class=Response)
    async def completions(body: ChatRequest, request: Request) -> Response:
        """One turn of a conversation; `prompt_cache_key` or `user` says whose."""
        return await face.complete(body, request)

    @router.get("/models")
    def models() -> dict[str, Any]:
        """The one model that is served."""
        model = {"id": settings.model_name, "object": "model", "created": 0, "owned_by": "mlxcel_lab"}
        return {"object": "list", "data": [model]}

    return router


async def _ended(job: Job) -> Turn:
    try:
        return await job.turn
    except asyncio.CancelledError:
        raise
    except Exception as error:
        raise _as_api_error(error) from error


def _as_api_error(error: Exception) -> ApiError:
    """A turn's failure as the client sees it: its own fault (400) or ours (500)."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, ValueError | TypeError):
        return ApiError(400, str(error))
    return ApiError(500, f"{type(error).__name__}: {error}", kind="server_error", code="internal_error")


def _finish(turn: Turn, reader: ReplyReader) -> str:
    return "tool_calls" if reader.called_tools else turn.finish_reason


def _usage(turn: Turn) -> dict[str, Any]:
    return usage(turn.prompt_tokens, turn.cached_tokens, turn.completion_tokens)


def _sse(body: dict[str, Any]) -> str:
    return f"data: {json.dumps(body)}\n\n"
