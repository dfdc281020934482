"""Where a config.json comes from: a lab model, a known geometry of data/configs, a file, a folder, or a hub id.

Every place that takes a model's name asks here, so that a name means the same everywhere. Nothing here imports MLX.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from ..files import read_text
from ..paths import data_dir

_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w.-]+")
# transformers tags floats that JSON has no word for, so that a config.json stays valid JSON
_TAGS = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}


class FoundConfig(NamedTuple):
    """A config, what to call its model, and the local folder that may hold more of it."""

    name: str
    config: dict[str, Any]
    folder: Path | None = None


def lab_models() -> tuple[str, ...]:
    """The names of the models that ship with the lab, one per kind of cached state."""
    return tuple(sorted(path.parent.name for path in (data_dir() / "models").glob("*/config.json")))


def known_configs() -> tuple[str, ...]:
    """The names of the geometries that ship with the lab: what decides the state's size of published models."""
    return tuple(sorted(path.stem for path in (data_dir() / "configs").glob("*.json")))


def find_config(model: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """The config of a model, see `find`."""
    return find(model).config


def find(model: str | Path | Mapping[str, Any]) -> FoundConfig:
    """A config as a mapping, a lab model's name, a known name in any case, a config.json or its folder, or a hub id.

    In this order: a folder of a shipped name is `./name`. Of a hub id only config.json is fetched (or taken from the
    hub's local cache). Raises ValueError where the name is none of these, or where a hub can't be reached.
    """
    if isinstance(model, Mapping):
        digest = sha256(json.dumps(model, sort_keys=True, default=str).encode()).hexdigest()
        return FoundConfig(f"{model.get('model_type')}-{digest[:8]}", dict(model))
    name, path = str(model), Path(model)
    if name in lab_models():
        return FoundConfig(name, _read(data_dir() / "models" / name / "config.json"))
    if (known := name.lower()) in known_configs():
        return FoundConfig(known, _read(data_dir() / "configs" / f"{known}.json"))
    if path.is_file():
        return FoundConfig(path.stem, _read(path))
    if (path / "config.json").is_file():
        return FoundConfig(path.resolve().name, _read(path / "config.json"), path)
    if is_hub_id(name):
        return FoundConfig(name, _read(_from_hub(name)))
    raise ValueError(_unknown(name))


def is_hub_id(name: str) -> bool:
    """Whether it reads like a hub id, and nothing local has that path."""
    return bool(_HUB_ID.fullmatch(name)) and not Path(name).exists()


def _unknown(name: str) -> str:
    known = known_configs()
    near = difflib.get_close_matches(name.lower(), known, 4, 0.4) or [*known[:3], "…"]
    return (
        f"no config for {name!r}: expected a config.json, a folder that holds one, a lab model "
        f"({', '.join(lab_models())}), a hub id like 'mlx-community/Qwen3.5-0.8B-4bit', or one of {len(known)} known "
        f"geometries ({', '.join(near)})"
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(read_text(path), object_hook=_untag)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} isn't a config.json: {error}") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path} holds a {type(config).__name__}, expected a JSON object")
    return config


def _untag(value: dict[str, Any]) -> Any:
    return _TAGS.get(value["__float__"], value) if set(value) == {"__float__"} else value


def _from_hub(hub_id: str) -> Path:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(hub_id, "config.json"))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"the config.json of {hub_id!r} couldn't be fetched from the hub ({reason}): check the id and the network, "
            "or give the path of a config.json"
        ) from error
