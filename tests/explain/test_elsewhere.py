"""Causes of a miss with nothing under the key, each with a near-twin that mustn't be called it."""

import pytest

from mlxcel_lab.explain import Cause, explain

from ..toy_tokenizer import PLAIN, THINKING
from .talk import FIRST, NEXT, REPLY, SCAFFOLD, SYSTEM, Talk, user

TOOL = {"type": "function", "function": {"name": "find", "parameters": {}}}


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"tools": [TOOL]}, ["tools"]),
        ({"enable_thinking": False}, ["options"]),
        ({"model": "other"}, ["model_id"]),
        ({"model": "other", "tools": [TOOL]}, ["model_id", "tools"]),
    ],
)
def test_another_bucket_says_which_field(change, fields):
    talk = Talk(THINKING)
    talk.turn(FIRST, REPLY)
    explained = talk.why(NEXT, **change)
    assert explained.cause is Cause.ANOTHER_BUCKET
    assert explained.evidence.details == {"fields": fields}


def test_another_template_is_another_bucket():
    talk = Talk(THINKING)
    talk.turn(FIRST, REPLY)
    talk.tokenizer.chat_template = PLAIN
    explained = talk.why(NEXT)
    assert explained.cause is Cause.ANOTHER_BUCKET
    assert explained.evidence.details == {"fields": ["template"]}


def test_another_bucket_is_told_by_tokens_alone_where_they_are_the_same_in_both():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    outcome, asked = talk.ask(NEXT, model="other")
    explained = explain(outcome, asked, tokenizer=talk.tokenizer, journal=talk.store.journal)
    assert explained.cause is Cause.ANOTHER_BUCKET
    assert explained.lost_tokens == len(talk.turns[0].full)


@pytest.mark.parametrize("change", [{"model": "other"}, {"tools": [TOOL]}, {"enable_thinking": False}])
def test_twin_of_another_bucket_an_unrelated_conversation_in_the_same_session(change):
    talk = Talk(THINKING)
    talk.turn(FIRST, REPLY)
    explained = talk.why([SYSTEM, user("What is the time?")], **change)
    assert (explained.cause, explained.lost_tokens) == (Cause.FIRST_REQUEST, 0)


def test_twin_of_another_bucket_another_conversations_bucket():
    talk = Talk(THINKING)
    talk.turn(FIRST, REPLY, session="other")
    assert talk.why(NEXT, tools=[TOOL]).cause is Cause.FIRST_REQUEST


@pytest.mark.parametrize(("stored_by", "asked_by"), [("a", "b"), (None, "b"), ("a", None)])
def test_another_session(stored_by, asked_by):
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY, session=stored_by)
    explained = talk.why(NEXT, session=asked_by)
    assert explained.cause is Cause.ANOTHER_SESSION
    assert explained.evidence.details == {"session": stored_by, "asked_by": asked_by}
    assert explained.lost_tokens == len(talk.turns[0].full)


def test_twin_of_another_session_one_whose_state_would_not_serve():
    talk = Talk(SCAFFOLD)
    talk.turn(FIRST, REPLY, session="a")
    assert talk.why(NEXT, session="b").cause is Cause.FIRST_REQUEST


def test_first_request():
    assert Talk(PLAIN).why(FIRST).cause is Cause.FIRST_REQUEST


def test_twin_of_first_request_the_same_request_again_when_nothing_is_stored_any_more():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    talk.store.clear()
    assert talk.why(FIRST).cause is Cause.LONGER_THAN_REQUEST
