"""Dry models: a real model's geometry and a tokenizer, no weights. They answer with the replies they are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .backend import mx  # before anything else of MLX

# isort: split
from mlx.utils import tree_flatten

from .configs import find
from .geometry import Geometry, build
from .models import LabModel, chat_template_text, load_lab_tokenizer, with_template
from .worker import mlx_thread


@dataclass(frozen=True, eq=False)
class DryModel:
    """A model's geometry and a tokenizer: an `Engine` on it takes snapshots of exact size that hold no values."""

    name: str
    geometry: Geometry = field(repr=False)
    tokenizer: Any = field(repr=False)
    config: dict[str, Any] = field(repr=False)
    model_id: str = ""


def load_dry(
    source: str | Path | Mapping[str, Any],
    *,
    template: str | None = None,
    tokenizer: Any = None,
    dtype: str | None = None,
) -> DryModel:
    """The dry model of any config that `configs.find` finds: a name, a path, a hub id, or a config itself.

    `tokenizer`: one of your own; None takes the folder's where it has one, else the lab's. `dtype` is the activations'
    type; None is the config's own. Raises ValueError for a source that is nothing of the kind.
    """
    chat_template = None if template is None else chat_template_text(template)
    name, config, folder = find(source)

    def make() -> DryModel:
        words = tokenizer or _tokenizer(folder, chat_template)
        if tokenizer is not None and chat_template is not None:
            with_template(words, chat_template)
        geometry = build(config, dtype)
        return DryModel(name, geometry, words, config, model_id=f"dry/{name}/{geometry.dtype}")

    return mlx_thread().run(make)


def geometry_of(model: LabModel | DryModel) -> Geometry:
    """A model's geometry; a loaded one's in the type it computes in, whatever its config says. On the MLX thread."""
    return (
        model.geometry if isinstance(model, DryModel) else build(model.config, _computes_in(model), fill=True)
    )


def _computes_in(model: LabModel) -> str:
    """The type of the first floating parameters (a quantised matrix's scales)."""
    named: Any = tree_flatten(model.model.parameters())
    floating = (value.dtype for _, value in named if mx.issubdtype(value.dtype, mx.floating))
    return str(next(floating, mx.bfloat16)).rpartition(".")[2]


def _tokenizer(folder: Path | None, chat_template: str | None) -> Any:
    if folder is None or not (folder / "tokenizer_config.json").is_file():
        return load_lab_tokenizer(chat_template)
    from mlx_lm.utils import load_tokenizer

    tokenizer = load_tokenizer(folder)
    return tokenizer if chat_template is None else with_template(tokenizer, chat_template)
