"""`mlxcel-lab bench turn`: what a snapshot saves a turn, and how far the restored turn is from its limit.

Measured: seconds to first token, cold and restored; the snapshot's copies beside a plain copy of as many bytes; what
donating costs. Not measured: a server's network and queueing.
"""

from __future__ import annotations

from pathlib import Path

import click

from ..cli.lists import WholeNumbers
from .turn_report import conditions, results, table


@click.command("turn")
@click.argument("model")
@click.option("--dtype", type=click.Choice(["float32", "bfloat16", "float16"]), default="float32", show_default=True,
              help="Type of the seeded weights; only for a config.json.")  # fmt: skip
@click.option(
    "--history", default="256,1024", show_default=True, type=WholeNumbers(), help="Tokens of history."
)
@click.option("--new", default="32,128", show_default=True, type=WholeNumbers(),
              help="New tokens after it, the turn's scaffold included.")  # fmt: skip
@click.option("--repeats", type=click.IntRange(1), default=7, show_default=True, help="The fastest counts.")
@click.option("--reply", type=click.IntRange(2), default=64, show_default=True,
              help="Tokens of the reply that donating is compared with.")  # fmt: skip
@click.option("--boundary/--no-boundary", default=True, show_default=True,
              help="Whether the restored turn also takes a boundary snapshot.")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("runs/bench/turn"),
              show_default=True, help="Folder for MODEL.parquet.")  # fmt: skip
def command(
    model: str, dtype: str, history: tuple[int, ...], new: tuple[int, ...], repeats: int, reply: int, boundary: bool,
    out: Path,
) -> None:  # fmt: skip
    """Measure MODEL's turns: cold, restored, and the restored one's limit.

    MODEL is a lab model's name (gated-delta, mamba2, falcon-h1, sliding-window, chunked, dense), a folder that mlx-lm
    can load, a hub id, or the path of a config.json, which gets random weights of --dtype at the model's real widths:

    \b
      mlxcel-lab bench turn gated-delta
      mlxcel-lab bench turn mlx-community/Qwen3.5-0.8B-4bit --history 512,4096
      python -m mlxcel_lab.cli bench turn path/to/qwen3.5-0.8b.json --dtype bfloat16 --history 512,2048 --new 32,64

    The limit is the seconds to first token of a prompt of the new tokens alone, plus one plain copy of as many bytes as
    the snapshot has. "Going on" is the new tokens on a live cache that holds the history: unlike new tokens alone they
    attend to it, so that "/ going on" shows what restoring itself adds.

    Targets: restored at most 1.15 times the limit; donating at most 2 % of the whole turn; logits after a restore
    bit-identical. Needs no more than mlx with a backend, mlx-lm, numpy, polars and click.
    """
    from .turn_measure import Effort, measure
    from .turn_model import model_to_measure

    effort = Effort(history, new, repeats, reply, boundary)
    measured_model = model_to_measure(model, dtype)
    measured = measure(measured_model, effort, lambda text: click.echo(text, err=True))
    frame = results(measured_model.name, measured)
    for name, value in conditions(effort, measured_model.model_id).items():
        click.echo(f"{name + ':':<10}{value}")
    click.echo(f"\n{table(frame)}\n")
    met = frame.select("within_limit", "donating_met", "identical").sum().row(0)
    told = zip(
        met, ("restored turns within 1.15 of the limit", "donating within 2 %", "bit-identical"), strict=True
    )
    click.echo("; ".join(f"{count} of {len(frame)} {what}" for count, what in told))
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{measured_model.name}.parquet"
    frame.write_parquet(path)
    click.echo(path)
