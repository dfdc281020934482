"""Files of messages: every form is read alike as a trace and as conversations, and as what was meant."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mlxcel_lab.experiments.messages_file import read_conversations
from mlxcel_lab.replay.readers import read_trace
from mlxcel_lab.replay.readers.lines import Records
from mlxcel_lab.replay.readers.messages import openai

HI = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
NAMED = {"session": "a", "messages": HI}
BY_NUMBER = ["conversation 1", "conversation 2"]


def _lines(*records: Any) -> str:
    return "\n".join(json.dumps(record) for record in records)


def _spread(record: Any) -> str:
    return json.dumps(record, indent=2)


FORMS: dict[str, tuple[str, list[str]]] = {
    "messages": (json.dumps(HI), ["mine"]),
    "messages, over lines": (_spread(HI), ["mine"]),
    "a message a line": (_lines(*HI), ["mine"]),
    "an object": (json.dumps(NAMED), ["a"]),
    "an object, over lines": (_spread(NAMED), ["a"]),
    "an object a line": (_lines(NAMED, {"messages": HI}), ["a", "conversation 2"]),
    "an object a line, and blank lines": ("\n" + _lines({"messages": HI}, NAMED) + "\n\n", [*BY_NUMBER[1:], "a"]),
    "objects": (json.dumps([NAMED, {"conversation": HI}]), ["a", "conversation 2"]),
    "objects, over lines": (_spread([{"conversation": HI}, {"id": 7, "messages": HI}]), ["conversation 1", "7"]),
    "lists": (json.dumps([HI, HI]), BY_NUMBER),
    "lists, over lines": (_spread([HI, HI]), BY_NUMBER),
    "a list a line": (_lines(HI, HI), BY_NUMBER),
    "with a mark of its order": ("\ufeff" + _lines(HI, HI), BY_NUMBER),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("text", "sessions"), FORMS.values(), ids=FORMS)
def test_each_form_is_the_same_conversations_to_both_readers(
    tmp_path: Path, text: str, sessions: list[str], packed: bool
) -> None:
    path = tmp_path / ("mine.jsonl.gz" if packed else "mine.jsonl")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found, trace = read_conversations(path), read_trace(path)
    assert [one.session for one in found] == sessions == trace.requests["session"].to_list()
    assert [[*one.messages] for one in found] == [HI] * len(sessions)
    assert trace.problems == ()


@pytest.mark.parametrize(
    ("broken", "where"),
    [
        ('{"messages": [', 1),
        ('[{"role": "us', 1),
        ('{"messages": []}', 1),
        ("[3]", 1),
        ("null", 1),
        ('{"messages": [{"role": "user", "content": "hi", "tool_calls": 3}]}', 1),
        ('{"messages": [{"role": "user", "content": "hi", "tool_calls": [3]}]}', 1),
    ],
)
def test_a_bad_first_line_costs_itself_alone_in_a_trace_and_refuses_a_persons_file(
    tmp_path: Path, broken: str, where: int
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(f"{broken}\n{_lines(NAMED, HI)}\n")
    trace = read_trace(path, "openai")
    assert trace.requests["session"].to_list() == ["a", "conversation 3"]
    assert [problem.line for problem in trace.problems] == [where]
    with pytest.raises(ValueError, match=f"record {where}: .*expected messages with a role and a content"):
        read_conversations(path)


def test_a_long_array_on_one_line_is_read_an_element_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlxcel_lab.replay.readers.lines._LONGEST_LINE", 200)
    monkeypatch.setattr("mlxcel_lab.replay.readers.lines._CHUNK", 64)
    (tmp_path / "mine.json").write_text(json.dumps([HI] * 20))
    assert len(list(openai(Records(tmp_path / "mine.json")))) == 20


def test_a_compressed_file_that_breaks_off_gives_what_stood_before(tmp_path: Path) -> None:
    packed = gzip.compress((_lines(*[NAMED] * 200) + "\n").encode() + bytes(range(256)) * 64)
    (tmp_path / "mine.jsonl.gz").write_bytes(packed[:-200])
    trace = read_trace(tmp_path / "mine.jsonl.gz", "openai")
    assert len(trace) > 100
    assert "breaks off" in trace.problems[-1].reason
