"""mlx-lm's prompt-cache interface on our store, beside the peer itself: the same calls to both."""

import mlx.core as mx
import pytest
from mlx_lm.models.cache import LRUPromptCache, make_prompt_cache

from mlxcel_lab.config import PromptCacheConfig
from mlxcel_lab.engine import load
from mlxcel_lab.engine.worker import mlx_thread
from mlxcel_lab.serve.mlx_lm_cache import PerCacheType, SnapshotPromptCache
from mlxcel_lab.store import SnapshotStore

WORDS = list(range(300, 400))


def _ours(**config):
    config = PromptCacheConfig(**{"min_prefix_tokens": 1, **config})
    return SnapshotPromptCache(SnapshotStore(config, rule=PerCacheType()))


def _cache(model, tokens):
    """A cache that holds exactly those tokens."""
    cache = make_prompt_cache(model.model)
    model.model(mx.array([tokens]), cache=cache)
    mx.eval([c.state for c in cache])
    return cache


def _logits(model, cache, rest):
    return model.model(mx.array([list(rest)]), cache=cache)[0, -1]


def _on_mlx(check, name):
    """Runs a check on the thread that owns MLX, as mlx-lm's server calls its cache."""
    mlx_thread().run(lambda: check(load(name)))


every_family = pytest.mark.parametrize("name", ["dense", "gated-delta", "falcon-h1", "sliding-window"])


@every_family
def test_a_fetched_cache_computes_what_the_donor_would(name):
    def check(model):
        ours = _ours()
        ours.insert_cache("m", WORDS[:60], _cache(model, WORDS[:60]))
        cache, rest = ours.fetch_nearest_cache("m", WORDS[:70])
        assert rest == WORDS[60:70]
        expected = _logits(model, _cache(model, WORDS[:60]), WORDS[60:70])
        assert mx.array_equal(_logits(model, cache, rest), expected)

    _on_mlx(check, name)


@every_family
def test_a_whole_prompt_hit_leaves_a_token_to_forward_where_the_peer_leaves_none(name):
    def check(model):
        ours, peer = _ours(), LRUPromptCache()
        for cache in (ours, peer):
            cache.insert_cache("m", WORDS[:50], _cache(model, WORDS[:50]))
            cache.insert_cache("m", WORDS[:60], _cache(model, WORDS[:60]), cache_type="user")
        _, rest = ours.fetch_nearest_cache("m", WORDS[:60])
        assert list(WORDS[:60][-len(rest) :]) == list(rest)
        assert len(rest) >= 1
        assert peer.fetch_nearest_cache("m", WORDS[:60])[1] == []

    _on_mlx(check, name)


def test_one_oversized_insert_empties_the_peer_and_leaves_ours_alone():
    def check(model):
        small, large = _cache(model, WORDS[:40]), _cache(model, WORDS * 6)
        size = sum(layer.nbytes for layer in small)
        ours, peer = _ours(snapshot_capacity_bytes=2 * size), LRUPromptCache(max_bytes=2 * size)
        for cache in (ours, peer):
            cache.insert_cache("m", WORDS[:40], small)
            cache.insert_cache("m", WORDS[::-1] * 6, large)
        assert (len(ours), len(peer)) == (1, 0)
        assert ours.store.stats().rejections["oversized"] == 1

    _on_mlx(check, "dense")


def test_the_peer_evicts_first_in_first_out_and_ours_what_was_used_longest_ago():
    def check(model):
        ours, peer = _ours(snapshot_max_entries=2), LRUPromptCache(max_size=2)
        for cache in (ours, peer):
            for start in (0, 20):
                cache.insert_cache("m", WORDS[start : start + 20], _cache(model, WORDS[start : start + 20]))
            cache.fetch_nearest_cache("m", WORDS[:30])  # the older one is in use
            cache.insert_cache("m", WORDS[40:60], _cache(model, WORDS[40:60]))
        assert ours.fetch_nearest_cache("m", WORDS[:30])[0] is not None
        assert peer.fetch_nearest_cache("m", WORDS[:30])[0] is None

    _on_mlx(check, "gated-delta")


