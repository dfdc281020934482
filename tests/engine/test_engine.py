"""The engine: turns reuse exactly what was forwarded, on every kind of state."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab import CacheKey, Origin, PromptCacheConfig, Snapshot, SnapshotStore
from mlxcel_lab.engine import Engine, load
from mlxcel_lab.engine.backend import mx
from mlxcel_lab.engine.reply import Reply
from mlxcel_lab.engine.worker import mlx_thread
from mlxcel_lab.store.types import Diverged, Hit, NoCandidate

FOX = [{"role": "user", "content": "Tell me a story about a fox and a lantern."}]
TRUNCATING = ("chunked", "dense", "sliding-window")  # short prompts: the window hasn't wrapped


def _engine(model, store=None, **config):
    settings = PromptCacheConfig(**{"min_prefix_tokens": 1, "boundary": False, **config})
    return Engine(model, store or SnapshotStore(settings))


def _next(messages, turn, text="And what comes next?"):
    return [*messages, {"role": "assistant", "content": turn.text}, {"role": "user", "content": text}]


def _claims(engine):
    return [entry.snapshot.tokens.tolist() for entry in engine.store.entries()]


class _Watched:
    """A model that notes what really is forwarded through it."""

    def __init__(self, model):
        self._model, self.forwarded = model, []

    def __call__(self, tokens, **options):
        self.forwarded += np.asarray(tokens)[0].tolist()
        return self._model(tokens, **options)

    def __getattr__(self, name):
        return getattr(self._model, name)


@pytest.fixture
def watched(lab, name):
    """A lab model's engine, and the list of tokens forwarded through it."""
    model = lab(name)
    watched = _Watched(model.model)
    engine = _engine(type(model)(name, watched, model.tokenizer, model.config, model.model_id))
    return engine, watched.forwarded


def test_the_second_turn_reuses_all_of_the_first(lab, name):
    engine = _engine(lab(name))
    first = engine.chat(FOX, "A", 8)
    second = engine.chat(_next(FOX, first), "A", 8)
    assert isinstance(first.outcome, NoCandidate)
    assert isinstance(second.outcome, Hit)
    assert second.cached_tokens == first.prompt_tokens + first.completion_tokens
    assert len(engine.store) == 1  # the chain collapsed
    engine.store.check_integrity()


@pytest.mark.parametrize(
    ("options", "finish"),
    [
        ({"max_tokens": 1}, "length"),
        ({"max_tokens": 9}, "length"),
        ({"reply": " a fox ran home"}, "stop"),
        ({"reply": " a fox ran home", "max_tokens": 2}, "length"),
        ({"reply": ""}, "stop"),
        ({"reply": " a fox ran home and slept well", "stop": " ran"}, "stop"),
    ],
    ids=["max_tokens 1", "max_tokens", "stop token", "script cut", "stop token at once", "stop string"],
)
def test_the_claimed_tokens_are_exactly_the_forwarded_ones(watched, options, finish):
    engine, forwarded = watched
    turn = engine.chat(FOX, "A", **options)
    assert turn.finish_reason == finish
    assert _claims(engine) == [forwarded] == [[*turn.prompt.tolist(), *turn.completion.tolist()]]
    forwarded_before = len(forwarded)
    second = engine.chat(_next(FOX, turn), "A", **options)
    reused = second.prompt[: second.cached_tokens].tolist()
    assert _claims(engine)[-1] == reused + forwarded[forwarded_before:]


def test_a_whole_prompt_hit_applies_no_token_twice(watched, name):
    engine, forwarded = watched
    first = engine.chat(FOX, "A", 1)
    # The same prompt again: what is stored is one token longer than it.
    again = engine.chat(FOX, "A", 1)
    if name in TRUNCATING:
        assert again.cached_tokens == again.prompt_tokens - 1
        assert again.outcome.truncated
    else:
        assert again.cached_tokens == 0  # nothing shorter is stored: cold
    assert _claims(engine)[-1] == [*again.prompt.tolist(), *again.completion.tolist()]
    assert again.completion.tolist() == first.completion.tolist()
    assert len(forwarded) == len(first.prompt) + 1 + len(again.prompt) + 1 - again.cached_tokens


