"""A geometry's cache is what mlx-lm's own classes would hold, and an incomplete config says what it lacks."""

from copy import deepcopy

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlxcel_lab.engine.configs import find_config
from mlxcel_lab.engine.geometry import GeometryError, MissingFields, build, leaves

from .families import DENSE, FAMILIES, GATED, GEOMETRIES


def _shapes(cache):
    return [
        [
            (a.shape, a.dtype) if isinstance(a, mx.array) else None
            for a in (getattr(leaf, "cache", None) or (leaf.keys, leaf.values))
        ]
        for leaf in leaves(cache)
    ]


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=12, deadline=None)
@given(calls=st.lists(st.sampled_from([1, 1, 1, 2, 37, 255, 256, 257, 310]), min_size=1, max_size=7))
def test_replaying_what_the_layers_feed_gives_the_shapes_of_calling_the_model(family, calls):
    geometry = GEOMETRIES[family]
    assert _shapes(geometry.cache_after(calls)) == _shapes(geometry.cache_after(calls, exact=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_replayed_cache_counts_its_tokens_as_the_models_own_does(family):
    geometry = GEOMETRIES[family]
    replayed, called = (geometry.cache_after([300, 1, 120, 1], exact=exact) for exact in (False, True))
    plain = [{k: v for k, v in vars(leaf).items() if isinstance(v, int)} for leaf in leaves(called)]
    assert plain == [{k: v for k, v in vars(leaf).items() if isinstance(v, int)} for leaf in leaves(replayed)]


def test_a_kv_cache_cut_in_the_middle_of_a_step_grows_from_its_offset():
    assert GEOMETRIES["dense"].cache_after([150, 107])[0].keys.shape == (1, 2, 406, 16)


def test_no_family_of_these_needs_the_slow_way():
    assert all(geometry._feeds is not None for geometry in GEOMETRIES.values())


def test_an_answer_for_a_million_tokens_costs_no_memory_for_them():
    before = mx.get_active_memory()
    cache = GEOMETRIES["gated"].cache_after([1_000_000])
    assert sum(leaf.nbytes for leaf in leaves(cache)) > 100_000_000
    assert mx.get_active_memory() - before < 1_000_000


def test_the_types_of_activations_and_recurrent_state_are_the_models_own():
    half, single = (build(GATED, dtype).cache_after([5]) for dtype in ("bfloat16", "float32"))
    convolution, recurrent = half[0].cache
    assert (convolution.dtype, recurrent.dtype, half[3].keys.dtype) == (mx.bfloat16, mx.float32, mx.bfloat16)
    assert (single[0].cache[0].dtype, single[3].keys.dtype) == (mx.float32, mx.float32)


def test_the_configs_own_dtype_is_used_unless_another_is_asked_for():
    assert build({**DENSE, "torch_dtype": "float16"}).dtype == "float16"
    assert build({**DENSE, "torch_dtype": "float16"}, "float32").dtype == "float32"
    assert build(DENSE).dtype == "bfloat16"


def test_an_unknown_dtype_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown dtype 'int4': expected one of bfloat16"):
        build(DENSE, "int4")


def test_missing_fields_are_named_and_those_that_decide_the_size_are_never_guessed():
    config = {k: v for k, v in DENSE.items() if k not in ("num_hidden_layers", "rms_norm_eps")}
    for fill in (False, True):
        with pytest.raises(
            MissingFields, match="lacks num_hidden_layers, rms_norm_eps: add num_hidden_layers"
        ) as error:
            build(config, fill=fill)
        assert error.value.neutral == ("rms_norm_eps",)


def test_fields_that_do_not_matter_for_the_size_are_filled_only_when_asked_and_said():
    config = {k: v for k, v in DENSE.items() if k not in ("rms_norm_eps", "intermediate_size", "vocab_size")}
    with pytest.raises(MissingFields, match="pass fill=True"):
        build(config)
    geometry = build(config, fill=True)
    assert set(geometry.filled) == {"rms_norm_eps", "intermediate_size", "vocab_size"}
    assert _shapes(geometry.cache_after([70])) == _shapes(GEOMETRIES["dense"].cache_after([70]))


def test_a_field_missing_inside_the_text_config_is_filled_there():
    text = {k: v for k, v in GATED["text_config"].items() if k != "rms_norm_eps"}
    geometry = build({**GATED, "text_config": text}, fill=True)
    assert _shapes(geometry.cache_after([70])) == _shapes(GEOMETRIES["gated"].cache_after([70]))


@pytest.mark.parametrize("name", ["gated-delta", "qwen3.5-0.8b", "gemma-3-4b"])
def test_the_callers_config_is_left_as_it_was_and_so_is_the_geometrys(name):
    config = find_config(name)
    before = deepcopy(config)
    geometry = build(config)
    assert config == before
    assert {key: geometry.config[key] for key in before} == before


def test_the_callers_config_is_left_as_it_was():
    config = {"model_type": "gemma3_text", "sliding_window": 512}
    build(config, fill=True)
    assert config == {"model_type": "gemma3_text", "sliding_window": 512}


def test_a_head_width_under_another_name_is_read_instead_of_derived():
    config = {
        "model_type": "nemotron_h", "hidden_size": 64, "hybrid_override_pattern": "M*", "num_hidden_layers": 2,
        "num_attention_heads": 3, "num_key_value_heads": 1, "attention_head_dim": 16, "mamba_num_heads": 2,
        "mamba_head_dim": 32, "n_groups": 1, "ssm_state_size": 16, "conv_kernel": 4,
    }  # fmt: skip
    geometry = build(config, fill=True)
    assert geometry.notes == ("head_dim = 16 read from attention_head_dim",)
    assert geometry.cache_after([3])[1].keys.shape == (1, 1, 256, 16)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "lacks model_type"),
        ({"model_type": "no_such_family"}, "can't build model_type 'no_such_family'.*not supported"),
        ({**DENSE, "num_attention_heads": 0}, "can't build model_type 'llama'"),
    ],
)
def test_a_config_that_cannot_be_built_is_a_value_error_that_says_why(config, message):
    with pytest.raises(ValueError, match=message):
        build(config)


def test_what_is_not_a_mapping_is_refused():
    with pytest.raises(TypeError, match="a config is a mapping"):
        build([1, 2])


@pytest.mark.parametrize("count", [0, -3])
def test_a_call_of_no_tokens_is_refused(count):
    with pytest.raises(ValueError, match=f"at least one token, not {count}"):
        GEOMETRIES["dense"].cache_after([count])


def test_the_error_of_a_config_that_builds_but_cannot_run_comes_from_build():
    with pytest.raises(GeometryError, match="can't call it"):
        build({**DENSE, "num_key_value_heads": 3})
