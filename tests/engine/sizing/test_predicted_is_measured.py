"""What a config says a snapshot holds is what a live one holds: every lab model, in both ways of capturing."""

import dataclasses

import numpy as np
import pytest
from mlx_lm.models.cache import make_prompt_cache

from mlxcel_lab.engine import Engine, capture, lab_models, load, load_dry
from mlxcel_lab.engine.backend import mx
from mlxcel_lab.engine.geometry import build
from mlxcel_lab.engine.sizing import SizeMismatch, snapshot_bytes, verify
from mlxcel_lab.engine.worker import mlx_thread
from mlxcel_lab.store.events import Inserted

# Around the lab models' windows and chunks of 64 tokens, around the step of an allocation, and beyond both.
LENGTHS = (1, 63, 64, 65, 255, 256, 257, 300)


def _forward(model, cache, num_tokens):
    """One call on tokens that differ, and its logits, in the lab models' float32."""
    tokens = mx.array(np.arange(num_tokens)[None] * 7 % 400)
    logits = model.model(tokens, cache=cache)
    mx.eval(logits, [entry.state for entry in cache])
    return np.array(logits)


def _measured(model, geometry, prompt, trim):
    """Capture after a prefill, after decoding, and after restoring and decoding on; each against its prediction."""
    cache = make_prompt_cache(model.model)
    calls = []
    for stage in ([prompt], [1, 1], [1, 30, 1]):
        for num_tokens in stage:
            _forward(model, cache, num_tokens)
        calls += stage
        state = capture(cache, sum(calls), trim=trim)
        predicted = snapshot_bytes(geometry, calls)
        verify(state, predicted, trimmed=trim)
        assert state.nbytes == (predicted.trimmed if trim else predicted.allocated)
        if not trim:  # a restored copy goes on growing as the original would
            cache = state.restore()


@pytest.fixture(scope="module", params=lab_models())
def lab(request):
    model = load(request.param)
    return model, mlx_thread().run(lambda: build(model.config, "float32"))


@pytest.mark.parametrize("trim", [False, True], ids=["allocated", "trimmed"])
def test_a_live_snapshot_holds_what_its_config_says(lab, trim):
    for prompt in LENGTHS:
        mlx_thread().run(lambda prompt=prompt: _measured(*lab, prompt, trim))


def test_what_a_snapshot_is_accounted_with_is_what_it_keeps_in_memory(lab):
    def held(num_tokens, trim):
        _forward(
            lab[0], make_prompt_cache(lab[0].model), num_tokens
        )  # what compiling keeps, it keeps from here on
        before = mx.get_active_memory()
        cache = make_prompt_cache(lab[0].model)
        _forward(lab[0], cache, num_tokens)
        mx.clear_cache()  # else a free buffer a little larger than needed may be taken again
        state = capture(cache, num_tokens, trim=trim)
        del cache  # and with it the buffers that the state was copied from: it may keep none of them alive
        return state.nbytes, mx.get_active_memory() - before

    for num_tokens in (100, 300):
        for trim in (False, True):
            accounted, kept = mlx_thread().run(lambda n=num_tokens, t=trim: held(n, t))
            assert accounted == kept


def test_a_trimmed_snapshot_continues_bit_by_bit_as_the_whole_one(lab):
    def continued(num_tokens, trim):
        cache = make_prompt_cache(lab[0].model)
        _forward(lab[0], cache, num_tokens)
        _forward(lab[0], cache, 1)
        cache = capture(cache, num_tokens + 1, trim=trim).restore()
        return [_forward(lab[0], cache, n) for n in (1, 33, 1)]

    for num_tokens in (40, 300):
        whole, cut = (mlx_thread().run(lambda n=num_tokens, t=t: continued(n, t)) for t in (False, True))
        assert all((a == b).all() for a, b in zip(whole, cut, strict=True))


def test_a_trimmed_snapshot_can_be_truncated_where_the_whole_one_can(lab):
    def answers(trim):
        cache = make_prompt_cache(lab[0].model)
        _forward(lab[0], cache, 150)
        state = capture(cache, 150, trim=trim)
        return [state.can_truncate(n) for n in (1, 100, 149, 150, 151)]

    assert mlx_thread().run(lambda: answers(True)) == mlx_thread().run(lambda: answers(False))


@pytest.mark.parametrize("trim", [False, True], ids=["allocated", "trimmed"])
def test_a_live_and_a_dry_conversation_insert_snapshots_of_the_same_sizes(lab, trim):
    messages = [{"role": "user", "content": "tell me about the river and the bridge " * 12}]
    sizes = []
    for model in (lab[0], load_dry(lab[0].name)):
        engine = Engine(model, trim=trim)
        for reply in ("the old bridge stands", "and the river runs"):
            engine.chat(messages, "s", reply=reply)
            messages = [
                *messages,
                {"role": "assistant", "content": reply},
                {"role": "user", "content": "go on"},
            ]
        sizes.append([e.size_bytes for e in engine.store.journal.events if isinstance(e, Inserted)])
        messages = messages[:1]
    assert sizes[0] == sizes[1]
    assert len(sizes[0]) == 4


def test_a_mismatch_is_an_error_that_names_the_layer(lab):
    model, geometry = lab

    def live():
        cache = make_prompt_cache(model.model)
        _forward(model, cache, 40)
        return capture(cache, 40)

    predicted = snapshot_bytes(geometry, 40)
    wrong = dataclasses.replace(predicted.parts[1], allocated=17)
    predicted = dataclasses.replace(predicted, parts=(predicted.parts[0], wrong, *predicted.parts[2:]))
    with pytest.raises(
        SizeMismatch, match=rf"layer {wrong.layer} \({wrong.cache} .*predicted 17 B, measured [\d,]+ B"
    ):
        verify(mlx_thread().run(live), predicted)