def test_an_unknown_cache_type_is_refused_whole_where_it_corrupts_the_peer():
    def check(model):
        ours, peer = _ours(), LRUPromptCache()
        with pytest.raises(ValueError, match="cache_type='robot': expected one of assistant, user, system"):
            ours.insert_cache("m", WORDS[:40], _cache(model, WORDS[:40]), cache_type="robot")
        assert (len(ours), ours.nbytes) == (0, 0)
        with pytest.raises(KeyError):
            peer.insert_cache("m", WORDS[:40], _cache(model, WORDS[:40]), cache_type="robot")
        assert (len(peer), peer.nbytes > 0) == (0, True)

    _on_mlx(check, "dense")


def test_what_the_caller_does_to_its_cache_later_changes_nothing_stored():
    def check(model):
        ours, donor = _ours(), _cache(model, WORDS[:60])
        ours.insert_cache("m", WORDS[:60], donor)
        _logits(model, donor, WORDS[80:90])
        cache, rest = ours.fetch_nearest_cache("m", WORDS[:70])
        expected = _logits(model, _cache(model, WORDS[:60]), WORDS[60:70])
        assert mx.array_equal(_logits(model, cache, rest), expected)

    _on_mlx(check, "sliding-window")


def test_cache_types_are_origins_chains_collapse_by_type_and_a_system_prompt_stays():
    def check(model):
        ours = _ours()
        for length, cache_type in (
            (20, "system"),
            (40, "user"),
            (50, "assistant"),
            (60, "user"),
            (70, "assistant"),
        ):
            ours.insert_cache("m", WORDS[:length], _cache(model, WORDS[:length]), cache_type=cache_type)
        assert {t: s["n_sequences"] for t, s in ours.stats_by_type().items()} == {
            "assistant": 1, "user": 1, "system": 1,
        }  # fmt: skip
        assert sorted((e.snapshot.num_tokens, str(e.snapshot.origin)) for e in ours.store.entries()) == [
            (20, "boundary"), (60, "boundary"), (70, "completion"),
        ]  # fmt: skip
        assert ours.nbytes == sum(s["n_bytes"] for s in ours.stats_by_type().values()) > 0
        ours.trim_to(n_sequences=2)
        assert len(ours) == 2
        ours.trim_to(n_bytes=-1)
        assert (len(ours), ours.nbytes) == (0, 0)
        ours.store.check_integrity()

    _on_mlx(check, "gated-delta")


def test_where_states_can_be_cut_a_longer_one_replaces_all_of_its_prefixes_and_still_serves_them():
    def check(model):
        ours = _ours()
        for length, cache_type in ((20, "system"), (40, "user"), (50, "assistant")):
            ours.insert_cache("m", WORDS[:length], _cache(model, WORDS[:length]), cache_type=cache_type)
        assert len(ours) == 1
        cache, rest = ours.fetch_nearest_cache("m", [*WORDS[:20], 5, 6])
        assert rest == [5, 6]
        expected = _logits(model, _cache(model, WORDS[:20]), rest)
        assert mx.allclose(_logits(model, cache, rest), expected, atol=1e-4)

    _on_mlx(check, "dense")


def test_models_and_images_are_buckets_of_their_own():
    def check(model):
        ours = _ours()
        image, other = -(2**59) - 1, -(2**59) - 2
        vision = [*WORDS[:20], image, *WORDS[20:40]]
        for tokens in (vision, WORDS[:40]):
            ours.insert_cache(("m", None, None), tokens, _cache(model, WORDS[:41]))
        assert ours.fetch_nearest_cache(("m2", None, None), WORDS[:41])[0] is None
        assert ours.fetch_nearest_cache(("m", None, None), [*vision, 1])[1] == [1]
        assert ours.fetch_nearest_cache(("m", None, None), [*WORDS[:20], other, *WORDS[20:40], 1])[0] is None
        assert ours.fetch_nearest_cache(("m", None, None), [])[0] is None

    _on_mlx(check, "dense")
