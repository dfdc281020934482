"""Chat over real HTTP with the real OpenAI client: turns, streams, sessions, refusals."""

import json
import threading
from http.client import HTTPConnection

import openai
import pytest

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.engine import Engine, load
from mlxcel_lab.store import Journal, LookedUp, SnapshotStore

from .conftest import MODEL, SYSTEM, make_engine

HELLO = [SYSTEM, {"role": "user", "content": "Which path is the quietest in spring?"}]


def _next(messages, reply, text="And in autumn?"):
    return [*messages, {"role": "assistant", "content": reply}, {"role": "user", "content": text}]


def _cached(reply):
    return reply.usage.prompt_tokens_details.cached_tokens


def test_a_second_turn_reuses_the_first_and_says_how_much(served):
    first = served.chat(HELLO, user="a")
    assert _cached(first) == 0
    second = served.chat(_next(HELLO, first.choices[0].message.content), user="a")
    assert _cached(second) >= first.usage.prompt_tokens - 8
    assert second.usage.total_tokens == second.usage.prompt_tokens + second.usage.completion_tokens


def test_a_conversation_collapses_to_one_snapshot_an_origin_and_two_coexist(served):
    """The two measurements that pull request 1151 could not make over HTTP."""
    talks = {"a": HELLO, "b": [SYSTEM, {"role": "user", "content": "What grows near the old bridge?"}]}
    for turn in range(3):
        for user, messages in talks.items():
            reply = served.chat(messages, user=user)
            assert (_cached(reply) > 0) == (turn > 0)
            talks[user] = _next(messages, reply.choices[0].message.content)
        entries = served.http.get("/v1/cache/entries").json()["entries"]
        assert sorted((e["session"], e["origin"]) for e in entries) == [
            ("a", "boundary"), ("a", "completion"), ("b", "boundary"), ("b", "completion"),
        ]  # fmt: skip
    assert served.stats["snapshot_supersedes"] == 8
    assert served.stats["snapshot_evictions_lru"] == 0
    assert sorted(len(e["lineage"]) for e in entries) == [2, 2, 2, 2]


def test_sessions_share_nothing_and_the_anonymous_ones_share_one(served):
    served.chat(HELLO, user="a")
    assert _cached(served.chat(HELLO, user="b")) == 0
    assert _cached(served.chat(HELLO)) == 0
    assert _cached(served.chat(HELLO)) > 0
    assert _cached(served.chat(HELLO, prompt_cache_key="a", user="z")) > 0
    assert {e["session"] for e in served.http.get("/v1/cache/entries").json()["entries"]} == {
        "a", "b", "__mlxcel_anon__",
    }  # fmt: skip


def test_a_stream_says_what_the_whole_reply_says(served):
    whole = served.chat(HELLO, user="a").choices[0].message.content
    with served.chat(HELLO, user="b", stream=True, stream_options={"include_usage": True}) as stream:
        chunks = list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == whole
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "length"
    assert chunks[-1].usage.completion_tokens == 6


def test_a_stream_cut_in_the_middle_stops_its_turn_and_stores_nothing_of_it(served):
    with served.chat(HELLO, user="a", stream=True, max_tokens=4000) as stream:
        for _ in zip(range(3), stream, strict=False):
            pass
    after = served.chat(HELLO, user="b")  # queued behind the cut one: it is answered, so that one ended
    assert after.usage.completion_tokens == 6
    assert {e["session"] for e in served.http.get("/v1/cache/entries").json()["entries"]} == {"b"}


class Overheard(Journal):
    """A journal that says when a turn has looked its prompt up, which is when it begins."""

    def __init__(self):
        super().__init__()
        self.looked_up = threading.Event()

    def append(self, kind, /, **fields):
        event = super().append(kind, **fields)
        if kind is LookedUp:
            self.looked_up.set()
        return event


def test_a_client_that_goes_away_before_its_whole_reply_stops_its_turn(serve):
    store = SnapshotStore(PromptCacheConfig(warmup=False), journal=Overheard())
    served = serve(Engine(load(MODEL), store))
    body = {"model": MODEL, "messages": HELLO, "user": "a", "max_tokens": 4000}
    client = HTTPConnection(served.http.base_url.host, served.http.base_url.port)
    client.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    assert store.journal.looked_up.wait(60)
    client.close()
    assert served.chat(HELLO, user="b").choices  # queued behind it: 4,000 tokens would take minutes
    assert {e["session"] for e in served.http.get("/v1/cache/entries").json()["entries"]} == {"b"}


