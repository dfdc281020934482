"""`mlxcel-lab config`: the resolved configuration and where each value came from."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict

import click

from ..config import Resolved
from .flags import prompt_cache_flags


@click.command("config")
@click.option(
    "--json", "as_json", is_flag=True, help="Print values, sources and messages as one JSON object."
)
@prompt_cache_flags
def command(prompt_cache: Resolved, as_json: bool) -> None:
    """Show the prompt cache's configuration and where each value came from.

    A flag beats the environment, which beats the default. Give the flags and the environment of a server to see what
    it would run with.
    """
    if as_json:
        click.echo(_json(prompt_cache))
        return
    for row in prompt_cache.rows():
        click.echo(
            f"{row['field']:<24} {row['value']!s:<12} {row['source']:<12} {row['flag'] or row['environment']}"
        )
    for level, text in prompt_cache.messages:
        click.echo(f"{logging.getLevelName(level).lower()}: {text}", err=True)


def _json(resolved: Resolved) -> str:
    messages = [{"level": logging.getLevelName(m.level).lower(), "text": m.text} for m in resolved.messages]
    values = {"values": asdict(resolved.config), "sources": dict(resolved.sources), "messages": messages}
    return json.dumps(values, indent=2)
