"""`mlxcel-lab misses`: a file of conversations, told by cause what would miss under real templates."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine.families import FAMILIES


@click.command("misses")
@click.argument("messages", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--family", "names", multiple=True, type=click.Choice(list(FAMILIES)),
    default=("qwen3", "qwen3.5", "llama-3.1"), show_default=True,
    help="Template to rehearse with; give it several times.",
)  # fmt: skip
@click.option("--mode", type=click.Choice(["plain", "thinking on", "thinking off"]),
              help="For families that think. Default: each one's first.")  # fmt: skip
@click.option("--sessions", type=click.IntRange(1), help="Only the first so many conversations.")
def command(messages: Path, names: tuple[str, ...], mode: str | None, sessions: int | None) -> None:
    """Replay the conversations in MESSAGES and name the cause of every miss, family by family, with and without cure.

    MESSAGES is JSON or JSONL of OpenAI-style messages, tool calls included, gzipped or not. No model runs.
    """
    from ..experiments.messages_file import read_conversations
    from ..experiments.rehearsal import cause_table

    try:
        frame = cause_table(read_conversations(messages)[:sessions], names, mode)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"{'family':<12} {'cure':<21} {'turns':>5} {'misses':>6} {'reused':>7}  causes of the misses")
    for row in frame.iter_rows(named=True):
        head = f"{row['family']:<12} {row['cure']:<21} {row['turns']:>5} {row['misses']:>6} {row['reused']:>7.1%}"
        click.echo(f"{head}  {row['causes']}")
