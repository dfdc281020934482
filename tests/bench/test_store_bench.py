"""`mlxcel-lab bench store`: that it runs, that both sides answer alike, and that targets are judged by the figures."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner

from mlxcel_lab.bench.store import command
from mlxcel_lab.bench.store_measure import QUICK, Effort, Requests, Timing
from mlxcel_lab.bench.store_report import RATIOS, TARGET_TOKENS, results
from mlxcel_lab.bench.store_sides import PEERS, make_ours, make_peer

pytest.importorskip("mlx.core", exc_type=ImportError)


def test_a_quick_run_prints_both_sides_and_writes_table_and_chart(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, ["--quick", "--out", str(tmp_path / "out")], catch_exceptions=False)
    assert done.exit_code == 0
    for told in (
        "machine:",
        "versions:",
        "against LRUPromptCache",
        "by the number of entries",
        "index memory",
    ):
        assert told in done.output
    frame = pl.read_parquet(tmp_path / "out" / "results.parquet")
    assert {*frame["part"]} == {"peer", "entries", "memory"}
    # operations x forms x peers x lengths, operations x layouts x entries, one memory
    assert len(frame) == 3 * 3 * 2 * len(QUICK.tokens) + 3 * 2 * len(QUICK.entries) + 1
    assert frame.filter(pl.col("part") != "entries").select((pl.col("peer") > 0).all()).item()
    assert "mlx-lm" in frame["conditions_versions"][0]
    assert (tmp_path / "out" / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "chart.svg").read_text().startswith("<svg")


@pytest.mark.parametrize("kind", PEERS)
def test_both_sides_keep_the_same_number_and_answer_alike(kind: str) -> None:
    requests, ours, peer = Requests(100), make_ours(kind), make_peer(kind)
    vectors = [requests.fresh() for _ in range(PEERS[kind] + 3)]
    for vector in vectors:
        ours.insert(vector)
        peer.insert(vector.tolist())
    assert len(ours.store) == len(peer.cache) == PEERS[kind]
    for position, vector in enumerate(vectors):
        for request, serves in ((requests.hit(vector), position >= 3), (requests.miss(vector), False)):
            assert ours.lookup(request) == peer.lookup(request.tolist()) == serves


def test_a_miss_diverges_half_way_and_a_hit_is_strict() -> None:
    requests = Requests(100)
    stored = requests.fresh()
    missed, hit = requests.miss(stored), requests.hit(stored)
    assert (missed[:50] == stored[:50]).all()
    assert missed[50] != stored[50]
    assert (hit[:100] == stored).all()
    assert len(hit) > 100


@pytest.mark.parametrize(("factor", "met"), [(1.0, True), (0.99, False)])
def test_targets_are_judged_at_128k_tokens_and_at_the_most_entries(factor: float, met: bool) -> None:
    at_target = [
        Timing("peer", operation, form, TARGET_TOKENS, 10, "default", 10.0, 10.0 * ratio * factor)
        for (form, operation), ratio in RATIOS.items()
    ]
    shorter = [Timing("peer", "hit", "arrays", 1_024, 10, "default", 10.0, 1.0)]
    effort = Effort(entries=(16, 256, 65_536))
    slower = [
        Timing("entries", "hit", "arrays", 1_024, entries, "one session", us)
        for entries, us in ((16, 10.0), (256, 99.0), (65_536, 15.0 / factor))
    ]
    memory = (1_000, 10, round(1_000 * factor) + 1 if met else 1_000)
    frame = results([*at_target, *shorter, *slower], memory, effort)
    judged = frame.filter(pl.col("target").is_not_null())
    assert len(judged) == len(RATIOS) + 2
    assert judged["met"].to_list() == [met] * len(judged)
