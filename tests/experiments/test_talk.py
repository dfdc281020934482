"""Conversations from data/, held with a dry engine: exact sizes, given replies, and a row a turn."""

import pytest

from mlxcel_lab.engine import Engine, load, load_dry
from mlxcel_lab.experiments import open_store
from mlxcel_lab.experiments.talk import conversation, converse, hold, largest_snapshot, table

TALK = conversation("two_travellers")


@pytest.fixture(scope="module")
def dry():
    return load_dry("gated-delta")


def _engine(model):
    return Engine(model, open_store("origin", 10**9, boundary=False))


@pytest.mark.parametrize("name", ["nobody", "sea_story", "harbour_desk"])
def test_what_is_no_conversation_in_lines_is_refused_and_every_name_offered_instead_works(name):
    with pytest.raises(ValueError, match=f"'{name}'.*two_travellers") as refused:
        conversation(name)
    offered = str(refused.value).split("expected one of ")[1].split(", ")
    assert all(conversation(other) for other in offered)


def test_each_session_keeps_its_own_history_and_again_repeats_the_last_request(dry):
    turns = list(hold(_engine(dry), TALK, 16))
    assert [turn.session for turn in turns] == ["alice"] * 4 + ["bob"] * 4
    assert turns[3].prompt_tokens > turns[2].prompt_tokens > turns[4].prompt_tokens
    assert turns[7].prompt.tolist() == turns[6].prompt.tolist()


def test_a_dry_model_says_the_lines_of_the_script(dry):
    (turn,) = hold(_engine(dry), TALK[:1], 64)
    assert turn.text == TALK[0].reply


def test_a_model_that_runs_speaks_for_itself():
    (turn,) = hold(_engine(load("gated-delta")), TALK[:1], 5)
    assert turn.completion_tokens == 5
    assert turn.text != TALK[0].reply


def test_rows_say_what_the_store_held_after_each_turn(dry):
    engine = _engine(dry)
    rows = converse(engine, TALK, 16)
    assert rows["entries"].to_list() == [1, 1, 1, 1, 2, 2, 2, 2]
    assert rows["bytes"][-1] == engine.store.total_bytes
    assert rows["cached"].to_list()[1:3] == rows["stored"].to_list()[:2]


def test_the_table_splits_a_prompt_into_cached_and_prefilled(dry):
    rows = table(list(hold(_engine(dry), TALK[:3], 16)), cache="on")
    assert (rows["cached"] + rows["prefilled"]).equals(rows["prompt"])
    assert rows["cache"].to_list() == ["on"] * 3


def test_the_largest_snapshot_is_one_that_the_store_would_hold(dry):
    engine = _engine(dry)
    converse(engine, TALK, 16)
    assert largest_snapshot(dry, TALK, 16) == max(
        entry.snapshot.size_bytes for entry in engine.store.entries()
    )
