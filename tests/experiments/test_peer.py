"""mlx-lm's own server on our store: the same traffic through it and through the peer as it ships."""

import polars as pl
import pytest
from mlx_lm.models.cache import LRUPromptCache

from mlxcel_lab.config import resolve
from mlxcel_lab.experiments.peer import compare
from mlxcel_lab.experiments.serving import SYSTEM
from mlxcel_lab.serve.mlx_lm_server import prompt_cache, save_lab_model

CONVERSATIONS = {
    "alice": ["Where is the hut?", "And then?", "How long does it take?"],
    "bob": ["What grows here?", "In autumn too?", "And mushrooms?"],
}


@pytest.mark.parametrize("name", ["gated-delta", "sliding-window"])
def test_the_same_traffic_reuses_as_much_and_holds_fewer_entries(name, tmp_path):
    save_lab_model(name, tmp_path)
    ours = prompt_cache(resolve({"min_prefix_tokens": 8}, {}))
    caches = {"mlx-lm": LRUPromptCache(max_size=100), "lab": ours}
    frame = compare(tmp_path, caches, CONVERSATIONS, system=SYSTEM, max_tokens=6)
    peer, lab = (frame.filter(pl.col("server") == server) for server in caches)
    assert lab["prompt_tokens"].to_list() == peer["prompt_tokens"].to_list()
    assert (
        lab["cached_tokens"] >= peer["cached_tokens"] - 1
    ).all()  # a whole-prompt hit leaves one token to forward
    assert lab.filter(pl.col("turn") > 1)["cached_tokens"].min() > len(SYSTEM.split())
    assert lab["entries"][-1] < peer["entries"][-1]
    assert lab["bytes"][-1] < peer["bytes"][-1]
    ours.store.check_integrity()
