"""`mlxcel-lab trace`: what is in a trace file, and traces made or converted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..replay.trace import Trace


@click.group("trace")
def command() -> None:
    """Look at traces of requests, make them, convert them."""


@command.command("info")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--format", "format_", default=None, help="The file's format; default: recognised by its content."
)
@click.option("--limit", type=click.IntRange(1), default=None, help="Stop after so many requests.")
@click.option("--problems", type=click.IntRange(0), default=5, show_default=True, help="Problems to print.")
def info(file: Path, format_: str | None, limit: int | None, problems: int) -> None:
    """Say what is in FILE: requests, sessions, tokens, and the lines that couldn't be read."""
    trace = _read(file, format_, limit)
    for name, value in trace.info().items():
        click.echo(f"{name:<16} {value:,}" if isinstance(value, int | float) else f"{name:<16} {value}")
    for assumption in trace.assumptions:
        click.echo(f"assumed: {assumption}")
    for problem in trace.problems[:problems]:
        click.echo(f"line {problem.line}: {problem.reason}")
    if len(trace.problems) > problems:
        click.echo(f"... and {len(trace.problems) - problems:,} more")


@command.command("convert")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("output", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--format", "format_", default=None, help="The file's format; default: recognised by its content."
)
@click.option("--limit", type=click.IntRange(1), default=None, help="Stop after so many requests.")
def convert(file: Path, output: Path, format_: str | None, limit: int | None) -> None:
    """Read FILE of any known format and write it to OUTPUT as a trace (parquet)."""
    trace = _read(file, format_, limit)
    trace.write(output)
    click.echo(f"{trace!r} written to {output}")


@command.command("generate")
@click.argument("kind")
@click.argument("output", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--sessions", type=click.IntRange(1), default=24, show_default=True)
@click.option("--requests", type=click.IntRange(1), default=600, show_default=True)
@click.option("--arrivals", default="zipf", show_default=True, help="zipf, round_robin or bursts.")
@click.option("--seed", type=int, default=0, show_default=True)
def generate(kind: str, output: Path, sessions: int, requests: int, arrivals: str, seed: int) -> None:
    """Generate traffic of KIND (several joined by +: append_only+thinking) into OUTPUT, a trace (parquet)."""
    from ..replay.generators import generate as make

    try:
        trace = make(kind.split("+"), sessions=sessions, requests=requests, arrivals=arrivals, seed=seed)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    trace.write(output)
    click.echo(f"{trace!r} written to {output}")


def _read(file: Path, format_: str | None, limit: int | None) -> Trace:
    from ..replay.readers import read_trace

    try:
        return read_trace(file, format_, limit=limit)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
