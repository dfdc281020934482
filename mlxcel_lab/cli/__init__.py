"""The command line, `mlxcel-lab`: one module a command, loaded when that command is named."""

from __future__ import annotations

import sys
from importlib import import_module

import click

# command -> (module of this folder, its help line); the module holds a click command named `command`.
_COMMANDS: dict[str, tuple[str, str]] = {}


class _LazyGroup(click.Group):
    """Lists the commands without importing them, so that `--help` answers at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = import_module(f".{_COMMANDS[name][0]}", __name__).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


@click.group(cls=_LazyGroup)
@click.version_option(package_name="mlxcel_lab")
def cli() -> None:
    """The workbench for prompt-cache snapshots of an LLM server."""


def main() -> None:
    """The console script: errors are one line on stderr, usage errors exit with 2, others with 1."""
    try:
        sys.exit(cli(standalone_mode=False) or 0)
    except click.ClickException as error:
        click.echo(f"mlxcel-lab: {error.format_message()}", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("mlxcel-lab: interrupted", err=True)
        sys.exit(130)
