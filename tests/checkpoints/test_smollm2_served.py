"""SmolLM2 over HTTP: collapse and coexistence through the OpenAI client, and inside mlx-lm's own server."""

import polars as pl
import pytest

from mlxcel_lab.experiments import serving
from mlxcel_lab.experiments.inside_mlx_lm import same_traffic

pytestmark = pytest.mark.checkpoint


def test_chains_collapse_and_two_conversations_coexist_over_http(smollm2_folder):
    served = serving.interleaved(str(smollm2_folder), turns=2, max_tokens=12)
    resident = served.journal.state_at(len(served.journal) - 1)
    assert sorted((e.key.session, str(e.origin)) for e in resident) == [
        ("alice", "boundary"), ("alice", "completion"), ("bob", "boundary"), ("bob", "completion"),
    ]  # fmt: skip
    last = served.turns.row(-1, named=True)
    assert (last["supersedes"], last["evictions_lru"], last["hits"]) == (4, 0, 2)
    later = served.turns.filter(pl.col("turn") == 2)
    assert (later["cached_tokens"] > 0.5 * later["prompt_tokens"]).all()


def test_mlx_lms_own_server_reuses_as_much_on_our_store(smollm2_folder):
    traffic = same_traffic(str(smollm2_folder), turns=2, max_tokens=8)
    peer, ours = (traffic.filter(pl.col("server") == server) for server in ("mlx-lm", "lab"))
    assert ours["prompt_tokens"].to_list() == peer["prompt_tokens"].to_list()
    assert (ours["cached_tokens"] >= peer["cached_tokens"] - 1).all()
    assert ours["entries"][-1] <= peer["entries"][-1]
