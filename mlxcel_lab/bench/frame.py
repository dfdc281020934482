"""`mlxcel-lab bench frame`: what the dashboard's frames cost, by the number of events in the journal.

Measured: events a second that the frame model takes in; making one frame of all time from its columns, as after each
piece of news; the bytes that are sent; and in a real browser, without a GPU, taking the frame in, redrawing it and
moving the cursor. Not measured: Jupyter's own transport, and panels below the picture.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import polars as pl

from ..cli.lists import WholeNumbers
from ..view.frames import FrameModel
from ..view.occupancy import Occupancy
from ..view.payload import panel, shown_sessions
from ..view.timeline import Timeline
from .frame_page import measure as measure_page
from .frame_traffic import events


@click.command("frame")
@click.option(
    "--events", "counts", default="1000,10000,100000,1000000", show_default=True, type=WholeNumbers(),
    help="Lengths of the journals.",
)  # fmt: skip
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=15,
    show_default=True,
    help="Repetitions, of which the fastest counts.",
)
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write the table as parquet."
)
def command(counts: tuple[int, ...], rounds: int, out: Path | None) -> None:
    """Measure the dashboard's frames at several lengths of the journal."""
    table = pl.DataFrame([row(count, rounds) for count in counts])
    click.echo(
        f"fastest of {rounds}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; milliseconds, of the processor "
        "for making a frame, by the clock in the browser"
    )
    with pl.Config(
        tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_cols=-1, tbl_width_chars=120
    ):
        click.echo(table)
    if table["redraw"].null_count():
        click.echo("redraws weren't measured: install chromium and playwright (the extra `dev`)")
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        table.write_parquet(out)


def row(count: int, rounds: int) -> dict[str, Any]:
    """One journal's figures."""
    journal = events(count)
    model = FrameModel()
    taken = _milliseconds(lambda: model.feed(journal))
    made = [_milliseconds(lambda: frame(model)) for _ in range(rounds)]
    state = frame(model)
    with tempfile.TemporaryDirectory(prefix="mlxcel-lab-bench-") as folder:
        drawn = measure_page(state, Path(folder), rounds)
    return {
        "events": count,
        "events/s in": round(count / taken * 1000),
        "frame made": round(min(made), 2),
        "kB sent": round(_volume(state["panels"]) / 1000),
        **{name: round(min(drawn[name]), 1) if drawn else None for name in ("load", "redraw", "cursor")},
    }


def frame(model: FrameModel) -> dict[str, Any]:
    """The widget's traits for all time of one journal, with nothing kept from an earlier frame."""
    line = Timeline([model])
    domain = line.domain("time")
    drawn = panel(model, line.positions()[0], line.x("time")[0], domain, shown_sessions([model]))
    return {
        "look": Occupancy.make_look(), "panels": [drawn], "captions": [[]], "domain": list(domain), "window": [],
        "axis": "time", "total": len(line), "cursor": -1,
    }  # fmt: skip


def _milliseconds(act: Callable[[], object]) -> float:
    """Of the processor, so that a busy machine doesn't count; the browser can only tell the clock's."""
    started = time.process_time()
    act()
    return (time.process_time() - started) * 1000


def _volume(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(_volume, value.values()))
    if isinstance(value, list):
        return sum(map(_volume, value))
    return len(value) if isinstance(value, bytes) else 0
