"""The command line, `mlxcel-lab`: one module a command, loaded when that command is named."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from .lazy import LazyGroup

# command -> (module that holds a click command named `command`, its help line)
_COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("mlxcel_lab.cli.run", "Run one notebook with checked parameters and print its result."),
    "sweep": (
        "mlxcel_lab.cli.sweep",
        "Run a notebook over a grid of parameters: resumable, on many workers.",
    ),
    "config": (
        "mlxcel_lab.cli.config",
        "Show the prompt cache's configuration and where each value came from.",
    ),
    "size": (
        "mlxcel_lab.cli.size",
        "What a model's snapshots cost, from its config alone, and the budget to set.",
    ),
    "templates": (
        "mlxcel_lab.cli.templates",
        "What of a turn survives into the next prompt, template by template.",
    ),
    "serve": (
        "mlxcel_lab.cli.serve",
        "Serve a model to OpenAI's clients, with the cache's stats and metrics.",
    ),
    "mlx-lm-server": (
        "mlxcel_lab.cli.mlx_lm_server",
        "Start mlx-lm's own server on the lab's snapshot store.",
    ),
    "trace": ("mlxcel_lab.cli.trace", "Say what is in a trace of requests; make and convert traces."),
    "misses": ("mlxcel_lab.cli.misses", "Name the cause of every miss in a file of conversations."),
    "bench": ("mlxcel_lab.cli.bench", "Measure: each prints its conditions and both sides of its ratio."),
}


@click.group(
    cls=LazyGroup,
    table=_COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.option(
    "--notebooks",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to open. Default: a clone's own notebooks, or for an installed package "
    "a copy of them in ~/mlxcel-lab/notebooks.",
)
@click.option("--port", type=click.IntRange(0, 65535), help="Port of JupyterLab. Default: its own, 8888.")
@click.option("--no-browser", is_flag=True, help="Print JupyterLab's address instead of opening a browser.")
@click.version_option(package_name="mlxcel_lab")
@click.pass_context
def cli(ctx: click.Context, notebooks: Path | None, port: int | None, no_browser: bool) -> None:
    """The workbench for prompt-cache snapshots of an LLM server.

    Without a command, opens JupyterLab on the notebooks.
    """
    if ctx.invoked_subcommand is None:
        from .lab import open_lab

        open_lab(notebooks, port, browser=not no_browser)
    elif notebooks or port is not None or no_browser:
        raise click.UsageError(f"--notebooks, --port and --no-browser are not for {ctx.invoked_subcommand!r}")


def main() -> None:
    """The console script: errors are one line on stderr, usage errors exit with 2, others with 1."""
    try:
        sys.exit(cli(standalone_mode=False) or 0)
    except click.ClickException as error:
        hint = (
            f" (see {error.ctx.command_path} --help)"
            if isinstance(error, click.UsageError) and error.ctx
            else ""
        )
        click.echo(f"mlxcel-lab: {' '.join(error.format_message().split())}{hint}", err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("mlxcel-lab: interrupted", err=True)
        sys.exit(130)
    except (ValueError, OSError, ImportError) as error:
        # What the library says of bad input is already a sentence that names the value and what to do.
        click.echo(f"mlxcel-lab: {' '.join(str(error).split())}", err=True)
        sys.exit(1)
