"""Every cause of a miss: a conversation that has it, and a near-twin that mustn't be called it."""

import pytest

from mlxcel_lab.engine.chat import warmup_target
from mlxcel_lab.explain import MEANINGS, Cause, explain, what_ended
from mlxcel_lab.store import Hit, Journal, Origin, RejectReason, SupersedeRule
from mlxcel_lab.store.events import Inserted

from ..toy_tokenizer import PLAIN, THINKING
from .talk import SYSTEM, Talk, said, user

TOOL = {"type": "function", "function": {"name": "find", "parameters": {}}}
FIRST = [SYSTEM, user("Is it open?")]
REPLY = "yes, it is"
NEXT = [*FIRST, said(REPLY), user("And now?")]
# A generation prompt of two tokens that the history has otherwise.
SCAFFOLD = PLAIN.replace("<|assistant|>{% endif %}", "<|assistant|><|live|>{% endif %}")
TRIMMING = PLAIN.replace("{{ m.content }}", "{{ m.content | trim }}")
FRONTED = (
    "{% for m in messages if m.role == 'system' %}<|system|>{{ m.content }}<|end|>{% endfor %}"
    "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


class _NoCompletions(SupersedeRule):
    name = "no completions"

    def admits(self, key, newcomer):
        return newcomer.origin is not Origin.COMPLETION


DECLINING = _NoCompletions()
NEVER_DONATED = pytest.mark.parametrize(
    "settings",
    [{"min_prefix_tokens": 100}, {"snapshot_capacity_bytes": 60}, {"enabled": False}, {"rule": DECLINING}],
    ids=lambda settings: next(iter(settings)),
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
    assert details["superseded_by_snapshot"] in [entry.snapshot_id for entry in _ever(talk)]


def _ever(talk):
    return [event for event in talk.store.journal if isinstance(event, Inserted)]


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


@pytest.mark.parametrize(
    ("settings", "cause", "missing"),
    [
        ({"min_prefix_tokens": 100}, Cause.TOO_SHORT, lambda turn: {"tokens_short": 100 - len(turn.full)}),
        ({"snapshot_capacity_bytes": 60}, Cause.OVERSIZED, lambda turn: {"bytes_short": 40}),
        ({"enabled": False}, Cause.DISABLED, lambda turn: {}),
        ({"rule": DECLINING}, Cause.DECLINED, lambda turn: {}),
    ],
)
def test_never_donated(settings, cause, missing):
    talk = Talk(PLAIN, **settings)
    talk.turn(FIRST, REPLY)
    explained = talk.why(NEXT)
    assert explained.cause is cause
    assert missing(talk.turns[0]).items() <= explained.evidence.details.items()
    assert explained.lost_tokens == len(talk.turns[0].full)


@NEVER_DONATED
def test_twin_of_never_donated_a_first_request_under_the_same_settings(settings):
    talk = Talk(PLAIN, **settings)
    talk.turn(FIRST, REPLY, session="other")
    assert talk.why(FIRST).cause is Cause.FIRST_REQUEST


@NEVER_DONATED
@pytest.mark.parametrize(
    ("template", "asks", "cause"),
    [
        (SCAFFOLD, NEXT, Cause.GENERATION_PROMPT),
        (PLAIN, [SYSTEM, user("What is the time?")], Cause.OTHER_CONVERSATION),
        (PLAIN, FIRST, Cause.LONGER_THAN_REQUEST),
    ],
)
def test_twin_of_never_donated_a_state_that_would_not_have_served_anyway(settings, template, asks, cause):
    talk = Talk(template, **settings)
    talk.turn(FIRST, REPLY)
    explained = talk.why(asks)
    assert explained.cause is cause
    assert explained.evidence.details["never_donated"] in [reason.value for reason in RejectReason]


def test_twin_of_too_short_a_state_below_the_minimum_beside_one_that_was_stored():
    """The boundary would be a prefix, but one that no lookup may use: it is the stored completion that fails."""
    lengths = Talk(SCAFFOLD)
    lengths.turn(FIRST, REPLY)
    talk = Talk(SCAFFOLD, boundary=True, min_prefix_tokens=lengths.turns[0].history_end + 1)
    talk.turn(FIRST, REPLY)
    assert talk.store.stats().rejections[RejectReason.PREFIX_TOO_SHORT] == 1
    assert talk.why(NEXT).cause is Cause.GENERATION_PROMPT


def test_twin_of_declined_the_rule_admits_the_boundary_that_serves():
    talk = Talk(PLAIN, boundary=True, rule=DECLINING)
    talk.turn(FIRST, REPLY)
    assert isinstance(talk.ask(NEXT)[0], Hit)


def test_evicted_says_by_whom_how_long_ago_and_how_much_was_missing():
    talk = Talk(PLAIN, snapshot_capacity_bytes=250)
    talk.turn(FIRST, REPLY)
    for session in ("b", "c", "d"):
        talk.turn(FIRST, REPLY, session=session)
    explained = talk.why(NEXT)
    assert explained.cause is Cause.EVICTED
    details = explained.evidence.details
    assert details["by_session"] == "c"
    assert details["inserts_ago"] == 2
    assert details["bytes_short"] == 150
    assert explained.lost_tokens == len(talk.turns[0].full)


def test_the_bytes_that_an_eviction_was_short_of_are_enough_and_no_more():
    for extra, hits in ((149, False), (150, True)):
        talk = Talk(PLAIN, snapshot_capacity_bytes=250 + extra)
        for session in ("s", "b", "c", "d"):
            talk.turn(FIRST, REPLY, session=session)
        assert isinstance(talk.ask(NEXT)[0], Hit) is hits


def test_evicted_for_the_number_of_entries_counts_entries():
    talk = Talk(PLAIN, snapshot_max_entries=2)
    for session in ("s", "b", "c"):
        talk.turn(FIRST, REPLY, session=session)
    details = talk.why(NEXT).evidence.details
    assert details["entries_short"] == 1
    assert "bytes_short" not in details


@pytest.mark.parametrize("max_events", range(1, 16))
def test_a_journal_that_has_dropped_events_claims_no_more_than_it_knows(max_events):
    talk = Talk(PLAIN, snapshot_capacity_bytes=250, journal=Journal(max_events))
    for session in ("s", "b", "c", "d"):
        talk.turn(FIRST, REPLY, session=session)
    explained = talk.why(NEXT)
    details = explained.evidence.details
    assert explained.cause is Cause.EVICTED
    if max_events <= 4:  # the eviction itself is no longer there
        assert "bytes_short" not in details
        assert "inserts_ago" not in details
        assert 0 < details["bytes_short_at_least"] <= 150
    else:
        assert (details["bytes_short"], details["inserts_ago"], details["by_session"]) == (150, 2, "c")


def _evict(talk):
    talk.turn(FIRST, REPLY, session="other")


def _expire(talk):
    talk.seconds = 10.0


def _clear(talk):
    talk.store.clear()


@pytest.mark.parametrize("rule", ["off", "session", "origin"])
@pytest.mark.parametrize(
    ("remove", "cause"),
    [(_evict, Cause.EVICTED), (_expire, Cause.EXPIRED), (_clear, Cause.CLEARED)],
    ids=["evicted", "expired", "cleared"],
)
def test_twin_of_removed_one_that_the_conversation_itself_would_have_superseded_since(remove, cause, rule):
    talk = Talk(PLAIN, snapshot_max_entries=1, snapshot_ttl_seconds=10, supersede=rule)
    talk.turn(FIRST, REPLY)
    remove(talk)
    talk.turn(NEXT, "no")
    explained = talk.why([*NEXT, said("maybe"), user("So?")])
    assert explained.cause is (cause if rule == "off" else Cause.HISTORY_EDITED)
    gone = explained.evidence.details["tokens" if rule == "off" else f"{cause}_tokens"]
    assert gone == len(talk.turns[0].full)


def test_twin_of_evicted_a_snapshot_that_would_not_have_served_anyway():
    talk = Talk(SCAFFOLD, snapshot_max_entries=1)
    talk.turn(FIRST, REPLY)
    talk.turn(FIRST, REPLY, session="b")
    assert talk.why(NEXT).cause is Cause.GENERATION_PROMPT


def test_expired():
    talk = Talk(PLAIN, snapshot_ttl_seconds=10)
    talk.turn(FIRST, REPLY)
    talk.seconds = 10.0
    explained = talk.why(NEXT)
    assert explained.cause is Cause.EXPIRED
    talk.seconds = 25.0
    assert talk.why(NEXT).evidence.details["gone_for_seconds"] == 15.0


def test_twin_of_expired_just_in_time():
    talk = Talk(PLAIN, snapshot_ttl_seconds=10)
    talk.turn(FIRST, REPLY)
    talk.seconds = 9.5
    assert isinstance(talk.ask(NEXT)[0], Hit)


def test_superseded_says_which_snapshot_took_its_place_and_why_that_fails():
    talk = Talk(SCAFFOLD, boundary=True, supersede="session")
    talk.turn(FIRST, REPLY)
    explained = talk.why(NEXT)
    assert explained.cause is Cause.SUPERSEDED
    details = explained.evidence.details
    assert (details["origin"], details["by_origin"], details["by_session"]) == ("boundary", "completion", "s")
    assert details["successor_fails_by"] == "generation_prompt"


def test_twin_of_superseded_per_origin_the_boundary_is_still_there():
    talk = Talk(SCAFFOLD, boundary=True, supersede="origin")
    talk.turn(FIRST, REPLY)
    assert isinstance(talk.ask(NEXT)[0], Hit)


def test_twin_of_superseded_where_people_go_back_any_rule_that_supersedes_has_lost_it():
    """Only what `origin` would have kept, and `session` didn't, is the rule's fault."""
    talk = Talk(SCAFFOLD, boundary=True, supersede="session")
    messages = talk.hold(3)
    assert talk.why([*messages[:-1], said("another answer"), user("So?")]).cause is Cause.SUPERSEDED
    assert talk.why([*messages[:4], said("another answer"), user("So?")]).cause is Cause.HISTORY_EDITED


def test_superseded_by_a_snapshot_that_the_journal_does_not_know_is_not_blamed_on_the_rule():
    talk = Talk(SCAFFOLD, boundary=True, supersede="session")
    talk.turn(FIRST, REPLY)
    outcome, asked = talk.ask(NEXT)
    explained = explain(outcome, asked, tokenizer=talk.tokenizer, earlier=talk.turns)
    assert explained.cause is Cause.GENERATION_PROMPT
    assert explained.evidence.details["superseded_tokens"] == talk.turns[0].history_end


def test_cleared():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY)
    talk.store.clear()
    assert talk.why(NEXT).cause is Cause.CLEARED


def test_twin_of_cleared_a_store_cleared_before_the_conversation_began():
    talk = Talk(PLAIN)
    talk.turn(FIRST, REPLY, session="other")
    talk.store.clear()
    assert talk.why(FIRST).cause is Cause.FIRST_REQUEST


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


def test_without_the_earlier_messages_only_what_tokens_show_is_claimed():
    talk = Talk(SCAFFOLD)
    talk.turn(FIRST, REPLY)
    outcome, asked = talk.ask(NEXT)
    explained = explain(outcome, asked, tokenizer=talk.tokenizer)
    assert explained.cause is Cause.UNKNOWN
    assert "earlier=" in explained.advice


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