def test_a_request_equal_to_a_stored_vector_leaves_one_token_to_forward(watched, name):
    engine, _ = watched
    stored = engine.chat(FOX, "A", 4)
    key = engine.key("A")
    claimed = np.concatenate([stored.prompt, stored.completion])
    engine.extend(
        key, claimed[:-2]
    )  # nothing stored is a prefix of this: it's shorter than the only snapshot
    assert len(engine.store) == 1
    exact = engine.store.lookup(key, claimed, lambda s, n: s.state.can_truncate(n), reserve=1)
    if name in TRUNCATING:
        assert (exact.cached_tokens, exact.truncated) == (len(claimed) - 1, True)
    else:
        assert isinstance(exact, Diverged)


def test_an_untrimmable_whole_prompt_hit_falls_back_to_the_next_shorter_snapshot(lab):
    engine = _engine(lab("gated-delta"), supersede="off")
    first = engine.chat(FOX, "A", 4)
    prompt = engine.chat(_next(FOX, first), "A", 4).prompt
    engine.extend(engine.key("A"), prompt)  # a snapshot of exactly the next request
    again = engine.chat(_next(FOX, first), "A", 4)
    assert again.cached_tokens == first.prompt_tokens + first.completion_tokens


def test_a_reply_after_a_restore_is_the_one_computed_with_the_same_split(lab, name):
    model = lab(name)
    restored = _engine(model)
    first = restored.chat(FOX, "A", 6)
    second = restored.chat(_next(FOX, first), "A", 12)
    assert second.cached_tokens

    def computed():
        from mlx_lm.generate import generate_step
        from mlx_lm.models.cache import make_prompt_cache

        cache = make_prompt_cache(model.model)
        model.model(mx.array(first.prompt[:-1])[None], cache=cache)
        for token in [first.prompt[-1], *first.completion]:
            model.model(mx.array([[int(token)]]), cache=cache)
        rest = mx.array(second.prompt[second.cached_tokens :])
        return [token for token, _ in generate_step(rest, model.model, max_tokens=12, prompt_cache=cache)]

    assert mlx_thread().run(computed) == second.completion.tolist()


def test_a_donated_snapshot_does_not_change_while_decoding_goes_on(lab, name):
    engine = _engine(lab(name), boundary=True)
    engine.chat([{"role": "system", "content": "You are a patient guide."}, *FOX], "A", 30)
    boundary = next(e.snapshot for e in engine.store.entries() if e.snapshot.origin == Origin.BOUNDARY)

    def state_of(tokens):
        from mlx_lm.models.cache import make_prompt_cache

        cache = make_prompt_cache(engine.model.model)
        engine.model.model(mx.array(tokens)[None], cache=cache)
        return cache

    def agree():
        fresh, held = state_of(boundary.tokens), boundary.state.restore()
        step = mx.array([[7]])
        one = engine.model.model(step, cache=fresh)
        other = engine.model.model(step, cache=held)
        return mx.array_equal(one.view(mx.uint32), other.view(mx.uint32)).item()

    assert mlx_thread().run(agree)


def test_two_models_with_the_same_tokens_see_nothing_of_each_other(lab, name):
    other = "dense" if name != "dense" else "mamba2"
    store = SnapshotStore(PromptCacheConfig(min_prefix_tokens=1, boundary=False))
    one, two = _engine(lab(name), store), _engine(lab(other), store)
    alone = _engine(lab(other)).chat(FOX, "A", 6)
    first = one.chat(FOX, "A", 6)
    second = two.chat(FOX, "A", 6)
    assert first.prompt.tolist() == second.prompt.tolist()
    assert isinstance(second.outcome, NoCandidate)
    assert second.completion.tolist() == alone.completion.tolist()
    assert len(store) == 2


def test_two_sessions_and_no_session_see_nothing_of_each_other(lab):
    engine = _engine(lab("dense"))
    engine.chat(FOX, "A", 4)
    assert engine.chat(FOX, "B", 4).cached_tokens == 0
    assert engine.chat(FOX, None, 4).cached_tokens == 0
    assert engine.chat(FOX, "A", 4).cached_tokens > 0


@pytest.mark.parametrize(
    "change", [{"tools": [{"type": "function", "function": {"name": "f"}}]}, {"template_kwargs": {"mode": 2}}]
)
def test_other_tools_or_template_arguments_are_another_bucket(lab, change):
    engine = _engine(lab("dense"))
    engine.chat(FOX, "A", 4)
    assert isinstance(engine.chat(FOX, "A", 4, **change).outcome, NoCandidate)


