"""Causes of a miss that a snapshot would have served if it were there, each with a near-twin."""

import pytest

from mlxcel_lab.explain import Cause, explain
from mlxcel_lab.store import Hit, Journal, Origin, RejectReason, SupersedeRule

from ..toy_tokenizer import PLAIN
from .talk import FIRST, NEXT, REPLY, SCAFFOLD, SYSTEM, Talk, said, user


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
