"""What an explanation takes from the journal: what was there before the lookup, and nothing that came later."""

import pytest

from mlxcel_lab.explain import Cause, explain, lookup_seq
from mlxcel_lab.store import Journal

from ..toy_tokenizer import PLAIN
from .talk import FIRST, NEXT, REPLY, SYSTEM, Talk, user


def _asked(talk, messages, **more):
    """A lookup, and a way to explain it at any later time."""
    outcome, asked = talk.ask(messages, **more)
    earlier, seq = [*talk.turns], talk.store.journal.next_seq - 1

    def cause(seq=seq):
        told = explain(
            outcome, asked, tokenizer=talk.tokenizer, earlier=earlier, journal=talk.store.journal, seq=seq
        )
        return told.cause

    return cause


@pytest.mark.parametrize("given", [{}, {"seq": None}], ids=["by its seq", "by what it asked and got"])
def test_a_request_that_came_twice_is_explained_each_time_by_what_was_there_then(given):
    talk = Talk(PLAIN)
    first = _asked(talk, FIRST)
    talk.turn(FIRST, REPLY)
    again = _asked(talk, FIRST)
    assert (first(**given), again(**given)) == (Cause.FIRST_REQUEST, Cause.LONGER_THAN_REQUEST)


def test_two_lookups_that_ended_alike_are_told_apart_by_their_seq():
    talk = Talk(PLAIN)
    before = _asked(talk, NEXT, session="b")
    talk.turn(FIRST, REPLY, session="a")
    after = _asked(talk, NEXT, session="b")
    assert (before(), after()) == (Cause.FIRST_REQUEST, Cause.ANOTHER_SESSION)


def test_another_request_of_the_same_length_is_not_taken_for_the_one_that_is_asked_about():
    talk = Talk(PLAIN)
    cause = _asked(talk, FIRST, session="b")
    talk.turn([SYSTEM, user("Is it shut?")], REPLY, session="b")
    assert cause(seq=None) is Cause.FIRST_REQUEST


def test_of_a_lookup_that_the_journal_has_dropped_nothing_is_claimed_from_it():
    talk = Talk(PLAIN, journal=Journal(max_events=3))
    cause = _asked(talk, NEXT, session="b")
    talk.turn(FIRST, REPLY, session="a")
    talk.turn(FIRST, REPLY, session="c")
    assert talk.store.journal.first_seq > 1
    assert cause() is cause(seq=None) is Cause.FIRST_REQUEST


@pytest.mark.parametrize(("seq", "said_instead"), [(0, "Note"), (99, "ends at 1"), (-1, "ends at 1")])
def test_a_seq_that_is_no_lookups_is_refused(seq, said_instead):
    cause = _asked(Talk(PLAIN), FIRST)
    with pytest.raises(ValueError, match=f"seq={seq}: expected a lookup's.*{said_instead}"):
        cause(seq=seq)


def test_a_turns_lookup_is_found_among_its_events():
    talk = Talk(PLAIN, snapshot_ttl_seconds=10)
    talk.turn(FIRST, REPLY)
    talk.seconds, started = 20.0, talk.store.journal.next_seq
    talk.turn(NEXT, "no")
    events = talk.store.journal.since(started - 1)
    assert type(events[0]).__name__ == "Removed"
    assert lookup_seq(events) == started + 1
    assert lookup_seq([]) is None
