"""`mlxcel-lab sweep`: a notebook over grids and cases, resumed where it was left."""

from __future__ import annotations

from pathlib import Path

import click

from ..runs.grid import Sweep, load_yaml, parse_grid, read_file
from ..runs.parameters import parse_assignments
from ..runs.plan import Plan, make_plan
from ..runs.results import Results, open_results
from ..runs.spec import Experiment
from ..runs.sweeps import run_plan


@click.command("sweep")
@click.argument("notebook", required=False)
@click.option(
    "-g",
    "--grid",
    multiple=True,
    metavar="NAME=VALUES",
    help="An axis of the grid: 1:8 (both ends), 1:9:2, or a,b,c. Every combination is run.",
)
@click.option("-p", "--parameter", multiple=True, metavar="NAME=VALUE", help="A value for all runs.")
@click.option(
    "-f",
    "--file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="YAML of `grids`, `cases`, `defaults` and, if you like, `notebook`. -g adds a grid, -p overrides.",
)
@click.option("--runs", default="runs", show_default=True, help="Folder or fsspec URL of the results.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Runs at a time here.")
@click.option("--scheduler", metavar="ADDRESS", help="Address of a Dask scheduler whose workers do the runs.")
@click.option("--dry-run", is_flag=True, help="Check everything, show what would run, and run nothing.")
def command(
    notebook: str | None,
    grid: tuple[str, ...],
    parameter: tuple[str, ...],
    file: Path | None,
    runs: str,
    workers: int,
    scheduler: str | None,
    dry_run: bool,
) -> None:
    """Run NOTEBOOK, a path or the name of one of the lab's, over every combination of a grid's values.

    \b
    mlxcel-lab sweep 20_thrash -g budget_snapshots=1:8 -g rule=session,origin,off -p reply_tokens=4

    Names and types are checked before anything runs. Each run is a signed notebook, its result as parquet and a
    run.json under runs/NOTEBOOK/name=value/…; the same sweep again skips what is done and runs what failed or
    changed. Exit status: 0, 1 if a run failed, 130 if interrupted.
    """
    if scheduler and workers != 1:
        raise click.UsageError(
            "--workers is for this machine and --scheduler for a cluster: give one of them"
        )
    try:
        results = open_results(runs)
        plan = _plan(notebook, grid, parameter, file, results)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    click.echo(plan.describe(workers), err=True)
    if dry_run:
        for spec in plan.todo:
            click.echo(spec.label())
        return
    _run(plan, results, workers, scheduler)


def _plan(
    notebook: str | None,
    grid: tuple[str, ...],
    parameter: tuple[str, ...],
    file: Path | None,
    results: Results,
) -> Plan:
    named = load_yaml(file).get("notebook") if file else None
    if notebook is None and named is None:
        raise ValueError("no notebook: name one, or give a file with the key notebook")
    experiment = Experiment.load(notebook or str(named))
    written = read_file(file, experiment.parameters) if file else Sweep()
    grids = [*written.grids, parse_grid(grid, experiment.parameters)] if grid else written.grids
    defaults = {**(written.defaults or {}), **parse_assignments(parameter, experiment.parameters)}
    return make_plan(experiment, Sweep(grids, written.cases, defaults), results)


def _run(plan: Plan, results: Results, workers: int, scheduler: str | None) -> None:
    try:
        result = run_plan(plan, results, workers=workers, scheduler=scheduler, progress=True)
    except KeyboardInterrupt:
        click.echo("what is finished is whole; the same command goes on from there", err=True)
        raise
    click.echo(repr(result), err=True)
    for line in result.failures():
        click.echo(f"failed: {line}", err=True)
    if result.failed:
        raise SystemExit(1)
