"""What `bench turn` measures: any model that `load` knows, or a config.json at its real widths with seeded weights."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from ..engine import LabModel, load
from ..engine.backend import mx
from ..engine.models import load_lab_tokenizer, read_config
from ..engine.worker import mlx_thread


def model_to_measure(source: str, dtype: str) -> LabModel:
    """A lab model's name, a folder, a hub id; or a config.json, which gets random weights of `dtype` from a fixed seed.

    Seeded weights say nothing sensible, but cost what real ones cost: the shapes are the model's own.
    """
    path = Path(source)
    if path.suffix == ".json":
        return mlx_thread().run(lambda: _seeded(path, dtype))
    return load(source)


def _seeded(path: Path, dtype: str) -> LabModel:
    from mlx.utils import tree_flatten, tree_unflatten
    from mlx_lm.utils import _get_classes

    config = read_config(path)
    try:
        model_class, args_class = _get_classes(config)
        model = model_class(args_class.from_dict(config))
    except (KeyError, TypeError) as error:  # what mlx-lm says of a field that is missing
        raise ValueError(f"{path} isn't a config that mlx-lm can build a model of: {error}") from error
    named = tree_flatten(model.parameters())
    keys = mx.random.split(mx.random.key(0), len(named))
    kind = getattr(mx, dtype)
    model.update(
        tree_unflatten([(name, _draw(value, keys[i], kind)) for i, (name, value) in enumerate(named)])
    )
    model.eval()
    mx.eval(model.parameters())
    return LabModel(path.stem, model, load_lab_tokenizer(), config, f"seeded/{path.stem}/{dtype}")


def _draw(value: Any, key: Any, dtype: Any) -> Any:
    """Matrices at a scale that keeps activations near one; vectors as the class made them."""
    if value.ndim < 2:
        return value.astype(dtype)
    return (mx.random.normal(value.shape, key=key) / math.sqrt(value.shape[-1])).astype(dtype)
