"""Scripts of conversations, and the setup that decides a run."""

import json
import re

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.paths import notebooks_dir
from mlxcel_lab.view.script import Say, Wait, load_script, parse, parse_line, script_names
from mlxcel_lab.view.setup import Setup

words = st.text("abc ?!.", min_size=1, max_size=20).map(str.strip).filter(bool)


@given(st.sampled_from(["A", "B", "user 7"]), words, st.none() | words)
def test_a_step_reads_its_own_line_again(session, message, reply):
    step = Say(session, message, reply)
    assert parse_line(step.line()) == step


def test_an_indented_line_goes_on_and_a_comment_is_passed_over():
    lines = ["# a talk", "A: Hello", "   there.", "   => Good", "   day.", "", "wait 3600", "B: wait: what?"]
    assert parse(lines) == (Say("A", "Hello there.", "Good day."), Wait(3600.0), Say("B", "wait: what?"))


@pytest.mark.parametrize(
    "line", ["hello", ": hello", "A:", "A: hi =>  ", "wait", "wait long", "wait -1", "wait nan"]
)
def test_a_line_that_is_no_step_is_refused_with_its_number(line):
    with pytest.raises(ValueError, match=r"line 2: .*expected"):
        parse(["A: fine", line])


def test_the_scripts_that_ship_can_be_read_and_answer_for_a_model_without_weights():
    for name in script_names():
        assert all(step.reply for step in load_script(name) if isinstance(step, Say))


def test_a_script_can_be_a_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("A: Hi => Ho\n")
    assert load_script(path) == (Say("A", "Hi", "Ho"),)


def test_an_unknown_script_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match=r"unknown script 'tales': expected one of .*interleaved"):
        Setup(script="tales")


def test_the_default_compares_supersede_with_none():
    off, origin = Setup().sides()
    assert (off.rule, origin.rule) == ("off", "origin")
    assert Setup().titles() == ("supersede off", "supersede origin")


def test_titles_say_all_that_differs():
    titles = Setup(compare="budget 4, boundary on, ttl_seconds 60").titles()
    assert titles == (
        "supersede origin, budget 4 snapshots, boundary on, time to live 60 s",
        "supersede origin, budget 2.5 snapshots, boundary off, time to live 7200 s",
    )


def test_a_budget_counts_snapshots_and_from_a_thousand_on_bytes():
    assert Setup(budget=2.5).config(100).snapshot_capacity_bytes == 250
    assert Setup(budget=5000).config(100).snapshot_capacity_bytes == 5000
    assert Setup(budget=0).config(100).snapshot_capacity_bytes == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rule": "newest"}, "newest"),
        ({"budget": -1}, "budget=-1"),
        ({"budget": float("nan")}, "budget=nan"),
        ({"compare": "rule=off"}, "expected names with values"),
        ({"compare": "colour red"}, "the names are rule"),
        ({"compare": "rule newest"}, "newest"),
        ({"compare": "budget many"}, "expected a number"),
        ({"compare": "warmup maybe"}, "expected on or off"),
        ({"lines": ["nonsense"]}, "line 1"),
        ({"ttl_seconds": -5.0}, "ttl_seconds"),
    ],
)
def test_a_bad_setting_is_refused_by_its_value(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Setup(**settings)


def test_an_unknown_setting_is_refused():
    with pytest.raises(TypeError, match="unknown setting 'budgets': expected one of model, template"):
        Setup.of({"budgets": 3})


def test_parameters_make_the_same_setup_again_after_a_file():
    setup = Setup(rule="session", budget=3.25, compare="rule off, warmup on", lines=["A: Hi => Ho", "wait 5"])
    assert Setup.of(json.loads(json.dumps(setup.parameters()))) == setup


def test_the_notebooks_parameters_are_the_settings_with_their_defaults():
    notebook = nbformat.read(notebooks_dir() / "01_dashboard.ipynb", as_version=4)
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    found = {}
    exec(cell.source, found)
    assert {name: found[name] for name in Setup().parameters()} == Setup().parameters()
    assert set(re.findall(r"^(\w+):", cell.source, re.M)) == set(Setup().parameters())
