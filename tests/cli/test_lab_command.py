"""Which folder JupyterLab is opened on, and with what arguments."""

import os

import pytest
from click.testing import CliRunner

from mlxcel_lab.cli import cli, lab


@pytest.fixture
def started(monkeypatch):
    """What would replace this process."""
    calls = []
    monkeypatch.setattr(os, "execv", lambda path, args: calls.append(args))
    return calls


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that was installed rather than cloned: no pyproject.toml beside its notebooks."""
    shipped = tmp_path / "site" / "_notebooks"
    shipped.mkdir(parents=True)
    (shipped / "00_tour.ipynb").write_text("shipped")
    monkeypatch.setattr(lab, "notebooks_dir", lambda: shipped)
    return shipped


def test_without_a_command_it_becomes_jupyterlab_on_the_notebooks(started, installed):
    done = CliRunner().invoke(cli, ["--notebooks", str(installed), "--port", "1234", "--no-browser"])
    assert done.exit_code == 0, done.output
    [args] = started
    assert args[1:3] == ["-m", "jupyterlab"]
    assert f"--ServerApp.root_dir={installed}" in args
    assert "--LabApp.default_url=/lab/tree/00_tour.ipynb" in args
    assert {"--port=1234", "--no-browser"} <= set(args)
    assert ("--allow-root" in args) == (os.geteuid() == 0)


def test_a_folder_without_notebooks_is_refused(started, tmp_path):
    done = CliRunner().invoke(cli, ["--notebooks", str(tmp_path)])
    assert done.exit_code == 1
    assert "no notebooks in" in done.output
    assert not started


def test_a_clones_notebooks_are_opened_as_they_lie(installed):
    (installed.parent / "pyproject.toml").touch()
    assert lab.writable_notebooks() == installed


def test_an_installed_packages_notebooks_are_copied_and_never_overwritten(installed, tmp_path, capsys):
    copy = lab.writable_notebooks(tmp_path)
    assert copy == tmp_path / "mlxcel-lab" / "notebooks"
    assert (copy / "00_tour.ipynb").read_text() == "shipped"
    (copy / "00_tour.ipynb").write_text("mine")
    (installed / "10_more.ipynb").write_text("more")
    lab.writable_notebooks(tmp_path)
    assert (copy / "00_tour.ipynb").read_text() == "mine"
    assert (copy / "10_more.ipynb").read_text() == "more"
    assert "kept" in capsys.readouterr().err
