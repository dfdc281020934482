"""`mlxcel-lab bench store`: our snapshot store beside mlx-lm's LRUPromptCache, in one run.

Measured: hit, diverging miss and insert by length; our own cost by the number of entries; the index's memory beside the
tokens. Not measured: copying a state, which costs either side what its tensors cost.
"""

from __future__ import annotations

from pathlib import Path

import click

from .store_measure import QUICK, Effort, against_peer, by_entries, index_memory
from .store_report import conditions, results, table, write
from .store_sides import PEERS


@click.command("store")
@click.option(
    "--quick", is_flag=True, help="Small sizes and few calls: shows that it works, judges no target."
)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("runs/bench/store"), show_default=True,
    help="Folder for results.parquet, chart.png and chart.svg.",
)  # fmt: skip
def command(quick: bool, out: Path) -> None:
    """Compare the snapshot store with mlx_lm's LRUPromptCache, side by side (about three minutes).

    Hit, diverging miss and insert at 1k to 128k tokens, with arrays, with lists, and with lists through the peer's own
    interface; cost with 16 to 65,536 entries in one session and in many; index memory beside the tokens. Prints the
    conditions, both sides, their ratio, the target and whether it is met.
    """
    effort = QUICK if quick else Effort()
    timings = []
    for tokens in effort.tokens:
        for kind in PEERS:
            click.echo(f"measuring {tokens:,} tokens against the peer, {kind}", err=True)
            timings += against_peer(kind, tokens, effort)
    click.echo(f"measuring up to {max(effort.entries):,} entries", err=True)
    timings += by_entries(effort)
    frame = results(timings, index_memory(effort), effort)
    told = conditions(effort)
    for name, value in told.items():
        click.echo(f"{name + ':':<10}{value}")
    click.echo(f"\n{table(frame)}\n")
    judged = frame["met"].drop_nulls()
    if len(judged) and not quick:
        click.echo(f"{judged.sum()} of {len(judged)} targets met")
    for path in write(frame, told, out):
        click.echo(path)