def _contents(store):
    return [
        (e.snapshot_id, e.key, e.snapshot.tokens.tolist(), e.snapshot.size_bytes) for e in store.entries()
    ]


def test_a_cancelled_turn_leaves_the_store_as_it_was(lab, name):
    engine = _engine(lab(name), boundary=True)
    first = engine.chat(FOX, "A", 4)
    before = _contents(engine.store)
    cancel = threading.Event()
    pieces = []
    turn = engine.chat(
        _next(FOX, first), "A", 40, on_token=lambda piece: (pieces.append(piece), cancel.set()), cancel=cancel
    )
    assert turn.finish_reason == "cancelled"
    assert 0 < turn.completion_tokens < 40
    assert turn.text == "".join(pieces)
    assert _contents(engine.store) == before
    engine.store.check_integrity()


@pytest.mark.parametrize("end", ["cancelled", "failed"])
def test_a_turn_given_up_keeps_every_snapshot_and_its_lookup_stands_as_the_journal_tells(lab, end):
    engine = _engine(lab("gated-delta"), boundary=True)
    first = {session: engine.chat(FOX, session, 4) for session in "ab"}
    before, counted = _contents(engine.store), engine.store.stats()
    cancel = threading.Event()
    if end == "cancelled":
        cancel.set()
        given_up = engine.chat(_next(FOX, first["a"]), "a", 4, cancel=cancel)
        assert (given_up.finish_reason, given_up.cached_tokens > 0) == ("cancelled", True)
    else:
        with pytest.raises(ZeroDivisionError):
            engine.chat(_next(FOX, first["a"]), "a", 4, on_token=lambda _: 1 // 0)
    assert sorted(_contents(engine.store)) == sorted(before)
    stats, journal = engine.store.stats(), engine.store.journal
    assert (stats.inserts, stats.lookups, stats.hits) == (counted.inserts, 3, 1)
    order = [entry.snapshot_id for entry in engine.store.entries()]
    assert order == [event.snapshot_id for event in journal.state_at(journal.next_seq - 1)]
    assert engine.store.entries()[-1].key.session == "a"  # it was used then
    for session in "ab":
        following = engine.chat(_next(FOX, first[session]), session, 4)
        assert following.cached_tokens == first[session].prompt_tokens + 4


def test_a_turn_cancelled_before_it_began_forwards_nothing(watched):
    engine, forwarded = watched
    cancel = threading.Event()
    cancel.set()
    turn = engine.chat(FOX, "A", 4, cancel=cancel)
    assert (turn.finish_reason, turn.completion_tokens, forwarded) == ("cancelled", 0, [])
    assert len(engine.store) == 0


def test_a_prefill_is_cancelled_between_its_chunks(lab):
    engine = Engine(lab("dense"), config=PromptCacheConfig(min_prefix_tokens=1), prefill_step=8)
    cancel = threading.Event()
    seen = []

    def progress(done, total):
        seen.append(done)
        cancel.set()

    turn = engine.chat(FOX, "A", 4, on_progress=progress, cancel=cancel)
    assert turn.finish_reason == "cancelled"
    assert max(seen) < turn.prompt_tokens - 1
    assert len(engine.store) == 0


def test_a_failed_turn_leaves_the_store_as_it_was_and_the_engine_goes_on(lab, name):
    engine = _engine(lab(name))
    first = engine.chat(FOX, "A", 4)
    before = _contents(engine.store)

    def broken(piece):
        raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="the screen is gone"):
        engine.chat(_next(FOX, first), "A", 40, on_token=broken)
    assert _contents(engine.store) == before
    assert engine.chat(_next(FOX, first), "A", 4).cached_tokens


def test_a_model_that_fails_mid_turn_leaves_the_store_as_it_was(lab):
    model = lab("gated-delta")

    class Failing(_Watched):
        def __call__(self, tokens, **options):
            if len(self.forwarded) > 40:
                raise RuntimeError("out of memory")
            return super().__call__(tokens, **options)

    engine = _engine(type(model)("failing", Failing(model.model), model.tokenizer, model.config, "failing"))
    with pytest.raises(RuntimeError, match="out of memory"):
        engine.chat(FOX, "A", 64)
    assert len(engine.store) == 0
    assert engine.store.stats().inserts == 0


