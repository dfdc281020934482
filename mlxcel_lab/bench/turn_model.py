"""What `bench turn` measures: any model that `load` knows, or a config.json at its real widths with seeded weights."""

from __future__ import annotations

from pathlib import Path

from ..engine import LabModel, load
from ..engine.babble import random_model
from ..engine.backend import mx
from ..engine.configs import find_config
from ..engine.models import load_lab_tokenizer
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
    config = find_config(path)
    try:
        model = random_model(config, 0, dtype)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    mx.eval(model.parameters())
    return LabModel(path.stem, model, load_lab_tokenizer(), config, f"seeded/{path.stem}/{dtype}")
