"""Many clients at once: no conversation gets another's state, the counters add up, memory stays level."""

import gc
import random
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from .conftest import MODEL, SYSTEM, make_engine
from .test_cache_routes import _metrics

QUESTIONS = ("Where does the path begin?", "How long is it?", "Who keeps the hut?")


def _talk(chat, number, turns):
    """One conversation of its own, turn by turn; the replies' texts."""
    messages = [SYSTEM, {"role": "user", "content": f"I am guest {number}. {QUESTIONS[0]}"}]
    replies = []
    for turn in range(turns):
        replies.append(chat(messages, f"guest-{number}"))
        messages = [*messages, {"role": "assistant", "content": replies[-1]}]
        messages.append({"role": "user", "content": QUESTIONS[(turn + 1) % len(QUESTIONS)]})
    return replies


def _over_http(served):
    return lambda messages, user: served.chat(messages, user=user).choices[0].message.content


@pytest.mark.slow
def test_a_hundred_conversations_eight_at_a_time_each_get_their_own_state(serve):
    served = serve()
    with ThreadPoolExecutor(8) as clients:
        replies = list(clients.map(lambda n: _talk(_over_http(served), n, turns=2), range(100)))
    alone = make_engine()
    for number in random.Random(0).sample(range(100), 30):
        # The store of one conversation splits its prefill just where the shared one did: nothing was evicted.
        assert replies[number] == _talk(lambda m, u: alone.chat(m, u, 6).text, number, turns=2)
    assert served.stats["snapshot_hits"] == 100
    assert served.stats["snapshot_lookups"] == 200
    assert served.stats["snapshot_entries"] == 200
    served.engine.store.check_integrity()


@pytest.mark.slow
def test_under_a_tight_budget_the_counters_add_up_at_every_scrape(serve):
    engine = make_engine()
    size = engine.chat([SYSTEM, {"role": "user", "content": QUESTIONS[0]}], "probe", 6).events[1].size_bytes
    budget = 7 * size
    served = serve(make_engine(snapshot_capacity_bytes=budget))
    prefix = "mlxcel_prompt_cache_snapshot_"

    def scrape():
        seen = _metrics(served)
        gone = sum(
            seen[prefix + name] for name in ("supersedes_total", "replacements_total", "cleared_total")
        )
        gone += sum(seen[f'{prefix}evictions_total{{reason="{reason}"}}'] for reason in ("lru", "ttl"))
        assert seen[prefix + "inserts_total"] - gone == seen[prefix + "entries"]
        assert seen[prefix + "bytes"] <= budget
        return gone

    with ThreadPoolExecutor(8) as clients:
        talks = [clients.submit(_talk, _over_http(served), n, 2) for n in range(16)]
        while not all(talk.done() for talk in talks):
            scrape()
    assert all(len(talk.result()) == 2 for talk in talks)
    assert scrape() > 0
    assert served.stats["snapshot_peak_bytes"] <= budget
    served.engine.store.check_integrity()


@pytest.mark.slow
def test_memory_stays_level_over_a_thousand_turns(serve):
    served = serve(make_engine(snapshot_max_entries=8, max_events=256))
    process, levels = psutil.Process(), []
    for turn in range(1000):
        messages = [SYSTEM, {"role": "user", "content": f"Question {turn} of many, about the mountains."}]
        served.http.post(
            "/v1/chat/completions",
            json={"model": MODEL, "messages": messages, "user": str(turn % 20), "max_tokens": 1},
        ).raise_for_status()
        if turn % 100 == 99:
            gc.collect()
            levels.append(process.memory_info().rss)
    early, late = max(levels[1:4]), max(levels[-3:])
    assert late <= early + 32 * 2**20, f"resident bytes every 100 turns: {levels}"
