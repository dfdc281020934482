"""Readers: each format from a small file made here, bad lines counted by number, and the real files where they are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.paths import data_dir
from mlxcel_lab.replay.driving import drive
from mlxcel_lab.replay.generators import generate
from mlxcel_lab.replay.readers import read_trace, sniff
from mlxcel_lab.replay.readers.lines import Records
from mlxcel_lab.replay.replies import replied
from mlxcel_lab.replay.resolved import linear_size, resolve
from mlxcel_lab.replay.simulation import Budget, simulate
from mlxcel_lab.replay.trace import Trace, common_ids, merged, num_ids

from .random_traces import random_trace

TURNS: dict[str, Any] = {"t": 0.0, "type": "n", "model": "m", "in": 200, "out": 130, "input_types": ["text"]}


def _lines(path: Path, *records: Any) -> Path:
    texts = (record if isinstance(record, str) else json.dumps(record) for record in records)
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def _agent(name: str, *requests: dict[str, Any]) -> dict[str, Any]:
    head = {"id": name, "block_size": 64, "tool_tokens": 64, "system_tokens": 64}
    return {**head, "requests": [{**TURNS, **request} for request in requests]}


def test_coding_agent_sessions_keep_their_blocks_apart_and_nest_subagents(tmp_path: Path) -> None:
    inner = {"hash_runs": [[9, 3]], "in": 192}
    first = _agent("one", {"hash_runs": [[1, 3]]}, {"t": 9, "hash_runs": [[1, 8]], "in": 512})
    nested = {"type": "subagent", "agent_id": "a1", "t": 4.0, "requests": [{**TURNS, **inner}]}
    first["requests"].append(nested)
    second = _agent("two", {"hash_runs": [[1, 3]]})
    trace = read_trace(_lines(tmp_path / "s.jsonl", first, second), replies="kept")
    rows = {(row.session, row.prompt_tokens): row for row in trace.rows()}
    assert set(rows) == {("one", 200), ("one", 512), ("one/a1", 192), ("two", 200)}
    one, later, two = rows["one", 200], rows["one", 512], rows["two", 200]
    assert common_ids(one.prompt, later.prompt) == 3
    assert common_ids(one.prompt, two.prompt) == 0
    assert one.boundaries == [2]
    # 200 tokens are 3 blocks and 8 tokens; with the 130 of the reply two more blocks are whole.
    assert (num_ids(one.reply), common_ids(merged([*one.prompt, *one.reply]), later.prompt)) == (2, 5)
    assert trace.tokens_per_id == 64


def test_the_file_that_breaks_off_and_the_line_that_lies_are_reported_by_number(tmp_path: Path) -> None:
    good = _agent("one", {"hash_runs": [[1, 3]]})
    lying = _agent("two", {"hash_runs": [[1, 3]], "in": "many"})
    path = _lines(tmp_path / "s.jsonl", good, '{"id": "broken', lying, {"id": "three"}, good | {"id": "four"})
    trace = read_trace(path)
    assert sorted(trace.requests["session"]) == ["four", "one"]
    assert [problem.line for problem in trace.problems] == [2, 3, 4]
    assert "'in' is 'many'" in trace.problems[1].reason


def test_mooncake_sessions_are_inferred_by_prefix(tmp_path: Path) -> None:
    def request(time: int, ids: list[int], tokens: int) -> dict[str, Any]:
        return {"timestamp": time, "input_length": tokens, "output_length": 600, "hash_ids": ids}

    path = _lines(
        tmp_path / "m.jsonl",
        request(0, [0, 1, 2], 1536),
        request(1000, [0, 7], 1024),
        request(2000, [0, 1, 2, 3], 2000),
        request(3000, [0], 512),
        {"timestamp": 4},
    )
    trace = read_trace(path)
    assert trace.requests["session"].to_list() == ["request-1", "request-2", "request-1", "request-4"]
    assert trace.requests["time"].to_list() == [0, 1, 2, 3]
    assert [problem.line for problem in trace.problems] == [5]


def test_bailian_chats_are_chains_of_parents(tmp_path: Path) -> None:
    def request(chat: int, parent: int, ids: list[int]) -> dict[str, Any]:
        head = {
            "chat_id": chat,
            "parent_chat_id": parent,
            "timestamp": float(chat),
            "turn": 1,
            "type": "text",
        }
        return {**head, "input_length": 16 * len(ids) + 3, "output_length": 20, "hash_ids": [*ids, 99]}

    path = _lines(tmp_path / "b.jsonl", request(1, -1, [1, 2]), request(2, 1, [1, 2, 3]), request(3, 77, [5]))
    trace = read_trace(path)
    assert trace.requests["session"].to_list() == ["chat-1", "chat-1", "chat-3"]
    assert "parent_chat_id 77" in trace.problems[0].reason
    assert trace.tokens_per_id == 16


TALK = [
    {"role": "system", "content": "You answer in one word."},
    {"role": "user", "content": "What is the capital of France?"},
    {"role": "assistant", "content": "Paris."},
    {"role": "user", "content": "And of Italy?"},
    {"role": "assistant", "content": "Rome."},
]


@pytest.mark.parametrize("as_array", [True, False])
def test_messages_become_requests_with_real_tokens(tmp_path: Path, as_array: bool) -> None:
    records = [{"messages": TALK, "session": "geo"}, TALK[:4], {"messages": [{"content": "no role"}]}]
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(records)) if as_array else _lines(path, *records)
    trace = read_trace(path)
    assert trace.requests["session"].to_list().count("geo") == 2
    assert [problem.line for problem in trace.problems] == [3]
    first, second = (row for row in trace.rows() if row.session == "geo")
    assert common_ids(merged([*first.prompt, *first.reply]), second.prompt) >= first.boundaries[0]
    assert trace.pool is not None


def test_an_array_that_breaks_off_gives_what_stood_before(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"a": 1}, {"a": 2}, {"a":')
    records = Records(tmp_path / "a.json")
    assert [record["a"] for _, record in records] == [1, 2]
    assert records.problems[0].line == 3


def test_a_journal_replays_to_the_same_counters(tmp_path: Path) -> None:
    trace = generate("agent", requests=80, sessions=4)
    config = PromptCacheConfig(snapshot_capacity_bytes=200_000, min_prefix_tokens=1, snapshot_ttl_seconds=0)
    size = linear_size(0, 10)
    store = drive(trace, size, config)
    store.journal.write(tmp_path / "j.parquet")
    again = read_trace(tmp_path / "j.parquet")
    assert not again.problems
    out = simulate(resolve(again, size), "origin", Budget(200_000, ttl_seconds=0, min_prefix_tokens=1))
    stats = store.stats()
    assert (out.hits, out.inserts, out.supersedes, out.evictions_lru, out.tokens_reused) == (
        stats.hits, stats.inserts, stats.supersedes, stats.evictions_lru, stats.tokens_reused,
    )  # fmt: skip


@pytest.mark.parametrize(("how", "shared"), [("kept", True), ("stripped", False)])
def test_a_kept_reply_is_in_the_next_prompt_and_a_stripped_one_is_not(
    how: str, shared: bool, tmp_path: Path
) -> None:
    turns = [{"hash_runs": [[1, 4 * (turn + 1)]], "in": 256 * (turn + 1), "t": turn} for turn in range(4)]
    trace = read_trace(_lines(tmp_path / "s.jsonl", _agent("one", *turns)), replies=how)
    rows = list(trace.rows())
    whole = merged([*rows[0].prompt, *rows[0].reply])
    assert num_ids(rows[0].reply) > 0
    assert (common_ids(whole, rows[1].prompt) > 4) is shared
    survives = simulate(resolve(trace, linear_size(1, 0), donate="completion"), "off").hits
    assert (survives > 0) is shared
    assert "none" not in trace.assumptions[-1]


def test_unknown_words_are_refused_with_the_known_ones(tmp_path: Path) -> None:
    path = _lines(tmp_path / "s.jsonl", _agent("one", {"hash_runs": [[1, 3]]}))
    with pytest.raises(ValueError, match="unknown format 'vllm': expected one of coding-agent"):
        read_trace(path, "vllm")
    with pytest.raises(TypeError, match="no option 'sead': expected one of window_seconds"):
        read_trace(path, sead=1)
    with pytest.raises(ValueError, match="replies 'gone' is unknown"):
        read_trace(path, replies="gone")
    with pytest.raises(ValueError, match="isn't there"):
        read_trace(tmp_path / "none.jsonl")
    with pytest.raises(ValueError, match="looks like none of"):
        sniff(_lines(tmp_path / "x.jsonl", {"a": 1}))


def test_a_compressed_file_reads_like_a_plain_one(tmp_path: Path) -> None:
    path = _lines(tmp_path / "s.jsonl", _agent("one", {"hash_runs": [[1, 3]]}))
    (tmp_path / "s.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read_trace(tmp_path / "s.jsonl.gz").requests.equals(read_trace(path).requests)


@pytest.mark.parametrize("array", [True, False], ids=["array", "lines"])
@pytest.mark.parametrize("keep", ["half", "all but the checksum"])
def test_a_gzip_file_that_breaks_off_gives_what_stood_before(tmp_path: Path, array: bool, keep: str) -> None:
    rows = [json.dumps({"number": n, "noise": n**7 % 1_000_003}) for n in range(3_000)]
    whole = gzip.compress((f"[{','.join(rows)}]" if array else "\n".join(rows)).encode())
    (tmp_path / "a.json.gz").write_bytes(whole[: len(whole) // 2 if keep == "half" else -4])
    records = Records(tmp_path / "a.json.gz")
    read = [record["number"] for _, record in records]
    assert read == [*range(len(read))]
    assert read or array  # an array is taken in by large pieces
    assert "breaks off" in records.problems[-1].reason


def test_replies_can_be_left_out() -> None:
    trace = random_trace(1)
    assert not any(request.reply for request in replied([*trace.rows()], trace.tokens_per_id, "none"))
    assert any(request.reply for request in replied([*trace.rows()], trace.tokens_per_id, "kept"))


REAL = {
    "claude_code_sessions.jsonl.gz": (49_334, 773),
    "mooncake_conversation.jsonl.gz": (12_031, 8_099),
    "mt_bench_questions.jsonl": (160, 80),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_the_real_files_read_without_a_problem(name: str, shared_dir: Path) -> None:
    trace = read_trace(shared_dir / "traces" / name)
    assert (len(trace), trace.info()["sessions"], len(trace.problems)) == (*REAL[name], 0)


def test_some_of_tau_bench_reads_without_a_problem(shared_dir: Path) -> None:
    trace = read_trace(shared_dir / "traces" / "tau_bench_airline.json.gz", limit=60)
    assert (len(trace), len(trace.problems)) == (60, 0)
    assert trace.info()["kinds"]["tool"] > 10


def _shipped() -> list[Path]:
    return sorted((data_dir() / "traces").glob("*.*"))


@pytest.mark.parametrize("path", _shipped(), ids=lambda path: path.name)
def test_every_shipped_trace_reads_and_store_and_simulation_agree_on_it(path: Path) -> None:
    from .test_simulation import assert_equal_to_store

    if path.suffix == ".md":
        return
    trace: Trace = read_trace(path)
    assert len(trace) > 5
    for rule in ("off", "session", "origin", "learned"):
        for capacity in (20_000, 200_000, 10**9):
            assert_equal_to_store(trace.head(150), rule, Budget(capacity, ttl_seconds=0, min_prefix_tokens=8))
