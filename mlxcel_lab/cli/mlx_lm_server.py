"""`mlxcel-lab mlx-lm-server`: mlx-lm's own server on the lab's store."""

from __future__ import annotations

import logging

import click

from ..config import AUTO, Resolved
from .flags import prompt_cache_flags


@click.command(
    "mlx-lm-server",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    add_help_option=False,
)
@click.option("--help", "-h", "show_help", is_flag=True, help="Show these flags, then mlx-lm's own.")
@prompt_cache_flags
@click.pass_context
def command(ctx: click.Context, prompt_cache: Resolved, show_help: bool) -> None:
    """Start mlx-lm's own server (`mlx_lm.server`, all its flags) with its prompt cache replaced by the lab's store.

    `--model` may also name a lab model. mlx-lm's --prompt-cache-size and --prompt-cache-bytes are refused: the store's
    budget is set by the flags here.
    """
    from ..serve.mlx_lm_server import run_server

    if show_help:
        click.echo(ctx.get_help() + "\n\nmlx-lm's own flags:\n")
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    if prompt_cache.config.snapshot_capacity_bytes == AUTO and not show_help:
        prompt_cache = _for_model(prompt_cache, ctx.args)
    prompt_cache.log()
    run_server(["--help"] if show_help else ctx.args, prompt_cache)


def _for_model(prompt_cache: Resolved, arguments: list[str]) -> Resolved:
    """mlx-lm loads its model after the cache is made: an `auto` capacity goes by the config of --model."""
    from ..engine.sizing import find_config
    from ..engine.sizing.auto import resolve_capacity

    if "--model" not in arguments[:-1]:
        raise click.UsageError("a capacity of auto needs --model: its config.json says what a snapshot costs")
    return resolve_capacity(prompt_cache, find_config(arguments[arguments.index("--model") + 1]))
