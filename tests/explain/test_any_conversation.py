"""Whatever a client does to its conversation, a miss has a cause, and its evidence adds up."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab.explain import Cause, explain, what_ended
from mlxcel_lab.store import Hit, Journal

from ..toy_tokenizer import PLAIN, THINKING
from .talk import SYSTEM, Talk, said, user

TEMPLATES = (PLAIN, THINKING, PLAIN.replace("{{ m.content }}", "{{ m.content | trim }}"))
texts = st.text("ab \n<", min_size=1, max_size=6)
replies = st.one_of(texts, texts.map(lambda text: f"<think>{text}</think>{text}"))
edits = st.sampled_from(["keep", "drop", "double", "change", "front"])


def _edited(messages, edit, index):
    index %= len(messages)
    if edit == "drop" and len(messages) > 1:
        return messages[:index] + messages[index + 1 :]
    if edit == "double":
        return messages[: index + 1] + messages[index:]
    if edit == "change":
        return [*messages[:index], {**messages[index], "content": "zz"}, *messages[index + 1 :]]
    return [{"role": "system", "content": "Be brief."}, *messages] if edit == "front" else messages


@settings(max_examples=40, deadline=None)
@given(
    template=st.sampled_from(TEMPLATES),
    turns=st.lists(st.tuples(texts, replies, edits, st.integers(0, 9)), min_size=2, max_size=4),
    boundary=st.booleans(),
    capacity=st.sampled_from([10_000, 250, 120, 60]),
    rule=st.sampled_from(["off", "session", "origin", "learned"]),
    max_events=st.sampled_from([None, 4, 12]),
)
def test_every_miss_has_a_cause_and_its_evidence_adds_up(
    template, turns, boundary, capacity, rule, max_events
):
    store = {"snapshot_capacity_bytes": capacity, "supersede": rule, "journal": Journal(max_events)}
    talk = Talk(template, boundary=boundary, **store)
    messages, told_then = [SYSTEM], []
    for question, reply, edit, index in turns:
        messages = _edited([*messages, user(question)], edit, index)
        outcome, asked = talk.ask(messages)
        context = {
            "tokenizer": talk.tokenizer, "earlier": [*talk.turns], "journal": talk.store.journal,
            "seq": talk.store.journal.next_seq - 1,
        }  # fmt: skip
        told = what_ended(outcome, asked, **context)
        if not isinstance(outcome, Hit):
            assert told is not None
            assert explain(outcome, asked, **context) == told
        if told is not None:
            _assert_adds_up(told, asked)
        told_then.append((outcome, asked, context, told))
        talk.turn(messages, reply)
        messages = [*messages, said(reply)]
    for outcome, asked, context, told in told_then if max_events is None else ():
        assert what_ended(outcome, asked, **context) == told, "what came after changes nothing"


def _assert_adds_up(told, asked):
    seen = told.evidence
    assert told.cause is not Cause.UNKNOWN
    assert seen.requested_len == len(asked.prompt)
    assert 0 <= told.lost_tokens <= seen.requested_len
    if seen.position is not None:
        assert seen.position == seen.common_len <= min(seen.stored_len, seen.requested_len)
        stored = {p.index: p.token for p in seen.stored}
        requested = {p.index: p.token for p in seen.requested}
        assert all(stored[i] == requested[i] for i in stored.keys() & requested.keys() if i < seen.position)
        assert stored.get(seen.position) != requested.get(seen.position)
    if seen.message is not None:
        assert seen.message <= len(asked.messages)
