"""What one takes away from a dashboard: the picture, the journals, and a parameter file that reproduces the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import yaml

from .picture import png
from .script import Step, load_script
from .setup import Setup
from .sources import Source


def export(
    folder: str | Path, drawing: str, sources: Sequence[Source], setup: Setup | None = None
) -> list[Path]:
    """Write the drawing (SVG) as picture.svg and picture.png, a journal a cache and, with a setup, parameters.yaml.

    Returns the paths written.
    `mlxcel-lab run 01_dashboard -f parameters.yaml` repeats the run, and so does papermill.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = [_journal(folder, source, len(sources) > 1) for source in sources]
    written.append(_write(folder / "picture.svg", drawing.encode()))
    written.append(_write(folder / "picture.png", png(drawing, scale=2.0)))
    if setup is not None:
        values = yaml.safe_dump(setup.parameters(), sort_keys=False, allow_unicode=True)
        written.append(_write(folder / "parameters.yaml", values.encode()))
    return written


def reproducing(setup: Setup, performed: Sequence[Step]) -> Setup:
    """The setup of what was really performed: steps that the script doesn't have are written out as lines."""
    if not setup.lines and tuple(performed) == load_script(setup.script):
        return setup
    return replace(setup, lines=tuple(step.line() for step in performed))


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _journal(folder: Path, source: Source, several: bool) -> Path:
    name = re.sub(r"[^a-z0-9]+", "-", source.title.lower()).strip("-")
    return source.journal.write(folder / (f"journal-{name}.parquet" if several else "journal.parquet"))
