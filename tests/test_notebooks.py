"""The committed notebooks: stripped, runnable anywhere, with one cell of explained parameters and a small CI run."""

import ast
import re

import nbformat
import pytest

from mlxcel_lab.paths import notebooks_dir

NOTEBOOKS = sorted(notebooks_dir().glob("*.ipynb"))
LONGEST_CELL = 10
pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def _cells(path, kind="code"):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


def _parameters(path):
    (cell,) = [cell for cell in _cells(path) if "parameters" in cell.metadata.get("tags", [])]
    return cell


def test_it_is_numbered_and_valid(path):
    assert re.fullmatch(r"\d\d_[a-z0-9_]+", path.stem)
    nbformat.validate(nbformat.read(path, as_version=4))


def test_it_is_committed_without_outputs(path):
    assert all(not cell.outputs and cell.execution_count is None for cell in _cells(path))


def test_it_runs_with_any_python3_kernel(path):
    metadata = nbformat.read(path, as_version=4).metadata
    assert metadata.kernelspec.name == "python3"
    assert metadata.kernelspec.language == metadata.language_info.name == "python"


def test_it_opens_with_its_question_and_loads_the_extension(path):
    first = nbformat.read(path, as_version=4).cells[0]
    assert first.cell_type == "markdown"
    assert re.fullmatch(r"# [^\n]+\?", first.source.splitlines()[0])
    assert any(cell.source.startswith("%load_ext mlxcel_lab") for cell in _cells(path))


def test_its_parameters_are_literals_with_a_type_and_a_help_text(path):
    for line in _parameters(path).source.splitlines():
        statement, help_text = re.fullmatch(r"(\w+: [\w\[\]]+ = .+?)  # (.+)", line).groups()
        assert ast.literal_eval(ast.parse(statement).body[0].value) is not None
        assert "=" not in help_text


def test_its_small_run_for_ci_names_parameters_that_exist(path):
    cell = _parameters(path)
    mock = cell.metadata.nbmake.mock
    assert mock
    assert set(mock) <= set(re.findall(r"^(\w+):", cell.source, re.M))


def test_its_cells_are_short_because_the_library_does_the_work(path):
    for cell in _cells(path):
        lines = [line for line in cell.source.splitlines() if line.strip()]
        assert len(lines) <= LONGEST_CELL, cell.source


def test_it_asserts_something_that_it_measured(path):
    """Of what it says, whether all is asserted only a reader can tell; an assertion about literals would be none."""
    source = "\n".join(re.sub(r"^%.*$", "", cell.source, flags=re.M) for cell in _cells(path))
    parameters = {node.target.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.AnnAssign)}
    asserted = [node.test for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert)]
    named = [{name.id for name in ast.walk(test) if isinstance(name, ast.Name)} for test in asserted]
    assert named
    assert all(names - parameters for names in named)


def test_it_hands_its_result_over_once(path):
    assert sum(cell.source.count("hand_over(") for cell in _cells(path)) == 1
