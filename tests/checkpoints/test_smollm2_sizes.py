"""Predicted equals measured for real weights: SmolLM2's snapshots hold what its config.json says, array by array."""

import numpy as np
import pytest
from mlx_lm.models.cache import make_prompt_cache

from mlxcel_lab.engine import capture
from mlxcel_lab.engine.backend import mx
from mlxcel_lab.engine.geometry import build
from mlxcel_lab.engine.sizing import find_config, snapshot_bytes, verify
from mlxcel_lab.engine.worker import mlx_thread

pytestmark = pytest.mark.checkpoint


def _forward(model, cache, num_tokens):
    logits = model.model(mx.array(np.arange(num_tokens)[None] % 400), cache=cache)
    mx.eval(logits, [entry.state for entry in cache])


@pytest.mark.parametrize("trim", [False, True], ids=["allocated", "trimmed"])
@pytest.mark.parametrize("prompt", [40, 255])  # the second one steps over 256 while it decodes
def test_a_live_snapshot_holds_what_the_config_says(smollm2, prompt, trim):
    geometry = build(smollm2.config, "float32")

    def stages():
        cache, calls = make_prompt_cache(smollm2.model), []
        for stage in ([prompt], [1, 1], [1, 30]):
            for num_tokens in stage:
                _forward(smollm2, cache, num_tokens)
            calls += stage
            state, predicted = capture(cache, sum(calls), trim=trim), snapshot_bytes(geometry, calls)
            verify(state, predicted, trimmed=trim)
            assert state.nbytes == (predicted.trimmed if trim else predicted.allocated)
            cache = cache if trim else state.restore()

    mlx_thread().run(stages)


def test_the_known_geometry_is_the_checkpoints(smollm2):
    own, known = (
        snapshot_bytes(build(c, "float32", fill=True), "300+1")
        for c in (smollm2.config, find_config("smollm2-135m"))
    )
    assert own.rows() == known.rows()