def test_progress_counts_cached_tokens_and_ends_before_the_last_one(lab):
    engine = Engine(
        lab("dense"), config=PromptCacheConfig(min_prefix_tokens=1, boundary=False), prefill_step=8
    )
    first_seen, second_seen = [], []
    first = engine.chat(FOX, "A", 4, on_progress=lambda *at: first_seen.append(at))
    second = engine.chat(_next(FOX, first), "A", 4, on_progress=lambda *at: second_seen.append(at))
    for seen, turn in ((first_seen, first), (second_seen, second)):
        assert seen[0] == (turn.cached_tokens, turn.prompt_tokens)
        assert seen[-1] == (turn.prompt_tokens - 1, turn.prompt_tokens)
        steps = np.diff([done for done, _ in seen])
        assert set(steps.tolist()) <= set(range(1, 9))


def test_a_stream_gives_the_text_in_pieces_and_then_the_turn(lab, name):
    stream = _engine(lab(name)).stream(FOX, "A", 12, temperature=1.0, seed=3)
    pieces = list(stream)
    assert len(pieces) > 3
    assert "".join(pieces) == stream.turn.text
    tokenizer = lab(name).tokenizer
    assert tokenizer.encode(stream.turn.text, add_special_tokens=False) == [
        token for token in stream.turn.completion.tolist() if token not in tokenizer.eos_token_ids
    ]


def test_leaving_a_stream_early_cancels_its_turn(lab):
    engine = _engine(lab("dense"))
    stream = engine.stream(FOX, "A", 64)
    next(stream)
    stream.close()
    assert stream.turn.finish_reason == "cancelled"
    assert len(engine.store) == 0


@pytest.mark.parametrize(
    ("text", "stop", "said"),
    [
        (" one two three four", " three", " one two"),
        (" one two three four", [" four", " two"], " one"),
        (" one two three four", "two thr", " one "),
        (" one two", " never", " one two"),
        (" one two", " one", ""),
        (" Observation: five", " Observation:", ""),  # longer than any text before it
    ],
)
def test_a_stop_string_ends_the_text_before_it_and_is_never_shown(lab, text, stop, said):
    stream = _engine(lab("dense")).stream(FOX, reply=text, stop=stop)
    assert "".join(stream) == said == stream.turn.text
    assert stream.turn.finish_reason == "stop"


@settings(max_examples=200)
@given(
    data=st.data(), words=st.lists(st.sampled_from([" fox", " ran", " a", "ab", "\n", "é", "é!"]), max_size=8)
)
def test_no_stop_string_shows_nor_begins_to(lab, data, words):
    tokenizer, text = lab("dense").tokenizer, "".join(words)
    cuts = st.tuples(st.integers(0, len(text)), st.integers(1, 12)).map(lambda cut: text[cut[0] :][: cut[1]])
    stop = data.draw(st.lists(st.one_of(cuts, st.sampled_from(["x fox", "!?"])).filter(bool), max_size=3))
    ids = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
    reply, pieces = Reply(tokenizer, len(ids), stop), []
    for token in ids:
        pieces.append(reply.add(token))
        if reply.finish_reason:
            break
    assert "".join(pieces) == reply.text
    assert text.startswith(reply.text)
    assert not any(one in reply.text for one in stop)
    if not any(one in text for one in stop):
        assert reply.text == text
    else:  # it ended just before a stop string, of which nothing was told
        assert any(text.startswith(one, len(reply.text)) for one in stop)


def test_what_is_held_back_for_a_stop_string_is_told_when_the_reply_ends_otherwise(lab):
    tokenizer = lab("dense").tokenizer
    ids = tokenizer.encode(" a fox ran", add_special_tokens=False)
    for end in ("length", "cancelled"):
        reply = Reply(tokenizer, len(ids) + (end == "cancelled"), [" a fox ran home and slept"])
        pieces = [*map(reply.add, ids), reply.cut_off()]
        assert ("".join(pieces), reply.text, reply.finish_reason) == (" a fox ran", " a fox ran", end)


