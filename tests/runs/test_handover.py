"""What may be handed over, and that it comes back as it was."""

import nbformat
import polars as pl
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from mlxcel_lab.runs import handover
from mlxcel_lab.runs.handover import MIME, hand_over, result_of


@pytest.fixture
def displayed(monkeypatch):
    """The bundles displayed, as in a kernel."""
    seen = []
    monkeypatch.setattr("IPython.get_ipython", lambda: object())
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: seen.append(bundle))
    return seen


def _notebook(*bundles):
    outputs = [new_output("display_data", bundle) for bundle in bundles]
    notebook = new_notebook(cells=[new_code_cell("x", outputs=outputs)])
    nbformat.validate(notebook)
    return nbformat.reads(nbformat.writes(notebook), as_version=4)


@pytest.mark.parametrize(
    "result",
    [
        pl.DataFrame({"a": [1, None], "b": ["x", "y"], "c": [[1.5], []]}),
        pl.DataFrame({"a": []}, schema={"a": pl.UInt8}),
        pl.LazyFrame({"a": [1]}),
        [{"a": 1, "b": "x"}, {"a": 2, "b": None}],
        [{"a": None}] * 200 + [{"a": 1.5}],
        {"a": 1},
    ],
)
def test_a_result_comes_back_from_the_saved_notebook_with_its_types(displayed, result):
    hand_over(result)
    expected = pl.DataFrame(result, infer_schema_length=None) if isinstance(result, list | dict) else result
    assert result_of(_notebook(displayed[0])).equals(expected.lazy().collect())
    assert set(displayed[0]) == {MIME, "text/plain", "text/html"}


@pytest.mark.parametrize("bad", ["text", [1, 2], [[1]], [None]])
def test_what_is_no_table_is_refused(bad):
    with pytest.raises(TypeError, match="expected a polars frame, or rows as dicts"):
        hand_over(bad)


@pytest.mark.parametrize("bad", [[], {}, pl.DataFrame()])
def test_a_result_without_columns_is_refused(bad):
    with pytest.raises(ValueError, match="has no columns"):
        hand_over(bad)


def test_a_result_too_large_for_a_notebook_is_refused(monkeypatch):
    monkeypatch.setattr(handover, "LARGEST_BYTES", 100)
    with pytest.raises(ValueError, match="hand over a summary"):
        hand_over({"a": 1})


def test_two_results_are_refused_rather_than_one_of_them_taken(displayed):
    hand_over({"a": 1})
    hand_over({"a": 2})
    with pytest.raises(ValueError, match="handed over 2 results"):
        result_of(_notebook(*displayed))


def test_a_notebook_without_a_result_has_none():
    assert result_of(_notebook()) is None


def test_in_a_plain_script_it_prints_the_table(capsys):
    hand_over({"answer": 42})
    assert "answer" in capsys.readouterr().out
