"""Explanations as such: what is claimed without messages, of hits, and in words."""

import pytest

from mlxcel_lab.engine.chat import warmup_target
from mlxcel_lab.explain import MEANINGS, Cause, explain, what_ended

from ..toy_tokenizer import PLAIN
from .talk import FIRST, NEXT, REPLY, SCAFFOLD, Talk, said, user


def _two_turns(template, reply=REPLY, sent_back=None, following=None, **settings):
    """A turn with `reply`, then the explanation of the next request."""
    talk = Talk(template, **settings)
    talk.turn(FIRST, reply)
    return talk.why([*FIRST, sent_back or said(reply), following or user("And now?")])


def test_without_the_earlier_messages_only_what_tokens_show_is_claimed():
    talk = Talk(SCAFFOLD)
    talk.turn(FIRST, REPLY)
    outcome, asked = talk.ask(NEXT)
    explained = explain(outcome, asked, tokenizer=talk.tokenizer)
    assert explained.cause is Cause.UNKNOWN
    assert "earlier=" in explained.advice


def test_twin_of_unknown_what_tokens_show_is_claimed_without_the_messages():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    outcome, asked = talk.ask(FIRST)
    assert explain(outcome, asked, tokenizer=talk.tokenizer).cause is Cause.LONGER_THAN_REQUEST


def test_a_hit_is_not_a_miss_but_can_be_asked_why_it_was_not_longer():
    talk = Talk(SCAFFOLD, boundary=True)
    talk.turn(FIRST, REPLY)
    outcome, asked = talk.ask(NEXT)
    with pytest.raises(ValueError, match="what_ended"):
        explain(outcome, asked, tokenizer=talk.tokenizer)
    ended = what_ended(outcome, asked, tokenizer=talk.tokenizer, earlier=talk.turns)
    assert ended.cause is Cause.GENERATION_PROMPT
    assert ended.lost_tokens == 1, "the role marker that both scaffolds share"


def test_a_hit_on_all_that_was_computed_has_nothing_to_explain():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    outcome, asked = talk.ask(NEXT)
    assert what_ended(outcome, asked, tokenizer=talk.tokenizer, earlier=talk.turns) is None


def test_a_warm_up_that_broke_at_an_edited_reply_is_not_blamed_on_the_generation_prompt():
    talk = Talk(SCAFFOLD)
    talk.turn(FIRST, REPLY)
    target = warmup_target(talk.tokenizer, FIRST, REPLY)
    talk.donate(talk.turns[0].key, target)
    explained = talk.why([*FIRST, said("yet"), user("And now?")])
    assert explained.cause is Cause.HISTORY_EDITED


def test_every_cause_has_words_and_advice():
    assert set(MEANINGS) == set(Cause)
    assert all(meaning.name and meaning.what and meaning.advice for meaning in MEANINGS.values())


def test_an_explanation_reads_as_one_line():
    explained = _two_turns(SCAFFOLD)
    assert "\n" not in repr(explained)
    assert f"at token {explained.evidence.position}" in explained.sentence


def test_lost_tokens_never_exceed_the_request():
    explained = _two_turns(SCAFFOLD)
    assert 0 < explained.lost_tokens <= explained.evidence.requested_len