def test_a_given_reply_is_forwarded_by_the_real_model(lab, name):
    turn = _engine(lab(name)).chat(FOX, reply=" the tide turned at noon")
    assert turn.text == " the tide turned at noon"
    assert turn.completion.tolist()[-1] in lab(name).tokenizer.eos_token_ids
    exact = _engine(lab(name)).chat(FOX, reply=[300, 301, 302])
    assert (exact.completion.tolist(), exact.finish_reason) == ([300, 301, 302], "length")


def test_the_same_seed_gives_the_same_reply(lab):
    engine = _engine(lab("dense"))
    replies = [engine.chat(FOX, str(i), 12, temperature=1.0, seed=i // 2).text for i in range(4)]
    assert replies[0] == replies[1] != replies[2] == replies[3]


def test_a_turn_is_in_the_journal_as_plain_figures(lab):
    engine = _engine(lab("dense"))
    turn = engine.chat(FOX, "A", 4)
    (note,) = (event for event in engine.store.journal if getattr(event, "topic", "") == "turn")
    assert note.data["session"] == "A"
    assert note.data["prompt_tokens"] == turn.prompt_tokens
    assert note.data["outcome"] == "no_candidate"
    assert note.data["message"] == FOX[0]
    assert note.data["inserted"] == [engine.store.entries()[0].snapshot_id]
    assert note.data["text"] == turn.text


def test_a_turn_shows_itself_in_a_line_and_in_a_table(lab):
    turn = _engine(lab("dense")).chat(FOX, "<b>", 4)
    assert "\n" not in repr(turn)
    assert "0 of" in repr(turn)
    assert "&lt;b&gt;" in turn._repr_html_()


def test_refused_snapshots_are_counted_with_their_reason(lab):
    for config, reason in (
        ({"enabled": False}, "disabled"),
        ({"min_prefix_tokens": 500}, "prefix_too_short"),
        ({"snapshot_capacity_bytes": 10}, "oversized"),
    ):
        engine = _engine(lab("dense"), **config)
        engine.chat(FOX, "A", 4)
        assert len(engine.store) == 0
        assert {name: n for name, n in engine.store.stats().rejections.items() if n} == {reason: 1}
    (rejected,) = (event for event in engine.store.journal if type(event).__name__ == "Rejected")
    assert rejected.size_bytes > 10


def test_an_extension_donates_a_boundary_from_the_nearest_ancestor_and_counts_no_lookup(watched):
    engine, forwarded = watched
    turn = engine.chat(FOX, "A", 4)
    done, lookups = len(forwarded), engine.store.stats().lookups
    claimed = [*turn.prompt.tolist(), *turn.completion.tolist()]
    target = np.array([*claimed, 500, 501, 502], dtype=np.int32)
    result = engine.extend(engine.key("A"), target)
    assert result.resident
    assert forwarded[done:] == [500, 501, 502]
    assert engine.store.stats().lookups == lookups
    assert [e.snapshot.origin for e in engine.store.entries()] == [Origin.COMPLETION, Origin.BOUNDARY]
    assert engine.extend(engine.key("B"), target) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"max_tokens": True}, "max_tokens=True"),
        ({"max_tokens": 2.5}, "max_tokens=2.5"),
        ({"temperature": -1}, "temperature=-1"),
        ({"temperature": "hot"}, "temperature='hot'"),
        ({"temperature": True}, "temperature=True"),
        ({"top_p": 0}, "top_p=0"),
        ({"top_p": None}, "top_p=None"),
        ({"seed": "a"}, "seed='a'"),
        ({"seed": 1.5}, "seed=1.5"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 2**64}, "seed=18446744073709551616"),
        ({"seed": True}, "seed=True"),
        ({"stop": ""}, "stop="),
        ({"reply": []}, "reply is empty"),
        ({"reply": [3, -5]}, "reply: token -5 is outside of the vocabulary of 1584 tokens"),
        ({"reply": [3, 1.7]}, "reply: token 1.7 at position 1: expected"),
        ({"reply": [True]}, "reply: token True at position 0: expected"),
        ({"reply": 5}, "reply: tokens are int: expected"),
        ({"reply": [3, 1584]}, "reply: token 1584 is outside of the vocabulary of 1584 tokens"),
        ({"reply": [2**40]}, "reply: token 1099511627776 is outside of int32"),
        ({"messages": []}, "messages is empty"),
        ({"messages": [{"role": "assistant", "tool_calls": ["a"]}]}, "message 0 has the tool call 'a'"),
    ],
)
def test_bad_arguments_are_refused_before_anything_happens(lab, options, message):
    engine = _engine(lab("dense"))
    events = len(engine.store.journal)
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        engine.chat(**{"messages": FOX, "session": "A", **options})
    assert engine.store.stats().lookups == 0
    assert len(engine.store.journal) == events


