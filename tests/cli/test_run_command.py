"""`mlxcel-lab run`: checked parameters, a printed result, a kept failure."""

import nbformat
import pytest
import yaml
from click.testing import CliRunner
from nbformat.v4 import new_code_cell, new_notebook

from mlxcel_lab.cli.run import command
from mlxcel_lab.runs.grid import read_values
from mlxcel_lab.runs.parameters import Parameter, parse_assignments
from mlxcel_lab.runs.spec import Experiment
from mlxcel_lab.view.setup import Setup


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    parameters = new_code_cell(
        "size: int = 2  # how many\nflag: bool = True", metadata={"tags": ["parameters"]}
    )
    code = (
        "import mlxcel_lab\nassert size < 9\nmlxcel_lab.hand_over({'doubled': size * 2, 'shown': repr(flag)})"
    )
    path = tmp_path / "tiny.ipynb"
    nbformat.write(new_notebook(cells=[parameters, new_code_cell(code)]), path)
    return path


def test_it_prints_the_result_and_says_where_it_lies(notebook, tmp_path):
    runs = tmp_path / "deep" / "runs"
    done = CliRunner().invoke(command, [str(notebook), "-p", "flag=false", "--runs", str(runs)])
    assert done.exit_code == 0, done.output
    assert "doubled" in done.stdout
    assert "False" in done.stdout
    assert list((runs / "tiny" / "size=2" / "flag=false").glob("result-*.parquet"))


def test_a_failure_names_the_error_and_where_the_notebook_is(notebook, tmp_path):
    done = CliRunner().invoke(command, [str(notebook), "-p", "size=9", "--runs", str(tmp_path)])
    assert done.exit_code == 1
    assert "AssertionError" in done.output
    assert str(tmp_path / "tiny" / "size=9" / "flag=true") in done.output


def test_a_wrong_name_is_a_usage_error_before_anything_runs(notebook, tmp_path):
    done = CliRunner().invoke(command, [str(notebook), "-p", "flags=false", "--runs", str(tmp_path / "runs")])
    assert done.exit_code == 2
    assert "did you mean flag?" in done.output
    assert not (tmp_path / "runs").exists()


def test_list_shows_names_types_defaults_and_help(notebook):
    shown = CliRunner().invoke(command, [str(notebook), "--list"]).output
    assert "size: int = 2" in shown
    assert "how many" in shown


def test_a_file_gives_parameters_and_the_line_overrides_it(notebook, tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text("size: 3\nflag: false\n")
    done = CliRunner().invoke(
        command, [str(notebook), "-f", str(file), "-p", "size=4", "--runs", str(tmp_path / "runs")]
    )
    assert done.exit_code == 0, done.output
    assert list((tmp_path / "runs" / "tiny" / "size=4" / "flag=false").glob("result-*.parquet"))


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("off", "off"),
        ("no", "no"),
        ("null", "null"),
        ("1e3", "1e3"),
        ("012", "012"),
        ("1:30", "1:30"),
        ("~", "~"),
    ],
)
def test_a_text_in_a_file_stays_the_text_that_it_is_in_a_sweep_and_on_the_line(tmp_path, written, read):
    parameters = {"rule": Parameter("rule", "str", "origin"), "size": Parameter("size", "float", 1.0)}
    file = tmp_path / "parameters.yaml"
    file.write_text(f"rule: {written}\nsize: 1e3\n")
    assert read_values(file, parameters) == {"rule": read, "size": 1000.0}
    assert parse_assignments([f"rule={written}"], parameters)["rule"] == read


def test_null_is_the_default_of_a_parameter_that_has_none(tmp_path):
    file = tmp_path / "parameters.json"
    file.write_text('{"rule": null}')
    assert read_values(file, {"rule": Parameter("rule", "str", None)}) == {"rule": None}


def test_what_a_dashboard_exports_is_read_as_it_was(tmp_path):
    setup = Setup(rule="off", budget=2.5, boundary=False, lines=("A: Why?", "wait 3600"), compare="rule off")
    file = tmp_path / "parameters.yaml"
    file.write_text(yaml.safe_dump(setup.parameters()))
    assert read_values(file, Experiment.load("01_dashboard").parameters) == setup.parameters()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sizes: 3", "did you mean size?"),
        ("- 3", "expected a mapping of names to values"),
        ("size: [", "is no YAML"),
        ("size: many", "size"),
    ],
)
def test_a_bad_file_is_a_usage_error_before_anything_runs(notebook, tmp_path, text, message):
    file = tmp_path / "parameters.yaml"
    file.write_text(text)
    done = CliRunner().invoke(command, [str(notebook), "-f", str(file), "--runs", str(tmp_path / "runs")])
    assert done.exit_code == 2
    assert message in done.output
    assert not (tmp_path / "runs").exists()
