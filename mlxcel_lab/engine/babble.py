"""Seeded weights for a lab model: a random network that can only say whole words of the lab's vocabulary.

Every token's embedding carries one constant component that no layer writes to, and the output rows of the tokens that
may not be said point against it, so that their probability vanishes at any usual temperature. What is left are words
with a space before them: their text re-tokenises to exactly the sampled ids. A lab model never ends its turn by itself.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from .backend import mx  # before anything else of MLX

# isort: split
from mlx.utils import tree_flatten, tree_unflatten

from ..paths import data_dir
from .geometry import build

_CONSTANT = 8.0  # the embeddings' first component, against a unit normal in the others
_SILENCE = -60.0  # the forbidden rows' first component: far below the words' logits, whatever the layers add
# Sharp, strong attention: what is said next then hangs on the whole context instead of circling round one word.
_GAINS = {"q_proj": 4.0, "k_proj": 4.0, "o_proj": 4.0}


def seeded_model(config: dict[str, Any], tokenizer: Any) -> Any:
    """The mlx-lm model of that config with float32 weights drawn from the config's own `lab_seed`. Lazy."""
    model = random_model(config, config["lab_seed"], "float32")
    named: Any = tree_flatten(model.parameters())
    model.update(tree_unflatten([_speakable(name, value, tokenizer) for name, value in named]))
    return model


def random_model(config: dict[str, Any], seed: int, dtype: str) -> Any:
    """The mlx-lm model of a config with weights of `dtype` drawn from a seed. Lazy: nothing is evaluated.

    The draw goes by explicit keys: whatever MLX's global random state, the weights are the same. Raises ValueError for
    a config that mlx-lm can't build or call.
    """
    model: Any = build(config, dtype).model
    named: Any = tree_flatten(model.parameters())
    keys = mx.random.split(mx.random.key(seed), len(named))
    drawn = [(name, _draw(name, value, keys[i]).astype(value.dtype)) for i, (name, value) in enumerate(named)]
    model.update(tree_unflatten(drawn))
    model.eval()
    return model


@cache
def lab_words() -> tuple[str, ...]:
    """The words that a lab model can say, each one token with a space before it."""
    return tuple((data_dir() / "tokenizer" / "words.txt").read_text(encoding="utf-8").split())


def _draw(name: str, value: Any, key: Any) -> Any:
    """Matrices at a scale that keeps activations near one; vectors (norms, biases) as the model class made them."""
    if name.endswith("A_log"):  # some classes draw it from the global state
        return mx.log(mx.linspace(1.0, 16.0, value.size)).reshape(value.shape)
    if value.ndim < 2:
        return value
    fan_in = math.prod(value.shape[1:]) if "conv1d" in name else value.shape[-1]
    if "embed" in name:
        return mx.random.normal(value.shape, key=key)
    gain = next((gain for part, gain in _GAINS.items() if part in name), 2.0) / math.sqrt(fan_in)
    return mx.random.normal(value.shape, key=key) * gain


def _speakable(name: str, value: Any, tokenizer: Any) -> tuple[str, Any]:
    if "embed" in name:
        value[:, 0] = _CONSTANT
    elif name.endswith("lm_head.weight"):
        said = mx.array(_speakable_ids(tokenizer))
        rows = value[said] * 1.5  # spread the words' logits: greedy replies then follow the context
        rows[:, 0] = 0.0
        value = mx.zeros_like(value)
        value[:, 0] = _SILENCE
        value[said] = rows
    elif value.ndim == 2:
        value[0] = 0.0  # whichever of these write to the stream, they leave the constant alone
    return name, value


def _speakable_ids(tokenizer: Any) -> list[int]:
    ids = [tokenizer.encode(f" {word}", add_special_tokens=False) for word in lab_words()]
    return [one[0] for one in ids if len(one) == 1]