def test_a_bad_request_drops_no_warm_up(lab):
    engine = _engine(lab("dense"))
    engine.chat(FOX, "A", 2)
    for bad in ({"reply": [1584]}, {"seed": "a"}):
        with pytest.raises(ValueError, match=r"expected|outside"):
            engine.chat(FOX, "A", **bad)
    assert engine.warm_up_idle().skipped == {}


@pytest.mark.parametrize(
    ("more", "message"),
    [([1584], "token 1584 is outside"), ([5, -1], "token -1 is outside"), ([1.5], "token 1.5 at position")],
)
def test_an_extension_by_what_is_no_token_is_refused_before_it_is_forwarded(watched, more, message):
    engine, forwarded = watched
    turn = engine.chat(FOX, "A", 2)
    before, done = _contents(engine.store), len(forwarded)
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        engine.extend(engine.key("A"), [*turn.prompt.tolist(), *turn.completion.tolist(), *more])
    assert (_contents(engine.store), len(forwarded)) == (before, done)


@pytest.mark.parametrize("ids", [(5, 6), [np.int64(5), 6], np.array([5, 6]), range(5, 7)])
def test_any_row_of_whole_numbers_can_be_a_reply(lab, ids):
    turn = _engine(lab("dense")).chat(FOX, reply=ids, seed=np.int64(3))
    assert turn.completion.tolist() == [5, 6]
    assert turn.request.reply == (5, 6)


def test_a_turn_on_the_mlx_thread_itself_is_refused_instead_of_waiting_for_ever(lab):
    engine = _engine(lab("dense"))
    for ask in (engine.chat, engine.stream):
        with pytest.raises(RuntimeError, match="on the MLX thread"):
            mlx_thread().submit(lambda ask=ask: ask(FOX)).result(30)
    assert engine.chat(FOX, max_tokens=1).finish_reason == "length"


def test_conversations_from_many_threads_get_the_replies_they_would_get_alone(lab, name):
    def converse(engine, session):
        messages, said = [{"role": "user", "content": f"I am {session}. Tell me a story."}], []
        for _ in range(3):
            turn = engine.chat(messages, session, 5)
            said.append((turn.cached_tokens, turn.text))
            messages = _next(messages, turn)
        return said

    sessions = ["Anna", "Ben", "Cleo", "Dan"]
    shared = _engine(lab(name))
    with ThreadPoolExecutor(len(sessions)) as pool:
        together = list(pool.map(lambda session: converse(shared, session), sessions))
    assert together == [converse(_engine(lab(name)), session) for session in sessions]
    shared.store.check_integrity()
    assert len(shared.store) == len(sessions)


def test_a_hit_without_a_state_is_an_error_and_never_a_claim(lab):
    engine = _engine(lab("dense"))
    prompt = engine.chat(FOX, "A", 1).prompt
    engine.store.clear()
    engine.store.insert(engine.key("A"), Snapshot(prompt[:-1], 10))
    with pytest.raises(ValueError, match="holds None, not a captured state"):
        engine.chat(FOX, "A", 1)
    assert engine.extend(engine.key("A"), prompt) is None


def test_an_unknown_option_is_refused(lab):
    with pytest.raises(TypeError, match="temprature"):
        _engine(lab("dense")).chat(FOX, temprature=1)


def test_a_store_and_a_config_together_are_refused(lab):
    with pytest.raises(ValueError, match="either a store or a config"):
        Engine(lab("dense"), SnapshotStore(), PromptCacheConfig())


def test_closing_gives_up_the_states(lab):
    engine = _engine(lab("dense"))
    engine.chat(FOX, "A", 4)
    engine.close()
    assert len(engine.store) == 0


def test_the_key_names_model_template_and_session(lab):
    key = _engine(lab("dense")).key("A")
    assert isinstance(key, CacheKey)
    assert (key.bucket.model_id, key.session) == ("lab/dense", "A")
    assert key.bucket.template_sig.startswith("template=")
    assert load("dense", template="{{ messages }}").tokenizer.chat_template == "{{ messages }}"
