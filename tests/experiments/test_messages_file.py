"""People's own files of messages, and what is said about those that aren't; their forms: test_message_files."""

import json

import pytest

from mlxcel_lab.experiments.messages_file import read_conversations

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
TOOL = {"type": "function", "function": {"name": "find"}}


def _written(tmp_path, text, name="mine.json"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_conversations_of_one_name_are_told_apart(tmp_path):
    records = [{"session": name, "messages": MESSAGES} for name in ("a", "b", "a")]
    found = read_conversations(_written(tmp_path, json.dumps(records)))
    assert [one.session for one in found] == ["a (0)", "b", "a (2)"]


def test_a_requests_tools_come_along(tmp_path):
    (one,) = read_conversations(_written(tmp_path, json.dumps({"messages": MESSAGES, "tools": [TOOL]})))
    assert one.tools == [TOOL]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("not json", "record 1: not JSON"),
        ("[]", "holds no messages"),
        ('"hello"', "record 1: expected an object, not str"),
        ("3", "record 1: expected an object, not int"),
        ('[{"talk": []}]', "none of messages, conversation, traj is in {'talk'"),
        ('[{"role": "user", "content": 3}]', "message 0"),
    ],
)
def test_what_holds_no_conversation_is_refused_with_what_was_expected(tmp_path, text, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_conversations(_written(tmp_path, text))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match="isn't there"):
        read_conversations(tmp_path / "none.json")
