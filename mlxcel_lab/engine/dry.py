"""Dry models: a real model's geometry and a tokenizer, no weights. They answer with the replies they are given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..paths import data_dir
from .geometry import Geometry, build
from .models import chat_template_text, lab_models, load_lab_tokenizer, read_config, with_template
from .worker import mlx_thread


@dataclass(frozen=True, eq=False)
class DryModel:
    """A model's geometry and a tokenizer: an `Engine` on it takes snapshots of exact size that hold no values."""

    name: str
    geometry: Geometry = field(repr=False)
    tokenizer: Any = field(repr=False)
    config: dict[str, Any] = field(repr=False)
    model_id: str = ""


def dry_configs() -> tuple[str, ...]:
    """The names of the real models' geometries that ship with the lab."""
    return tuple(sorted(path.stem for path in (data_dir() / "configs").glob("*.json")))


def load_dry(
    source: str | Path | Mapping[str, Any],
    *,
    template: str | None = None,
    tokenizer: Any = None,
    dtype: str | None = None,
) -> DryModel:
    """The dry model of a lab model's or shipped geometry's name, a config.json (or its folder), or a config itself.

    `tokenizer`: one of your own; None takes the folder's where it has one, else the lab's. `dtype` is the activations'
    type; None is the config's own, float32 for lab models. Raises ValueError for a source that is none of these.
    """
    chat_template = None if template is None else chat_template_text(template)
    name, config, folder = _find(source)
    if name in lab_models() and dtype is None:
        dtype = "float32"

    def make() -> DryModel:
        words = tokenizer or _tokenizer(folder, chat_template)
        if tokenizer is not None and chat_template is not None:
            with_template(words, chat_template)
        geometry = build(config, dtype)
        return DryModel(name, geometry, words, config, model_id=f"dry/{name}/{geometry.dtype}")

    return mlx_thread().run(make)


def _find(source: str | Path | Mapping[str, Any]) -> tuple[str, dict[str, Any], Path | None]:
    """Name, config, and the folder that may hold a tokenizer."""
    if isinstance(source, Mapping):
        digest = sha256(json.dumps(source, sort_keys=True, default=str).encode()).hexdigest()
        return f"{source.get('model_type')}-{digest[:8]}", dict(source), None
    if str(source) in lab_models():
        return str(source), read_config(data_dir() / "models" / str(source) / "config.json"), None
    if str(source) in dry_configs():
        return str(source), read_config(data_dir() / "configs" / f"{source}.json"), None
    path = Path(source)
    if path.is_dir():
        return path.name, read_config(path / "config.json"), path
    if path.is_file():
        return path.stem, read_config(path), None
    raise ValueError(
        f"unknown geometry {str(source)!r}: expected a lab model ({', '.join(lab_models())}), a shipped geometry "
        f"({', '.join(dry_configs())}), or a config.json or its folder"
    )


def _tokenizer(folder: Path | None, chat_template: str | None) -> Any:
    if folder is None or not (folder / "tokenizer_config.json").is_file():
        return load_lab_tokenizer(chat_template)
    from . import backend  # noqa: F401, I001  (before mlx: see there)
    from mlx_lm.utils import load_tokenizer

    tokenizer = load_tokenizer(folder)
    return tokenizer if chat_template is None else with_template(tokenizer, chat_template)
