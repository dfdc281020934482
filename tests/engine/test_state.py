"""Captured states: detached, measured, restored to the bit, for the lab models and every cache class of mlx-lm."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from mlx_lm.models.cache import (
    ArraysCache,
    BatchKVCache,
    BatchRotatingKVCache,
    CacheList,
    ChunkedKVCache,
    ConcatenateKVCache,
    KVCache,
    QuantizedKVCache,
    RotatingKVCache,
    make_prompt_cache,
)

from mlxcel_lab.engine.backend import mx
from mlxcel_lab.engine.forward import LivePass
from mlxcel_lab.engine.state import Blank, capture, measure
from mlxcel_lab.engine.worker import mlx_thread

PROMPT = [(37 * i) % 1400 + 100 for i in range(150)]


def _forward(model, cache, tokens):
    logits = model.model(mx.array(tokens)[None], cache=cache)[0]
    mx.eval(logits, [layer.state for layer in cache])
    return logits


def _prefilled(model, tokens):
    cache = make_prompt_cache(model.model)
    _forward(model, cache, tokens)
    return cache


def _same_bits(one, other):
    return one.shape == other.shape and mx.array_equal(one.view(mx.uint32), other.view(mx.uint32)).item()


@pytest.mark.parametrize("held", [5, 40, 64, 100])
def test_restored_logits_are_bit_identical_to_computed_ones_with_the_same_split(lab, name, held):
    model = lab(name)
    cache = _prefilled(model, PROMPT[:held])
    state = capture(cache, held)
    computed = [_forward(model, cache, PROMPT[held : held + 20]), _forward(model, cache, PROMPT[120:121])]
    for _ in range(2):  # a state serves again
        restored = state.restore()
        again = [
            _forward(model, restored, PROMPT[held : held + 20]),
            _forward(model, restored, PROMPT[120:121]),
        ]
        assert all(_same_bits(*pair) for pair in zip(computed, again, strict=True))


def test_a_captured_state_does_not_change_while_its_donor_decodes_on(lab, name):
    model = lab(name)
    cache = _prefilled(model, PROMPT[:50])
    state = capture(cache, 50)
    before = _forward(model, state.restore(), PROMPT[50:60])
    for token in PROMPT[60:90]:
        _forward(model, cache, [token])
    assert _same_bits(before, _forward(model, state.restore(), PROMPT[50:60]))


def test_a_captured_state_outlives_its_donor(lab, name):
    model = lab(name)
    cache = _prefilled(model, PROMPT[:50])
    state = capture(cache, 50)
    before = _forward(model, cache, PROMPT[50:60])
    del cache
    gc.collect()
    mx.clear_cache()
    mx.eval(mx.random.normal((1024, 1024)))  # something else takes the freed memory
    assert _same_bits(before, _forward(model, state.restore(), PROMPT[50:60]))


def test_accounted_bytes_are_what_the_arrays_hold(lab, name):
    model = lab(name)
    cache = _prefilled(model, PROMPT[:50])
    assert measure(cache) == sum(layer.nbytes for layer in cache)
    gc.collect()
    mx.clear_cache()  # the allocator would hand out freed buffers that are up to two pages larger
    free = mx.get_active_memory()
    state = capture(cache, 50)
    gc.collect()
    grown = mx.get_active_memory() - free
    arrays = 64  # an upper bound of the arrays a lab model's state has; each may be rounded up by 16 bytes
    assert state.nbytes == measure(cache)
    assert state.nbytes <= grown <= state.nbytes + 16 * arrays


def test_a_captured_state_keeps_no_larger_parent_buffer_alive():
    gc.collect()
    free = mx.get_active_memory()
    parent = mx.random.normal((1, 1, 4096, 64))
    cache = KVCache()
    cache.keys, cache.values, cache.offset = parent[..., :256, :], parent[..., 256:512, :], 256
    mx.eval(cache.keys, cache.values)
    state = capture([cache], 256)
    del parent, cache
    gc.collect()
    assert state.nbytes == 2 * 256 * 64 * 4
    assert mx.get_active_memory() - free < state.nbytes + 1024


def test_a_capture_holds_no_unevaluated_graph():
    cache = KVCache()
    cache.update_and_fetch(mx.ones((1, 1, 8, 4)), mx.ones((1, 1, 8, 4)))
    gc.collect()
    state = capture([cache], 8)
    del cache
    # An unevaluated array would be bound to this thread's stream; an evaluated one can be read from any.
    assert mlx_thread().run(lambda: state.restore()[0].keys[0, 0, :8].sum().item()) == 32.0


@pytest.mark.parametrize("length", [1, 63, 64, 65, 99])
def test_a_state_is_cut_only_where_every_layer_can_go_back(lab, name, length):
    state = capture(_prefilled(lab(name), PROMPT[:100]), 100)
    # The window has wrapped, and a sum over the past has no parts. (A chunked cache drops nothing within a call.)
    expected = name in ("dense", "chunked")
    assert state.can_truncate(length) is expected
    if not expected:
        with pytest.raises(ValueError, match=f"of 100 tokens can't be cut to {length}"):
            state.restore(length)


def test_a_family_that_never_truncates_is_known_before_anything_is_stored(lab, name):
    cuttable = {n for n in range(1, 12) if capture(_prefilled(lab(name), PROMPT[:12]), 12).can_truncate(n)}
    fresh = LivePass(lab(name).model, None, np.empty(0, np.int32), trim=False)
    assert fresh.ever_truncates is bool(cuttable)
    assert fresh.ever_truncates is (name not in ("falcon-h1", "gated-delta", "mamba2"))


def test_a_cut_state_goes_on_as_a_computed_one(lab, name):
    model = lab(name)
    cache = _prefilled(model, PROMPT[:60])
    for token in PROMPT[60:63]:
        _forward(model, cache, [token])
    state = capture(cache, 63)
    for length in range(1, 63, 7):
        if not state.can_truncate(length):
            assert name in ("falcon-h1", "gated-delta", "mamba2")
            continue
        cold = _forward(model, _prefilled(model, PROMPT[:length]), PROMPT[length : length + 9])
        again = _forward(model, state.restore(length), PROMPT[length : length + 9])
        assert mx.allclose(cold, again, rtol=1e-3, atol=1e-3).item(), length


def test_a_chunked_cache_is_cut_only_to_where_its_chunk_is_whole(lab):
    model = lab("chunked")
    cache = _prefilled(model, PROMPT[:100])
    for token in PROMPT[100:130]:  # each call first drops what lies more than a chunk back
        _forward(model, cache, [token])
    state = capture(cache, 130)
    for length in (1, 64, 127, 128, 129):
        if not state.can_truncate(length):
            assert length < 128
            continue
        assert length >= 128
        cold = _forward(model, _prefilled(model, PROMPT[:length]), PROMPT[length : length + 9])
        again = _forward(model, state.restore(length), PROMPT[length : length + 9])
        assert mx.allclose(cold, again, rtol=1e-3, atol=1e-3).item(), length


def test_a_sliding_window_refuses_to_be_cut_once_it_has_wrapped(lab):
    model = lab("sliding-window")
    cache = _prefilled(model, PROMPT[:63])
    assert capture(cache, 63).can_truncate(62)
    _forward(model, cache, PROMPT[63:64])
    assert not capture(cache, 64).can_truncate(63)


@pytest.mark.parametrize("length", [-1, 0, 101, 1000])
def test_a_length_that_is_no_prefix_is_refused(lab, length):
    state = capture(_prefilled(lab("dense"), PROMPT[:100]), 100)
    assert not state.can_truncate(length)
    with pytest.raises(ValueError, match="can't be cut"):
        state.restore(length)


def _filled(cache, tokens=10, dim=64):
    members = cache.caches if isinstance(cache, CacheList) else [cache]
    for member in members:
        if isinstance(member, ArraysCache):
            member[0], member[1] = mx.ones((1, 3, 4)), mx.ones((1, 2, 4, 4))
        else:
            member.update_and_fetch(mx.ones((1, 2, tokens, dim)), mx.ones((1, 2, tokens, dim)))
    return cache


KINDS = {
    "KVCache": (KVCache, True),
    "QuantizedKVCache": (lambda: QuantizedKVCache(group_size=32, bits=4), True),
    "ConcatenateKVCache": (ConcatenateKVCache, True),
    "RotatingKVCache": (lambda: RotatingKVCache(max_size=32), True),
    "RotatingKVCache, wrapped": (lambda: RotatingKVCache(max_size=8), False),
    "ChunkedKVCache": (lambda: ChunkedKVCache(chunk_size=16), True),
    "ArraysCache": (lambda: ArraysCache(size=2), False),
    "CacheList of KV": (lambda: CacheList(KVCache(), KVCache()), True),
    "CacheList with a recurrent member": (lambda: CacheList(ArraysCache(size=2), KVCache()), False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_cache_class_is_captured_measured_and_restored(kind):
    make, cuttable = KINDS[kind]
    cache = _filled(make())
    state = capture([cache], 10)
    (restored,) = state.restore()
    assert type(restored) is type(cache)
    assert state.nbytes == cache.nbytes == restored.nbytes == capture([cache], 10, dry=True).nbytes
    assert repr(restored.state) == repr(cache.state)
    assert state.can_truncate(7) is cuttable


@pytest.mark.parametrize("kind", [kind for kind, (_, cuttable) in KINDS.items() if cuttable])
def test_what_was_cut_is_overwritten_by_what_follows(kind):
    make, _ = KINDS[kind]
    (cut,) = capture([_filled(make())], 10).restore(7)
    (part,) = capture([_filled(make(), tokens=7)], 7).restore()
    for one, other in zip(
        *((c.caches if isinstance(c, CacheList) else [c]) for c in (cut, part)), strict=True
    ):
        more = mx.full((1, 2, 2, 64), 3.0)
        for keys, expected in zip(
            one.update_and_fetch(more, more), other.update_and_fetch(more, more), strict=True
        ):
            assert repr(keys) == repr(expected)
        assert one.offset == other.offset == 9


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_shared_layer_is_captured_restored_and_cut_with_the_others(kind):
    make, cuttable = KINDS[kind]
    state = capture([_filled(make()), KVCache(), make()], 10)
    restored = state.restore(7 if cuttable else None)
    assert restored[1].keys is None
    assert restored[2].empty()
    assert state.layers[1].nbytes == 0


@pytest.mark.parametrize("inside", [lambda cache: cache, lambda cache: CacheList(KVCache(), cache)])
@pytest.mark.parametrize("filled", [(), (0,), (1,), (0, 1)])
def test_a_recurrent_state_can_be_cut_only_where_none_of_its_slots_was_ever_used(filled, inside):
    cache = ArraysCache(size=2)
    for slot in filled:
        cache[slot] = mx.ones((1, 3, 4))
    state = capture([_filled(KVCache()), inside(cache)], 10)
    assert state.can_truncate(7) is (not filled)
    if not filled:
        assert state.restore(7)[0].offset == 7


@pytest.mark.parametrize(
    "cache", [BatchKVCache([0, 0]), BatchRotatingKVCache(8, [0, 0])], ids=lambda c: type(c).__name__
)
def test_a_batch_is_refused_by_name(cache):
    with pytest.raises(TypeError, match=f"{type(cache).__name__} holds a batch"):
        capture([cache], 1)


def test_an_unknown_cache_class_is_kept_whole_and_never_cut():
    class Odd(KVCache):
        pass

    state = capture([_filled(Odd())], 10)
    assert type(state.restore()[0]) is Odd
    assert not state.can_truncate(9)


def test_a_dry_capture_holds_shapes_alone_and_restores_to_zeros_of_them():
    state = capture([_filled(KVCache())], 10, dry=True)
    assert state.layers[0].fields["keys"] == Blank((1, 2, 256, 64), mx.float32)
    (restored,) = state.restore()
    assert (restored.keys.shape, restored.offset) == ((1, 2, 256, 64), 10)
