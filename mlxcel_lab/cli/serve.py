"""`mlxcel-lab serve`: the OpenAI-compatible server on one model."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import fields

import click

from ..config import Resolved
from ..serve.settings import MAX_EVENTS, ServerSettings
from .flags import prompt_cache_flags

_DEFAULT = {field.name: field.default for field in fields(ServerSettings)}


@click.command("serve")
@click.argument("model")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to bind: this machine alone unless told."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: any free one."
)
@click.option("--api-key", envvar="MLXCEL_LAB_API_KEY", help="Guards every route. [env: MLXCEL_LAB_API_KEY]")
@click.option("--template", help="Chat template of the lab instead of the model's own.")
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=_DEFAULT["max_tokens"],
    show_default=True,
    help="Most a request may ask.",
)
@click.option(
    "--max-messages",
    type=click.IntRange(1),
    default=_DEFAULT["max_messages"],
    show_default=True,
    help="Most in a request.",
)
@click.option(
    "--max-body-bytes", type=click.IntRange(1), default=_DEFAULT["max_body_bytes"], show_default=True
)
@click.option(
    "--max-waiting",
    type=click.IntRange(1),
    default=_DEFAULT["max_waiting"],
    show_default=True,
    help="Requests that run or wait; then 429.",
)
@click.option(
    "--max-events", type=click.IntRange(1), default=MAX_EVENTS, show_default=True, help="Journal's length."
)
@click.option(
    "--keep-tokens", is_flag=True, help="Keep token vectors in the journal: memory grows with its length."
)
@prompt_cache_flags
def command(
    prompt_cache: Resolved,
    model: str,
    host: str,
    port: int,
    template: str | None,
    max_events: int,
    keep_tokens: bool,
    **bounds: int | str | None,
) -> None:
    """Serve MODEL (a lab model, a folder, a hub id) to OpenAI's clients.

    Chat at /v1/chat/completions, the cache at /v1/cache/stats, /v1/cache/entries, /v1/cache/events and /metrics.
    A conversation is told by `prompt_cache_key`, else by `user`.
    """
    from ..engine import Engine, load
    from ..engine.sizing.auto import resolve_capacity
    from ..serve import LabServer
    from ..serve.replies import as_message
    from ..store import Journal, SnapshotStore

    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    settings = ServerSettings(model, **bounds)  # type: ignore[arg-type]
    loaded = load(model, template=template)
    prompt_cache = resolve_capacity(prompt_cache, loaded)
    prompt_cache.log()
    store = SnapshotStore(
        prompt_cache.config,
        journal=Journal(max_events=max_events, keep_tokens=keep_tokens),
        sources=prompt_cache.sources,
    )
    engine = Engine(
        loaded,
        store,
        background=True,
        reply_message=lambda text, tools: as_message(loaded.tokenizer, text, tools),
    )
    server = LabServer(engine, settings, host=host, port=port)
    with suppress(KeyboardInterrupt):  # uvicorn raises the signal again when all is closed
        server.run()
    click.echo("mlxcel-lab: stopped", err=True)
