"""Notebooks under other parameters than their own: what they assert still holds, or one sentence refuses the value."""

import re
from typing import Any

import nbformat
import pytest

from mlxcel_lab.paths import notebooks_dir


def _run(name: str, values: dict[str, Any]) -> None:
    """The notebook's code, cell by cell, in one name space; nothing is drawn."""
    space: dict[str, Any] = {"__name__": "__main__"}
    for cell in nbformat.read(notebooks_dir() / f"{name}.ipynb", as_version=4).cells:
        if cell.cell_type == "code":
            exec(re.sub(r"^%.*$", "", cell.source, flags=re.M), space)
            if "parameters" in cell.metadata.get("tags", []):
                assert values.keys() <= space.keys()
                space.update(values)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("00_tour", {"turns": 1}),
        ("00_tour", {"capacity_bytes": 100_000}),
        ("10_supersede", {"rule": "off", "turns": 12}),
        ("10_supersede", {"rule": "session", "turns": 1, "budget": 15}),
        ("10_supersede", {"rule": "off", "turns": 20, "budget": 15}),
    ],
)
def test_what_a_notebook_asserts_holds_under_other_values(name, values):
    _run(name, values)


@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("00_tour", {"turns": 6}, "turns is 6: expected 1 to 4"),
        ("10_supersede", {"rule": "learned"}, "rule is 'learned': expected one of 'origin', 'session', 'off'"),
        ("10_supersede", {"budget": 3}, "budget is 3: expected 10 or more"),
        ("20_thrash", {"rule": "learned"}, "rule is 'learned': expected one of 'origin', 'session', 'off'"),
        ("30_boundary", {"turns": 1}, "turns is 1: expected 2 to 4"),
        ("40_why_it_missed", {"sessions": 0}, "sessions is 0: expected 1 or more"),
        ("40_why_it_missed", {"mode": "fast"}, "mode is 'fast': expected one of '', 'thinking on', 'thinking off'"),
        ("50_sizing", {"tokens": 50}, "50 tokens over 4 turns leave no prompt beside 100 reply tokens"),
        ("70_server", {"turns": 0}, "turns is 0: expected 1 or more"),
        ("71_inside_mlx_lm", {"turns": 0}, "turns is 0: expected 1 or more"),
        ("80_sweep", {"rules": ["learned"]}, "rules is 'learned': expected one of 'origin', 'session', 'off'"),
        ("80_sweep", {"budgets": []}, "budgets is 0: expected 1 or more"),
    ],
)  # fmt: skip
def test_a_value_that_a_notebook_cannot_answer_is_refused_in_one_sentence(name, values, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        _run(name, values)
