"""`mlxcel-lab run`: one notebook by papermill, with checked parameters, its output signed and its result printed."""

from __future__ import annotations

from pathlib import Path

import click
import polars as pl

_RUNS = click.option("--runs", default="runs", show_default=True, help="Folder or fsspec URL of the results.")


@click.command("run")
@click.argument("notebook")
@click.option(
    "-p", "--parameter", "assignments", multiple=True, metavar="NAME=VALUE", help="A parameter's value."
)
@click.option("-f", "--file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="A YAML or JSON file of parameters, as the dashboard exports it; -p overrides it.")  # fmt: skip
@click.option("--list", "list_only", is_flag=True, help="List the notebook's parameters and run nothing.")
@_RUNS
def command(
    notebook: str, assignments: tuple[str, ...], file: Path | None, list_only: bool, runs: str
) -> None:
    """Run NOTEBOOK, a path or the name of one of the lab's (20_thrash), and print its result.

    Names and types are checked against the notebook before anything runs. The executed notebook, its result as
    parquet and its record are written to runs/NOTEBOOK/name=value/…, the error in place if it failed.
    """
    from ..runs.grid import read_values
    from ..runs.parameters import parse_assignments
    from ..runs.spec import Experiment

    try:
        experiment = Experiment.load(notebook)
        given = parse_assignments(assignments, experiment.parameters)
        spec = experiment.spec({**(read_values(file, experiment.parameters) if file else {}), **given})
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if list_only:
        for p in experiment.parameters.values():
            click.echo(f"{p.name}: {p.type} = {p.default!r:<20} {p.help}".rstrip())
        return
    from ..runs.pool import run_here
    from ..runs.results import open_results

    results = open_results(runs)
    record = run_here(spec, results)
    where = results.where(spec.folder)
    if not record.done:
        raise click.ClickException(f"{record.error} (the notebook with the error is in {where})")
    with pl.Config(
        tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, fmt_str_lengths=60, tbl_width_chars=200
    ):
        click.echo(
            pl.read_parquet(results.read(spec.folder, record.result or "") or b"").drop(experiment.parameters)
        )
    click.echo(f"{record.seconds:.1f} s, {where}", err=True)
