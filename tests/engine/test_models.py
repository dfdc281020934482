"""Lab models: they load by name, say whole words, and their replies re-tokenise to what was sampled."""

from __future__ import annotations

import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlxcel_lab.engine import lab_models, load, templates
from mlxcel_lab.engine.babble import lab_words, random_model
from mlxcel_lab.engine.backend import mx
from mlxcel_lab.engine.configs import find_config
from mlxcel_lab.engine.worker import mlx_thread
from mlxcel_lab.paths import data_dir

LAB_MODELS = ("chunked", "dense", "falcon-h1", "gated-delta", "mamba2", "sliding-window")


def _sample(model, seed, count=24, temperature=1.0):
    def work():
        from mlx_lm.generate import generate_step
        from mlx_lm.sample_utils import make_sampler

        mx.random.seed(seed)
        prompt = model.tokenizer.apply_chat_template(
            [{"role": "user", "content": "Tell me a story."}], add_generation_prompt=True
        )
        steps = generate_step(
            mx.array(prompt), model.model, max_tokens=count, sampler=make_sampler(temperature)
        )
        return [token for token, _ in steps]

    return mlx_thread().run(work)


def test_one_lab_model_ships_per_kind_of_state():
    assert set(lab_models()) == set(LAB_MODELS)
    assert "plain" in templates()


def test_a_lab_model_costs_megabytes(lab, name):
    weights = tree_flatten(lab(name).model.parameters())
    assert sum(value.nbytes for _, value in weights) < 4_000_000


@pytest.mark.parametrize("seed", range(4))
def test_a_sampled_reply_retokenises_to_the_sampled_ids(lab, name, seed):
    model = lab(name)
    ids = _sample(model, seed)
    said = model.tokenizer.decode(ids)
    assert model.tokenizer.encode(said, add_special_tokens=False) == ids
    assert set(said.split()) <= set(lab_words())


def test_the_same_seed_gives_the_same_weights_whatever_the_global_random_state():
    import mlx.core as mx

    mlx_thread().run(lambda: mx.random.seed(1))
    first = _sample(load("gated-delta"), seed=0, temperature=0.0)
    mlx_thread().run(lambda: mx.random.seed(2))
    assert _sample(load("gated-delta"), seed=0, temperature=0.0) == first


@pytest.mark.parametrize("name", ["gpt", "a/b/c", "", "tests"])
def test_an_unknown_name_is_refused_with_the_names_there_are(name):
    with pytest.raises(ValueError, match="expected a lab model"):
        load(name)


def test_a_folder_without_weights_is_refused_with_the_reason():
    folder = str(data_dir() / "models" / "dense")
    with pytest.raises(ValueError, match=r"can't load the model .*No safetensors found"):
        load(folder)


def test_an_unknown_template_is_refused_with_the_names_there_are():
    with pytest.raises(ValueError, match=r"unknown chat template 'nope'.*plain"):
        load("dense", template="nope")


def test_a_template_can_be_given_as_text():
    model = load("dense", template="{% for m in messages %}{{ m.content }}{% endfor %}")
    assert (
        model.tokenizer.decode(model.tokenizer.apply_chat_template([{"role": "user", "content": " the sea"}]))
        == " the sea"
    )


def test_a_loaded_models_config_is_the_one_that_is_found_under_its_name(lab, name):
    assert lab(name).config == find_config(name)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_random_weights_have_the_models_shapes_the_type_asked_for_and_one_value_a_seed(dtype):
    config = find_config("gated-delta")

    def weights(seed):
        drawn = tree_flatten(random_model(config, seed, dtype).parameters())
        assert {str(value.dtype) for name, value in drawn if name.endswith("weight")} == {f"mlx.core.{dtype}"}
        return {name: np.array(value.astype(mx.float32)) for name, value in drawn}

    one, again, other = (mlx_thread().run(lambda seed=seed: weights(seed)) for seed in (1, 1, 2))
    assert all(np.isfinite(value).all() for value in one.values())
    assert all((one[name] == again[name]).all() for name in one)
    assert any((one[name] != other[name]).any() for name in one)


def test_a_config_that_no_model_can_be_built_of_is_refused_by_its_reason():
    with pytest.raises(ValueError, match="Model type nonesuch not supported"):
        mlx_thread().run(lambda: random_model({"model_type": "nonesuch"}, 0, "float32"))
