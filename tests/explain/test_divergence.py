"""Causes that lie where a request parts from what is stored: each with a near-twin that mustn't be called it."""

import pytest

from mlxcel_lab.engine.chat import warmup_target
from mlxcel_lab.explain import Cause
from mlxcel_lab.store import Hit

from ..toy_tokenizer import PLAIN, THINKING
from .talk import FIRST, NEXT, REPLY, SCAFFOLD, SYSTEM, Talk, said, user

TRIMMING = PLAIN.replace("{{ m.content }}", "{{ m.content | trim }}")
FRONTED = (
    "{% for m in messages if m.role == 'system' %}<|system|>{{ m.content }}<|end|>{% endfor %}"
    "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
KEEPING = THINKING.replace("{{ m.content.split('</think>')[-1] }}", "{{ m.content }}")


def _two_turns(template, reply=REPLY, sent_back=None, following=None, **settings):
    """A turn with `reply`, then the explanation of the next request."""
    talk = Talk(template, **settings)
    talk.turn(FIRST, reply)
    return talk.why([*FIRST, sent_back or said(reply), following or user("And now?")])


def test_generation_prompt_not_in_history():
    explained = _two_turns(SCAFFOLD)
    assert explained.cause is Cause.GENERATION_PROMPT
    seen = explained.evidence
    assert seen.details == {"generation_prompt_tokens": 2}
    assert explained.lost_tokens == seen.common_len == seen.position < seen.stored_len
    assert [p.text for p in seen.stored if p.index == seen.position] == ["<|live|>"]
    assert [p.text for p in seen.requested if p.index == seen.position] == ["y"]


def test_twin_of_generation_prompt_a_history_that_keeps_it_hits():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    outcome, _ = talk.ask(NEXT)
    assert isinstance(outcome, Hit)


def test_twin_of_generation_prompt_an_edit_before_it():
    talk = Talk(SCAFFOLD)
    talk.turn(FIRST, REPLY)
    talk.turn(NEXT, "no")
    changed = [SYSTEM, FIRST[1], said("yes, it was"), *NEXT[3:], said("no"), user("So?")]
    assert talk.why(changed).cause is Cause.HISTORY_EDITED


@pytest.mark.parametrize(
    ("sent_back", "by"),
    [
        (said("<think>Let me see.</think>yes"), "the template"),
        (said("yes"), "the client"),
        (said("yes", reasoning_content="Let me see."), "the template"),
    ],
)
def test_reasoning_stripped(sent_back, by):
    explained = _two_turns(THINKING, "<think>Let me see.</think>yes", sent_back)
    assert explained.cause is Cause.REASONING_STRIPPED
    assert explained.evidence.details == {"stripped_by": by}
    assert (explained.evidence.message, explained.evidence.role) == (2, "assistant")


def test_twin_of_reasoning_stripped_reasoning_kept_and_the_answer_edited():
    explained = _two_turns(KEEPING, "<think>Let me see.</think>yes", said("<think>Let me see.</think>no"))
    assert explained.cause is Cause.HISTORY_EDITED


def test_reasoning_stripped_from_an_older_message_when_the_user_speaks_again():
    talk = Talk(THINKING)
    begun = [*FIRST, said("<think>Let me see.</think>find()"), {"role": "tool", "content": "open"}]
    talk.turn(begun, "yes")
    explained = talk.why([*begun, said("yes"), user("And now?")])
    assert explained.cause is Cause.REASONING_STRIPPED
    assert explained.evidence.message == 2


def test_re_tokenised_reply():
    talk = Talk(PLAIN)
    encode = talk.tokenizer.encode
    two_newlines_sampled_apart = [*encode("yes\n"), *encode("\nno")]
    talk.turn(FIRST, "yes\n\nno", completion=two_newlines_sampled_apart)
    explained = talk.why([*FIRST, said("yes\n\nno"), user("And now?")])
    assert explained.cause is Cause.RETOKENISED
    assert explained.evidence.stored_len - explained.evidence.common_len == 4


def test_twin_of_re_tokenised_another_text_at_the_same_place():
    talk = Talk(PLAIN)
    encode = talk.tokenizer.encode
    talk.turn(FIRST, "yes\n\nno", completion=[*encode("yes\n"), *encode("\nno")])
    explained = talk.why([*FIRST, said("yes\nno"), user("And now?")])
    assert explained.cause is Cause.HISTORY_EDITED


def test_re_tokenised_where_a_warm_up_ends_and_the_next_message_joins_its_end_in_one_token():
    talk = Talk(PLAIN.replace("{{ m.content }}", "\n{{ m.content | trim }}\n"))
    talk.turn(FIRST, REPLY)
    talk.donate(talk.turns[0].key, warmup_target(talk.tokenizer, FIRST, REPLY))
    explained = talk.why([*FIRST, said(REPLY), user("")])
    assert explained.cause is Cause.RETOKENISED
    assert explained.evidence.stored_len - explained.evidence.common_len == 1
    assert (explained.evidence.message, explained.evidence.role) == (3, "user")


def test_re_rendered_reply():
    explained = _two_turns(TRIMMING, "yes \n")
    assert explained.cause is Cause.RERENDERED
    assert explained.evidence.message == 2


def test_twin_of_re_rendered_the_client_changed_the_reply():
    explained = _two_turns(TRIMMING, "yes \n", said("yet"))
    assert explained.cause is Cause.HISTORY_EDITED
    assert explained.evidence.details == {"edit": "reply changed"}


@pytest.mark.parametrize(
    ("change", "message", "edit"),
    [
        (lambda m: [*m[:2], said("yes, it was"), *m[3:]], 2, "message changed"),
        (lambda m: [*m[:2], *m[4:]], 2, "messages dropped"),
        (lambda m: [*m[:2], said("Hm."), *m[2:]], 2, "messages inserted"),
        (lambda m: [m[0], user("Is it shut?"), *m[2:]], 1, "message changed"),
    ],
)
def test_history_edited_at_a_message(change, message, edit):
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    talk.turn(NEXT, "no")
    explained = talk.why([*change([*NEXT]), said("no"), user("So?")])
    assert explained.cause is Cause.HISTORY_EDITED
    assert explained.evidence.message == message
    assert explained.evidence.details == {"edit": edit}


def test_history_edited_by_dropping_the_reply():
    explained = _two_turns(PLAIN, sent_back=user("No answer?"))
    assert explained.cause is Cause.HISTORY_EDITED
    assert explained.evidence.details == {"edit": "reply dropped"}


def test_twin_of_history_edited_an_edit_behind_the_stored_vector_hits():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    outcome, _ = talk.ask([*NEXT[:3], user("Something else?")])
    assert isinstance(outcome, Hit)


@pytest.mark.parametrize("rule", ["off", "session", "origin"])
@pytest.mark.parametrize(("template", "boundary"), [(PLAIN, False), (PLAIN, True), (SCAFFOLD, True)])
def test_history_edited_in_a_long_conversation_which_has_superseded_what_was_before_the_edit(
    template, boundary, rule
):
    talk = Talk(template, boundary=boundary, supersede=rule)
    edited = [*talk.hold(4), user("And now?")]
    edited[4] = said("another answer")
    if rule == "off":
        assert isinstance(talk.ask(edited)[0], Hit)
        return
    explained = talk.why(edited)
    assert explained.cause is Cause.HISTORY_EDITED
    assert explained.evidence.message == 4
    kept = talk.turns[1].history_end if boundary else len(talk.turns[0].full)
    details = explained.evidence.details
    assert (details["edit"], details["superseded_tokens"]) == ("message changed", kept)


def test_another_conversation_under_the_same_session():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    explained = talk.why([SYSTEM, user("What is the time?")])
    assert explained.cause is Cause.OTHER_CONVERSATION
    assert explained.evidence.message == 1


def test_twin_of_another_conversation_the_first_message_edited_in_an_unchanged_talk():
    talk = Talk(PLAIN)
    talk.turn(NEXT, "no")
    explained = talk.why([SYSTEM, user("Was it open?"), *NEXT[2:], said("no"), user("So?")])
    assert explained.cause is Cause.HISTORY_EDITED


def test_system_prompt_changed():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    explained = talk.why([{"role": "system", "content": "Be brief."}, *NEXT[1:]])
    assert explained.cause is Cause.SYSTEM_CHANGED
    assert explained.evidence.message == 0
    assert explained.evidence.details["changes"] == "1 of 1"
    assert not explained.evidence.details["every_time"]


@pytest.mark.parametrize(("messages", "edit"), [(NEXT[1:], "dropped"), ([user("x"), *NEXT], "dropped")])
def test_system_prompt_dropped(messages, edit):
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    explained = talk.why(messages)
    assert explained.cause is Cause.SYSTEM_CHANGED
    assert explained.evidence.details == {"edit": edit}


def test_a_system_message_in_mid_conversation_that_the_template_moves_to_the_front():
    talk = Talk(FRONTED)
    talk.turn(FIRST, REPLY)
    explained = talk.why([*NEXT[:3], {"role": "system", "content": "Be brief."}, user("And now?")])
    assert explained.cause is Cause.SYSTEM_CHANGED
    assert explained.evidence.message == 3
    assert "moved to the front" in explained.evidence.details["edit"]


def test_twin_of_moved_to_the_front_a_template_that_leaves_it_in_place_hits():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    outcome, _ = talk.ask([*NEXT[:3], {"role": "system", "content": "Be brief."}, user("And now?")])
    assert isinstance(outcome, Hit)


def _stamped(stamp):
    return {"role": "system", "content": f"It is {stamp} now. " + SYSTEM["content"]}


def test_volatile_field_that_changes_every_time():
    talk = Talk(PLAIN)
    talk.turn([_stamped("10:31"), *FIRST[1:]], REPLY)
    talk.turn([_stamped("10:32"), *NEXT[1:]], "no")
    explained = talk.why([_stamped("10:33"), *NEXT[1:], said("no"), user("So?")])
    assert explained.cause is Cause.VOLATILE
    details = explained.evidence.details
    assert (details["was"], details["now"]) == ("10:32", "10:33")
    assert details["every_time"]
    assert details["changes"] == "2 of 2"
    assert explained.evidence.position == len(talk.tokenizer.encode("<|system|>It is 10:3"))


def test_volatile_field_seen_once_is_not_said_to_change_every_time():
    talk = Talk(PLAIN)
    talk.turn([_stamped("10:31"), *FIRST[1:]], REPLY)
    talk.turn([_stamped("10:31"), *NEXT[1:]], "no")
    explained = talk.why([_stamped("10:33"), *NEXT[1:], said("no"), user("So?")])
    assert explained.cause is Cause.VOLATILE
    assert not explained.evidence.details["every_time"]
    assert explained.evidence.details["changes"] == "1 of 2"


def test_twin_of_volatile_a_word_edited_once():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    other = {"role": "system", "content": SYSTEM["content"].replace("helpful", "cheerful")}
    assert talk.why([other, *NEXT[1:]]).cause is Cause.SYSTEM_CHANGED


def test_volatile_field_of_the_templates_own():
    talk = Talk("<|date|>{{ today() }}<|end|>" + PLAIN)
    today = {"is": "1 May"}
    talk.tokenizer.globals["today"] = lambda: today["is"]
    talk.turn(FIRST, REPLY)
    today["is"] = "2 May"
    explained = talk.why(NEXT)
    assert explained.cause is Cause.VOLATILE
    assert explained.evidence.details == {"written_by": "the template"}


def test_longer_than_the_request():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    explained = talk.why(FIRST)
    assert explained.cause is Cause.LONGER_THAN_REQUEST
    assert explained.evidence.details == {"tokens_too_long": len(REPLY)}


def test_longer_than_the_request_when_the_conversation_goes_back():
    talk = Talk(SCAFFOLD)
    talk.turn(FIRST, REPLY)
    talk.turn(NEXT, "no")
    explained = talk.why([*NEXT[:2]])
    assert explained.cause is Cause.LONGER_THAN_REQUEST


@pytest.mark.parametrize("rule", ["off", "session", "origin"])
@pytest.mark.parametrize("turns_kept", [1, 2])
def test_longer_than_the_request_when_a_long_conversation_goes_back(rule, turns_kept):
    talk = Talk(SCAFFOLD, boundary=True, supersede=rule)
    messages = talk.hold(4)[: 2 * turns_kept]
    if rule == "off":
        assert isinstance(talk.ask(messages)[0], Hit)
        return
    explained = talk.why(messages)
    assert explained.cause is Cause.LONGER_THAN_REQUEST
    assert explained.evidence.details["superseded_tokens"] == talk.turns[turns_kept - 1].history_end


def test_twin_of_longer_a_longer_vector_that_says_something_else():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    assert talk.why([SYSTEM, user("Is it shut?")]).cause is not Cause.LONGER_THAN_REQUEST
