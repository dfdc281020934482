"""A reply's text sorted into content, reasoning and tool calls, however it is cut into pieces."""

import json
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.tool_parsers import json_tools

from mlxcel_lab.serve.replies import ReplyReader, usage

TOOLS = [{"type": "function", "function": {"name": "weather"}}]
CALL = '<tool_call>{"name": "weather", "arguments": {"city": "Bern"}}</tool_call>'


def _tokenizer():
    """The few properties that mlx-lm's state machine asks a tokenizer wrapper for."""
    return SimpleNamespace(
        has_thinking=True,
        think_start="<think>",
        think_end="</think>",
        has_tool_calling=True,
        tool_call_start="<tool_call>",
        tool_call_end="</tool_call>",
        tool_parser=json_tools.parse_tool_call,
        response_transitions={},
        structural_markers=[],
    )


def _read(pieces, tools=TOOLS):
    reader = ReplyReader(_tokenizer(), tools)
    deltas = [delta for piece in pieces for delta in reader.feed(piece)]
    return reader, deltas + reader.finish()


def test_reasoning_content_and_a_call_are_told_apart():
    reader, _ = _read([f"<think>hm</think>Let me look.{CALL}"])
    message = reader.message()
    assert message["reasoning_content"] == "hm"
    assert message["content"] == "Let me look."
    (call,) = message["tool_calls"]
    assert call["function"]["name"] == "weather"
    assert json.loads(call["function"]["arguments"]) == {"city": "Bern"}


@given(st.lists(st.integers(0, 90), max_size=12))
def test_the_stream_says_the_same_as_the_whole_however_it_is_cut(cuts):
    text = f"<think>hm</think>one < two{CALL}and on"
    edges = [0, *sorted(min(c, len(text)) for c in cuts), len(text)]
    _, deltas = _read([text[a:b] for a, b in pairwise(edges)])
    assert "".join(d.get("content", "") for d in deltas) == "one < twoand on"
    assert "".join(d.get("reasoning_content", "") for d in deltas) == "hm"
    assert [c["function"]["name"] for d in deltas for c in d.get("tool_calls", [])] == ["weather"]


@pytest.mark.parametrize(
    ("text", "tools"),
    [("<tool_call>not json</tool_call>", TOOLS), (CALL, None)],
    ids=["broken", "no tools asked"],
)
def test_what_is_no_call_reaches_the_client_as_the_model_said_it(text, tools):
    reader, _ = _read([text], tools)
    assert reader.message() == {"role": "assistant", "content": text}
    assert not reader.called_tools


def test_half_a_control_sequence_at_the_end_is_not_lost():
    reader, _ = _read(["a <thi"])
    assert reader.message()["content"] == "a <thi"


def test_usage_has_the_cached_tokens_where_openai_has_them():
    assert usage(10, 7, 2) == {
        "prompt_tokens": 10,
        "completion_tokens": 2,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 7},
    }
