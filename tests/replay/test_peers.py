"""The peers: block LRU against a plain cache and Mooncake's table, mlx-lm's cache against what is known of it."""

from __future__ import annotations

import gzip
import json
from collections import OrderedDict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlxcel_lab.replay.conversations import Lengths
from mlxcel_lab.replay.generators import generate
from mlxcel_lab.replay.peers import block_lru, replay_mlx_lm
from mlxcel_lab.replay.resolved import linear_size
from mlxcel_lab.replay.trace import Request, trace_from

SIZE = linear_size(100, 1)


def _plain_lru(requests: list[list[int]], capacity: int) -> int:
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for ids in requests:
        for block in ids:
            if block not in cache:
                break
            hits += 1
        for block in ids:
            cache[block] = None
            cache.move_to_end(block)
            if len(cache) > capacity:
                cache.popitem(last=False)
    return hits


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=8, unique=True), min_size=1, max_size=20),
    st.integers(1, 12),
)
def test_one_pass_counts_what_a_cache_of_each_capacity_would_hit(
    requests: list[list[int]], capacity: int
) -> None:
    assert block_lru(requests).hits(capacity) == _plain_lru(requests, capacity)


def test_mooncakes_conversation_table_is_reproduced_exactly(shared_dir: Path) -> None:
    with gzip.open(shared_dir / "traces" / "mooncake_conversation.jsonl.gz", "rt") as lines:
        curve = block_lru(json.loads(line)["hash_ids"] for line in lines)
    assert (curve.requests, curve.blocks, curve.unique) == (12_031, 288_500, 182_790)
    assert round(curve.ideal, 4) == 0.3664
    shares = (0.01, 0.05, 0.1, 0.25, 0.5)
    rates = [round(curve.hit_rate(int(curve.unique * share)), 4) for share in shares]
    assert rates == [0.0523, 0.1954, 0.2784, 0.3535, 0.3631]


def test_mlx_lms_cache_in_its_shipped_default_holds_ten_entries() -> None:
    run = replay_mlx_lm(generate("append_only", sessions=30, requests=120, arrivals="round_robin"), SIZE)
    assert run.peak_entries == 10
    # Thirty conversations in turn, room for ten vectors: nobody's comes round again in time.
    assert run.outcome.tokens_reused == 0


def test_mlx_lms_cache_keeps_a_byte_budget_after_each_lookup() -> None:
    trace = generate("append_only", sessions=4, requests=60)
    run = replay_mlx_lm(trace, SIZE, max_size=1 << 62, max_bytes=40_000)
    assert run.outcome.bytes <= 40_000
    assert 0 < run.outcome.tokens_reused < int(trace.requests["prompt_tokens"].sum())


def test_only_a_trimmable_cache_serves_a_prompt_that_diverges_from_what_is_stored() -> None:
    rows = [Request("a", 0, [(0, 50)], 50, reply=[(50, 10)]), Request("a", 1, [(0, 40), (900, 9)], 49)]
    trace = trace_from("t", rows)
    served = {
        trim: replay_mlx_lm(trace, SIZE, trimmable=trim).outcome.cached.tolist() for trim in (True, False)
    }
    assert served == {True: [0, 40], False: [0, 0]}


@pytest.mark.parametrize("limits", [{}, {"max_size": 1 << 62, "max_bytes": 9_000}, {"max_size": 3}])
@pytest.mark.parametrize("kind", ["append_only", "thinking", "agent", "forks"])
def test_segments_find_what_ids_find(kind: str, limits: dict[str, int]) -> None:
    short = Lengths(system=30, user=5, reply=9, thinking=9, tool_result=9, context=300)
    trace = generate(kind, sessions=5, requests=100, lengths=short)
    ids, segments = (replay_mlx_lm(trace, SIZE, by_ids=one, **limits) for one in (True, False))  # type: ignore[arg-type]
    assert ids.outcome.cached.tolist() == segments.outcome.cached.tolist()
    assert ids.outcome.bytes == segments.outcome.bytes


@pytest.mark.parametrize("trimmable", [True, False])
def test_what_mlx_lm_finds_is_never_more_than_the_prompt(trimmable: bool) -> None:
    trace = generate("forks", sessions=3, requests=80)
    run = replay_mlx_lm(trace, SIZE, trimmable=trimmable)
    assert (run.outcome.cached <= trace.requests["prompt_tokens"].to_numpy()).all()