def test_a_seed_repeats_a_sampled_reply(served):
    replies = [
        served.chat(HELLO, user=str(seed), temperature=1.0, top_p=0.9, seed=seed).choices[0].message.content
        for seed in (1, 1, 2)
    ]
    assert replies[0] == replies[1] != replies[2]


def test_a_stop_text_ends_the_reply(served):
    text = served.chat(HELLO, user="a").choices[0].message.content
    word = text.split()[2]
    stopped = served.chat(HELLO, user="b", stop=[word])
    assert stopped.choices[0].finish_reason == "stop"
    assert word not in stopped.choices[0].message.content


def test_tools_and_template_arguments_reach_the_template(served):
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    plain = served.chat(HELLO, user="a").usage.prompt_tokens
    assert served.chat(HELLO, user="a", tools=[tool]).usage.prompt_tokens > plain
    assert served.chat(HELLO, user="a", tools=[tool], tool_choice="none").usage.prompt_tokens == plain
    signatures = {served.engine.key("a").bucket.template_sig}
    served.chat(HELLO, user="t", extra_body={"chat_template_kwargs": {"enable_thinking": False}})
    signatures |= {e.key.bucket.template_sig for e in served.engine.store.entries() if e.key.session == "t"}
    assert len(signatures) == 2


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"model": "other", "messages": HELLO}, 404, "'other' is not served here"),
        ({"model": MODEL, "messages": []}, 400, "messages"),
        ({"model": MODEL, "messages": HELLO, "logprobs": True}, 400, "unsupported: logprobs"),
        ({"model": MODEL, "messages": HELLO, "max_tokens": 10**6}, 400, "more than the bound of 4096"),
        ({"messages": HELLO}, 400, "model"),
        ({"model": MODEL, "messages": [{"role": "user", "content": "x"}] * 1025}, 400, "1025 messages"),
        ([], 400, "dict"),
    ],
    ids=["model", "no messages", "unsupported", "max_tokens", "no model", "too many messages", "no object"],
)
def test_a_bad_body_is_refused_in_openais_shape(served, body, status, says):
    answer = served.http.post("/v1/chat/completions", json=body)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert says in error["message"]
    assert error["type"] == "invalid_request_error"
    assert set(error) == {"message", "type", "param", "code"}
    assert served.stats["snapshot_lookups"] == 0


def test_a_body_that_is_no_json_is_refused(served):
    headers = {"content-type": "application/json"}
    answer = served.http.post("/v1/chat/completions", content=b'{"model":', headers=headers)
    assert answer.status_code == 400
    assert "error" in answer.json()


def test_a_body_over_the_bound_is_refused_declared_or_streamed(serve):
    served = serve(max_body_bytes=1000)
    big = b"x" * 2000
    assert served.http.post("/v1/chat/completions", content=big).status_code == 413
    assert served.http.post("/v1/chat/completions", content=iter([big[:900], big[900:]])).status_code == 413
    assert served.chat([{"role": "user", "content": "still there?"}]).choices


def test_a_full_queue_answers_429_and_the_next_request_is_served_once_there_is_room(serve):
    served = serve(max_waiting=1)
    with served.chat(HELLO, user="a", stream=True, max_tokens=4000) as stream:
        next(iter(stream))
        with pytest.raises(openai.RateLimitError, match="run or wait"):
            served.chat(HELLO, user="b")
    while served.http.get("/health").json()["waiting"]:
        pass  # the cut turn ends at its next token
    assert served.chat(HELLO, user="b").choices


@pytest.mark.parametrize("path", ["/health", "/metrics", "/v1/models", "/v1/cache/stats", "/openapi.json"])
def test_a_key_guards_every_route(serve, path):
    served = serve(api_key="secret")
    assert served.http.get(path).status_code == 401
    assert served.http.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert served.http.get(path, headers={"Authorization": "Bearer secret"}).status_code == 200
    with pytest.raises(openai.AuthenticationError):
        served.chat(HELLO)


def test_the_models_list_names_the_one_that_is_served(served):
    assert [model.id for model in served.openai.models.list()] == [MODEL]
    assert served.http.get("/health").json()["status"] == "ok"


def test_a_disabled_cache_serves_cold_and_says_so(serve):
    served = serve(make_engine(enabled=False))
    assert [_cached(served.chat(HELLO, user="a")) for _ in range(2)] == [0, 0]
    assert served.stats["enabled"] is False
    assert served.stats["reject_disabled"] > 0
    assert served.stats["snapshot_entries"] == 0
