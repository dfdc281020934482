"""How grids, cases and defaults are written, and the runs they make."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.runs.grid import Sweep, load_yaml, parse_axis, parse_grid, read_file
from mlxcel_lab.runs.parameters import Parameter, inspect

INT, FLOAT = Parameter("n", "int", 0), Parameter("r", "float", 0.0)
STR, BOOL, LIST = Parameter("s", "str", ""), Parameter("b", "bool", False), Parameter("l", "list[int]", [])


@pytest.mark.parametrize(
    ("parameter", "text", "values"),
    [
        (INT, "1:8", [1, 2, 3, 4, 5, 6, 7, 8]),
        (INT, "1:8:3", [1, 4, 7]),
        (INT, "5", [5]),
        (INT, "1:3,8, 16", [1, 2, 3, 8, 16]),
        (INT, "-2:1", [-2, -1, 0, 1]),
        (FLOAT, "0.1:0.7:0.2", [0.1, 0.3, 0.5, 0.7]),
        (FLOAT, "1:2", [1.0, 2.0]),
        (STR, "session,origin,off", ["session", "origin", "off"]),
        (STR, "1:8", ["1:8"]),
        (BOOL, "true,false", [True, False]),
        (LIST, "[1, 2],[3]", [[1, 2], [3]]),
    ],
)
def test_an_axis_is_read_by_its_parameters_type(parameter, text, values):
    read = parse_axis(parameter, text)
    assert read == values
    assert [type(v) for v in read] == [type(v) for v in values]


@pytest.mark.parametrize(
    ("parameter", "text"),
    [(INT, "8:1"), (INT, "1:2:0"), (INT, "1:2:-1"), (INT, "1:2:3:4"), (INT, "1:"), (INT, "1,,2"), (INT, "a:b"),
     (FLOAT, "0:inf"), (BOOL, "yes,maybe"), (LIST, "1,2"), (INT, "")],
)  # fmt: skip
def test_a_bad_axis_is_refused(parameter, text):
    with pytest.raises(ValueError, match="expected"):
        parse_axis(parameter, text)


@given(st.integers(-50, 50), st.integers(0, 50), st.integers(1, 9))
def test_a_range_of_whole_numbers_is_pythons_with_both_ends(first, more, step):
    assert parse_axis(INT, f"{first}:{first + more}:{step}") == list(range(first, first + more + 1, step))


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.integers(), min_size=1, max_size=4, unique=True)))
def test_a_grid_is_every_combination_once(grid):
    made = list(Sweep([grid]).combinations())
    assert len(made) == math.prod(map(len, grid.values()))
    assert len({tuple(sorted(values.items())) for values in made}) == len(made)
    assert all(values[name] in grid[name] for values in made for name in grid)


def test_defaults_fill_what_grids_and_cases_leave_out():
    sweep = Sweep([{"a": [1, 2]}], [{"a": 9, "b": 8}], {"b": 0, "c": 5})
    assert list(sweep.combinations()) == [
        {"a": 1, "b": 0, "c": 5},
        {"a": 2, "b": 0, "c": 5},
        {"a": 9, "b": 8, "c": 5},
    ]


@pytest.mark.parametrize("bad", ["text", 3, []])
def test_an_axis_that_is_no_list_of_values_is_refused(bad):
    with pytest.raises(ValueError, match="a grid"):
        list(Sweep([{"a": bad}]).combinations())


def test_a_grid_beyond_reason_is_refused_before_it_is_made():
    with pytest.raises(ValueError, match="1,000,000,000 runs is more than 1,000,000: split it"):
        next(Sweep([{name: range(1000) for name in "abc"}]).combinations())


def test_a_name_given_twice_or_unknown_is_refused(tiny):
    with pytest.raises(ValueError, match="size is given twice"):
        parse_grid(["size=1", "size=2"], inspect(tiny))
    with pytest.raises(ValueError, match="no parameter 'sise': did you mean size"):
        parse_grid(["sise=1"], inspect(tiny))


def _yaml(tmp_path, text):
    path = tmp_path / "sweep.yaml"
    path.write_text(text)
    return path


def test_a_yaml_file_holds_grids_cases_and_defaults_and_off_stays_a_rule(tiny, tmp_path):
    file = _yaml(
        tmp_path,
        "defaults: {loud: no, rate: 2}\ngrids:\n- {size: 1:3, rule: [session, off]}\n- {counts: [[1], [2, 3]]}\n"
        "cases:\n- {size: 9, rule: on, loud: true}\n",
    )
    sweep = read_file(file, inspect(tiny))
    assert sweep.defaults == {"loud": False, "rate": 2.0}
    assert sweep.grids == [{"size": [1, 2, 3], "rule": ["session", "off"]}, {"counts": [[1], [2, 3]]}]
    assert sweep.cases == [{"size": 9, "rule": "on", "loud": True}]
    assert len(list(sweep.combinations())) == 9


def test_one_grid_needs_no_list(tiny, tmp_path):
    assert read_file(_yaml(tmp_path, "grids: {size: 4}"), inspect(tiny)).grids == [{"size": [4]}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- 1", "expected the keys cases, defaults, grids, notebook"),
        ("grid: {size: 1}", "expected the keys"),
        ("a: [", "is no YAML"),
        ("grids: {sizes: 1}", "did you mean size"),
        ("grids: {size: [1.5]}", "expected a whole number"),
        ("grids: [size]", "a grid is a mapping"),
        ("cases: {size: 1}", "expected a list"),
        ("cases: [{size: [1]}]", "expected a whole number"),
        ("defaults: [1]", "expected a mapping"),
    ],
)
def test_a_bad_file_is_refused_with_what_was_expected(tiny, tmp_path, text, told):
    with pytest.raises(ValueError, match=told):
        read_file(_yaml(tmp_path, text), inspect(tiny))


def test_a_file_may_name_its_notebook(tmp_path):
    assert load_yaml(_yaml(tmp_path, "notebook: 20_thrash\ngrids: {size: 1}"))["notebook"] == "20_thrash"
