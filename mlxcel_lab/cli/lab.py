"""Opening JupyterLab on the notebooks: a clone's own, or a writable copy of an installed package's."""

from __future__ import annotations

import filecmp
import os
import shutil
import sys
from pathlib import Path

import click

from ..paths import notebooks_dir

_FIRST = "00_tour.ipynb"


def open_lab(folder: Path | None, port: int | None, *, browser: bool) -> None:
    """Become JupyterLab, opened on the first notebook; returns only by raising (a folder without notebooks)."""
    root = folder.resolve() if folder else writable_notebooks()
    if not any(root.glob("*.ipynb")):
        raise click.ClickException(f"no notebooks in {root}: give a folder that has some with --notebooks")
    os.execv(sys.executable, [sys.executable, *arguments(root, port, browser=browser)])


def arguments(root: Path, port: int | None, *, browser: bool) -> list[str]:
    """Python's arguments for JupyterLab on `root`."""
    args = ["-m", "jupyterlab", f"--ServerApp.root_dir={root}"]
    if (root / _FIRST).exists():
        args.append(f"--LabApp.default_url=/lab/tree/{_FIRST}")
    if port is not None:
        args.append(f"--port={port}")
    if not browser:
        args.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        args.append("--allow-root")  # Jupyter refuses root unasked; a container seldom has anyone else
    return args


def writable_notebooks(home: Path | None = None) -> Path:
    """A clone's notebooks as they lie; of an installed package, a copy under ~/mlxcel-lab.

    Package folders aren't for working in: an upgrade would overwrite what was written there. A notebook that is
    already in the copy is left alone, whatever was made of it.
    """
    shipped = notebooks_dir()
    if (shipped.parent / "pyproject.toml").exists():
        return shipped
    copy = (home or Path.home()) / "mlxcel-lab" / "notebooks"
    copy.mkdir(parents=True, exist_ok=True)
    for notebook in sorted(shipped.glob("*.ipynb")):
        _copy_missing(notebook, copy / notebook.name)
    return copy


def _copy_missing(source: Path, target: Path) -> None:
    if not target.exists():
        shutil.copyfile(source, target)
    elif not filecmp.cmp(source, target, shallow=False):
        click.echo(f"kept {target}, which differs from the shipped one: delete it to get that", err=True)
