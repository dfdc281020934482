"""People's own files of messages, in every shape they come in, and what is said about those that aren't."""

import gzip
import json

import pytest

from mlxcel_lab.experiments.messages_file import read_conversations

MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
TOOL = {"type": "function", "function": {"name": "find"}}


def _written(tmp_path, text, name="mine.json"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "sessions"),
    [
        (json.dumps(MESSAGES), ["mine"]),
        (json.dumps({"messages": MESSAGES}), ["conversation 0"]),
        (
            json.dumps([{"session": "a", "messages": MESSAGES}, {"task_id": 7, "traj": MESSAGES}]),
            ["a (0)", "7 (1)"],
        ),
        (json.dumps([MESSAGES, MESSAGES]), ["conversation 0", "conversation 1"]),
        ("\n".join(json.dumps(m) for m in MESSAGES), ["mine"]),
        ("\n".join(json.dumps({"messages": MESSAGES}) for _ in "ab"), ["conversation 0", "conversation 1"]),
        (gzip.compress(json.dumps(MESSAGES).encode(), mtime=0), ["mine"]),
    ],
)
def test_conversations_are_read_in_every_shape(tmp_path, text, sessions):
    found = read_conversations(_written(tmp_path, text))
    assert [one.session for one in found] == sessions
    assert all([m["content"] for m in one.messages] == ["hi", "hello"] for one in found)


def test_a_requests_tools_come_along(tmp_path):
    (one,) = read_conversations(_written(tmp_path, json.dumps({"messages": MESSAGES, "tools": [TOOL]})))
    assert one.tools == [TOOL]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("not json", "neither JSON nor JSONL"),
        ("[]", "holds no messages"),
        ('"hello"', "expected messages, got str"),
        ("3", "expected messages, got int"),
        ('[{"talk": []}]', "has none of messages, conversation, traj"),
        ('[{"role": "user", "content": 3}]', "message 0"),
    ],
)
def test_what_holds_no_conversation_is_refused_with_what_was_expected(tmp_path, text, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_conversations(_written(tmp_path, text))


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match="isn't there"):
        read_conversations(tmp_path / "none.json")
