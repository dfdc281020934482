"""`mlxcel-lab sweep`: flags and files, what it says, and how it ends."""

import sys

import nbformat
import pytest
from click.testing import CliRunner
from nbformat.v4 import new_code_cell, new_notebook

from mlxcel_lab.cli import main
from mlxcel_lab.cli.sweep import command
from mlxcel_lab.runs import pool
from mlxcel_lab.runs.execute import give_up


@pytest.fixture
def notebook(tmp_path):
    parameters = new_code_cell("size: int = 2\nrule: str = 'origin'", metadata={"tags": ["parameters"]})
    code = new_code_cell("import mlxcel_lab\nmlxcel_lab.hand_over({'doubled': size * 2})")
    path = tmp_path / "tiny.ipynb"
    nbformat.write(new_notebook(cells=[parameters, code]), path)
    return path


@pytest.fixture
def call(tmp_path):
    """Call `mlxcel-lab sweep` on a results' folder of the test's own."""
    return lambda *args: CliRunner().invoke(command, [*map(str, args), "--runs", str(tmp_path / "runs")])


def test_a_dry_run_checks_and_shows_every_run_and_runs_none(call, notebook, tmp_path):
    done = call(notebook, "-g", "size=1:3", "-g", "rule=off,origin", "--dry-run")
    assert done.exit_code == 0, done.output
    assert "tiny: 6 runs, 0 done, 6 to run, no earlier run to estimate from" in done.stderr
    assert done.stdout.splitlines()[:2] == ["size=1 rule=off", "size=1 rule=origin"]
    assert not (tmp_path / "runs").exists()


def test_a_file_names_all_and_flags_add_a_grid_and_override_defaults(call, notebook, tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text(
        f"notebook: {notebook}\ndefaults: {{rule: off}}\ngrids: {{size: 1:2}}\ncases: [{{size: 9}}]"
    )
    done = call("-f", file, "-g", "size=20", "-p", "rule=session", "--dry-run")
    assert done.stdout.splitlines() == [f"size={size} rule=session" for size in (1, 2, 20, 9)]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["-g", "sizes=1"], "did you mean size?"),
        (["-g", "size=x"], "size='x': expected a whole number"),
        (["-g", "size=1", "-p", "rul=off"], "did you mean rule?"),
        ([], "nothing to sweep: give at least one grid or case"),
        (["-g", "size=1", "--workers", "2", "--scheduler", "tcp://x:1"], "give one of them"),
        (["-g", "size=1", "--workers", "0"], "0 is not in the range"),
    ],
)
def test_a_bad_sweep_is_a_usage_error_before_anything_runs(call, notebook, tmp_path, args, told):
    done = call(notebook, *args)
    assert done.exit_code == 2
    assert told in done.output
    assert not (tmp_path / "runs").exists()


def test_without_a_notebook_it_says_so(call):
    assert "no notebook: name one" in call("-g", "size=1").output


def test_a_failed_run_makes_the_exit_status_1_and_is_told_with_its_folder(
    call, notebook, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        pool, "execute", lambda spec, results, kernels: give_up(spec, results, RuntimeError("no"))
    )
    done = call(notebook, "-g", "size=1,2")
    assert done.exit_code == 1
    assert "0 runs done" in done.stderr
    folder = tmp_path / "runs" / "tiny" / "size=2" / "rule=origin"
    assert f"failed: size=2: RuntimeError: no ({folder})" in done.stderr
    assert (folder / "notebook.ipynb").exists()


def test_an_interrupt_says_that_the_same_command_goes_on(notebook, tmp_path, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "execute", interrupted)
    monkeypatch.setattr(
        sys, "argv", ["mlxcel-lab", "sweep", str(notebook), "-g", "size=1", "--runs", str(tmp_path)]
    )
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 130
    assert "the same command goes on from there" in capsys.readouterr().err
