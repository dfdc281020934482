"""The chat request: what is taken, what is refused by name, whose conversation it is."""

import pytest
from pydantic import ValidationError

from mlxcel_lab.serve.schemas import ChatRequest
from mlxcel_lab.serve.settings import ANONYMOUS_SESSION, ServerSettings


def _request(**fields):
    return ChatRequest(**{"model": "m", "messages": [{"role": "user", "content": "hi"}], **fields})


def test_the_session_is_the_first_non_empty_of_key_and_user_else_anonymous():
    assert _request(prompt_cache_key="k", user="u").session(ANONYMOUS_SESSION) == "k"
    assert _request(prompt_cache_key="", user="u").session(ANONYMOUS_SESSION) == "u"
    assert _request(user="").session(ANONYMOUS_SESSION) == "__mlxcel_anon__"
    assert _request().session(ANONYMOUS_SESSION) == "__mlxcel_anon__"


@pytest.mark.parametrize(
    "field", ["logprobs", "response_format", "frequency_penalty", "functions", "maximum"]
)
def test_what_is_not_supported_is_refused_by_name(field):
    with pytest.raises(ValidationError, match=f"unsupported: {field}"):
        _request(**{field: True})


def test_an_unsupported_field_that_is_null_counts_as_absent():
    assert _request(logprobs=None, audio=None).messages[0].plain() == {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": []},
        {"messages": [{"role": "robot", "content": "x"}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
        {"max_tokens": 0},
        {"max_tokens": "9"},
        {"temperature": -1},
        {"temperature": 2.5},
        {"top_p": 0},
        {"n": 2},
        {"stop": []} | {"stop": [""]},
        {"stop": ["a"] * 5},
        {"tool_choice": "required"},
        {"stream_options": {"include_usage": True}},
        {"max_tokens": 1, "max_completion_tokens": 1},
    ],
    ids=str,
)
def test_a_bad_value_is_refused(fields):
    with pytest.raises(ValidationError):
        _request(**fields)


def test_text_parts_are_joined_and_developer_speaks_as_system():
    message = {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    assert _request(messages=[message]).messages[0].plain() == {"role": "system", "content": "ab"}


def test_an_assistant_message_may_hold_tool_calls_and_no_content():
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = _request(messages=[{"role": "assistant", "content": None, "tool_calls": [call]}]).messages[0]
    assert message.plain() == {"role": "assistant", "content": "", "tool_calls": [call]}


def test_tools_are_off_where_tool_choice_is_none():
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    assert _request(tools=[tool]).plain_tools() == [tool]
    assert _request(tools=[tool], tool_choice="none").plain_tools() is None


@pytest.mark.parametrize("field", ["max_body_bytes", "max_messages", "max_tokens", "max_waiting"])
def test_a_bound_below_one_is_refused_by_name(field):
    with pytest.raises(ValueError, match=f"{field} must be at least 1, got 0"):
        ServerSettings("m", **{field: 0})


def test_an_empty_api_key_is_refused():
    with pytest.raises(ValueError, match="API key is empty"):
        ServerSettings("m", api_key="")
