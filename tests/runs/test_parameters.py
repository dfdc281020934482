"""A notebook's parameters, and what is refused before a kernel starts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.runs.parameters import Parameter, complete, find_notebook, inspect, parse_assignments

DEFAULTS = {"size": 2, "rate": 0.5, "rule": "origin", "loud": False, "counts": [1, 2]}


def test_names_types_defaults_and_help_are_read_from_the_parameters_cell(tiny):
    found = inspect(tiny)
    assert [(p.name, p.type, p.help) for p in found.values()] == [
        ("size", "int", "how many"),
        ("rate", "float", "how often"),
        ("rule", "str", "which"),
        ("loud", "bool", "whether"),
        ("counts", "list[int]", "several"),
    ]
    assert {p.name: p.default for p in found.values()} == DEFAULTS


def test_texts_become_values_of_the_notebooks_types(tiny):
    texts = ["size=3", "rate=1", "rule=off", "loud=false", "counts=[4, 5]"]
    values = parse_assignments(texts, inspect(tiny))
    assert values == {"size": 3, "rate": 1.0, "rule": "off", "loud": False, "counts": [4, 5]}
    assert [type(v) for v in values.values()] == [int, float, str, bool, list]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size=1.5", "size='1.5': expected a whole number"),
        ("size=", "size='': expected a whole number"),
        ("size=1_000", "expected a whole number"),
        ("rate=fast", "rate='fast': expected a number"),
        ("loud=maybe", "loud='maybe': expected true or false"),
        ("counts=3", r"counts='3': expected a list like \[a, b\], each item a whole number"),
        ("counts=[1, x]", "each item a whole number"),
        ("counts=[[1]]", "each item a whole number"),
        ("counts=[1", "each item a whole number"),
        ("sizes=1", "no parameter 'sizes': did you mean size?"),
        ("zzz=1", "no parameter 'zzz': it has size, rate, rule, loud, counts"),
        ("size", "'size': expected name=value"),
    ],
)
def test_a_bad_assignment_is_refused_with_what_was_expected(tiny, text, expected):
    with pytest.raises(ValueError, match=expected.replace("?", r"\?")):
        parse_assignments([text], inspect(tiny))


def test_a_name_given_twice_is_refused(tiny):
    with pytest.raises(ValueError, match="size is given twice"):
        parse_assignments(["size=1", "size=2"], inspect(tiny))


@pytest.mark.parametrize(
    "bad",
    [
        {"size": 1.0},
        {"size": True},
        {"rule": 3},
        {"loud": 1},
        {"counts": 3},
        {"counts": ["1"]},
        {"size": None},
    ],
)
def test_a_python_value_of_another_type_is_refused(tiny, bad):
    with pytest.raises(ValueError, match="expected"):
        complete(bad, inspect(tiny))


def test_every_parameter_has_a_value_in_the_notebooks_order(tiny):
    assert complete({"loud": True, "rate": 2}, inspect(tiny)) == {**DEFAULTS, "loud": True, "rate": 2.0}


def test_a_default_that_is_no_literal_is_refused(make_notebook):
    with pytest.raises(ValueError, match=r"the default of size, 2\*\*20, must be a literal"):
        inspect(make_notebook(parameters="size: int = 2**20"))


def test_a_type_that_cannot_be_checked_is_refused(make_notebook):
    with pytest.raises(ValueError, match="size is a dict"):
        inspect(make_notebook(parameters="size: dict = {}"))


def test_without_an_annotation_the_default_says_the_type(make_notebook):
    assert inspect(make_notebook(parameters="size = 2"))["size"].type == "int"


def test_a_notebook_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no notebook 'nowhere': give a path"):
        find_notebook("nowhere")


def test_a_path_is_found_with_and_without_its_suffix(tiny):
    assert find_notebook(tiny) == find_notebook(tiny.with_suffix("")) == tiny


@given(st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False), st.text()))
def test_a_value_written_as_text_is_read_back(value):
    parameter = Parameter("x", type(value).__name__, value)
    assert parameter.parse(str(value)) == parameter.check(value) == value
