"""What makes two runs the same, and the folders they lie in."""

import nbformat
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.runs.spec import Experiment, _segment


def test_the_folder_names_every_parameter_in_the_notebooks_order(tiny):
    spec = Experiment.load(tiny).spec({"rule": "a/b=c", "size": 3})
    assert spec.folder.startswith("tiny/size=3/rate=0.5/rule=a%2Fb%3Dc/loud=false/counts~")
    assert spec.given == ("size", "rule")
    assert spec.label() == "size=3 rule=a/b=c"


def test_the_same_values_given_or_by_default_are_the_same_run(tiny):
    experiment = Experiment.load(tiny)
    given, default = experiment.spec({"size": 2}), experiment.spec({})
    assert (given.folder, given.fingerprint) == (default.folder, default.fingerprint)


def test_code_changes_the_fingerprint_and_prose_and_outputs_do_not(tiny):
    before = Experiment.load(tiny).spec({}).fingerprint
    notebook = nbformat.read(tiny, as_version=4)
    notebook.cells[0].source = "# Another question"
    notebook.cells[-1].outputs = [nbformat.v4.new_output("stream", text="x")]
    nbformat.write(notebook, tiny)
    assert Experiment.load(tiny).spec({}).fingerprint == before
    notebook.cells[-1].source += " # changed"
    nbformat.write(notebook, tiny)
    assert Experiment.load(tiny).spec({}).fingerprint != before


def test_the_contents_of_a_file_that_a_value_names_change_the_fingerprint(tiny, tmp_path):
    trace = tmp_path / "trace.jsonl"
    trace.write_text("one")
    before = Experiment.load(tiny).spec({"rule": str(trace)})
    trace.write_text("another")
    after = Experiment.load(tiny).spec({"rule": str(trace)})
    assert before.folder == after.folder
    assert before.fingerprint != after.fingerprint
    assert list(before.inputs) == [str(trace)]


def test_a_notebook_that_never_hands_over_is_known_before_it_runs(tiny, make_notebook):
    assert Experiment.load(tiny).hands_over
    assert not Experiment.load(make_notebook("1 + 1")).hands_over


VALUES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.floats(allow_nan=False),
    st.none(),
)


@given(VALUES)
def test_polars_reads_a_folders_value_back(tmp_path_factory, value):
    kinds = {str: pl.String, int: pl.Int64, bool: pl.Boolean, float: pl.Float64, type(None): pl.String}
    folder = tmp_path_factory.mktemp("hive") / _segment("x", value)
    folder.mkdir(parents=True)
    pl.DataFrame({"r": [1]}).write_parquet(folder / "result.parquet")
    schema = {"x": kinds[type(value)]} if "=" in folder.name else None
    scanned = pl.scan_parquet(folder.parent, hive_partitioning=schema is not None, hive_schema=schema)
    if schema:
        assert scanned.collect()["x"].item() == value


@pytest.mark.parametrize("value", ["", "x" * 101, "é" * 40, [1, 2], []])
def test_what_does_not_fit_a_file_name_becomes_a_digest(value):
    assert _segment("x", value).startswith("x~")
    assert len(_segment("x", value)) == len("x~") + 12
