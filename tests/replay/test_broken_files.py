"""Whatever is missing or of another kind in a file's record lands in `problems`, and the record after it is read."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlxcel_lab.engine.models import load_lab_tokenizer
from mlxcel_lab.replay.readers import read_trace
from mlxcel_lab.replay.readers.rendering import TokenizerRenderer

_ASKED = {
    "t": 1.0,
    "type": "n",
    "model": "m",
    "in": 200,
    "out": 130,
    "hash_runs": [[1, 3]],
    "input_types": ["text"],
}
_TALK = [
    {"role": "user", "content": "hi"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "done"}]},
]
RECORDS: dict[str, dict[str, Any]] = {
    "coding-agent": {
        "id": "one",
        "block_size": 64,
        "requests": [_ASKED, {"type": "subagent", "agent_id": "a", "t": 2.0, "requests": [_ASKED]}],
    },
    "mooncake": {"timestamp": 1, "input_length": 1024, "output_length": 5, "hash_ids": [1, 2, 3]},
    "bailian": {
        "chat_id": 1, "parent_chat_id": -1, "timestamp": 1.0, "input_length": 35, "output_length": 5,
        "hash_ids": [1, 2, 3], "type": "text", "turn": 1,
    },
    "openai": {"session": "a", "time": 3.0, "tools": [{"function": {"name": "f"}}], "messages": _TALK},
    "tau-bench": {"task_id": 1, "trial": 0, "traj": _TALK},
    "mt-bench": {"question_id": 1, "turns": ["one", "two"]},
}  # fmt: skip
OTHERS: tuple[Any, ...] = (None, True, -1, 10**6, "x", [], [None], {"x": 1})


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*path, key))


def _broken(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The record with each of its parts, however deep, left out or replaced by something else."""
    for *above, last in _places(record):
        for other in (..., *OTHERS):
            made = copy.deepcopy(record)
            part: Any = made
            for key in above:
                part = part[key]
            if other is ...:
                del part[last]
            else:
                part[last] = other
            yield made


@pytest.mark.parametrize("format", RECORDS)
def test_a_broken_part_never_stops_the_reading(format: str, tmp_path: Path) -> None:
    good, broken = RECORDS[format], list(_broken(RECORDS[format]))
    path = tmp_path / "broken.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in [*broken, good]))
    renderer = TokenizerRenderer(load_lab_tokenizer())
    trace = read_trace(path, format, renderer=renderer)
    assert trace.problems
    assert {problem.line for problem in trace.problems} <= {*range(1, len(broken) + 1)}, (
        "the good one is read"
    )
    for line, record in enumerate(broken, 1):
        path.write_text(json.dumps(record))
        one = read_trace(path, format, renderer=renderer)
        assert len(one) or one.problems, (line, record)


@pytest.mark.parametrize("missing", ["t", "requests"])
def test_a_subagent_that_lacks_something_is_named_and_its_session_read(missing: str, tmp_path: Path) -> None:
    record = copy.deepcopy(RECORDS["coding-agent"])
    del record["requests"][1][missing]
    (tmp_path / "s.jsonl").write_text(json.dumps(record))
    trace = read_trace(tmp_path / "s.jsonl")
    assert trace.requests["session"].to_list() == ["one"]
    assert [problem.reason for problem in trace.problems] == [f"one: '{missing}' is None"]
