"""Tiny notebooks to run: a parameters cell, what a test puts between, and a result handed over."""

from __future__ import annotations

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

PARAMETERS = """\
size: int = 2  # how many
rate: float = 0.5  # how often
rule: str = "origin"  # which
loud: bool = False  # whether
counts: list[int] = [1, 2]  # several
"""
RESULT = (
    "import mlxcel_lab\nmlxcel_lab.hand_over([{'total': size * 10, 'loudness': str(loud), 'text': rule}])"
)


def write_notebook(path, *cells, parameters=PARAMETERS):
    """Write a notebook of these code cells after its parameters; without any, one that hands over a row."""
    head = new_code_cell(parameters, metadata={"tags": ["parameters"]})
    body = [new_code_cell(source) for source in cells or (RESULT,)]
    notebook = new_notebook(cells=[new_markdown_cell("# A question"), head, *body])
    notebook.metadata.kernelspec = {"name": "not-installed", "display_name": "x", "language": "python"}
    nbformat.write(notebook, path)
    return path


@pytest.fixture
def tiny(tmp_path):
    """The path of a tiny notebook."""
    return write_notebook(tmp_path / "tiny.ipynb")


@pytest.fixture
def make_notebook(tmp_path):
    """A function that writes a notebook of the given cells."""

    def make(*cells, name="made", parameters=PARAMETERS):
        return write_notebook(tmp_path / f"{name}.ipynb", *cells, parameters=parameters)

    return make


@pytest.fixture(autouse=True)
def own_jupyter_folders(tmp_path, monkeypatch):
    """Signatures and settings go to a folder of the test's own."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter-data"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "jupyter-config"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
