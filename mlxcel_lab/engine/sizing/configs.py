"""Where a config.json comes from: a file, a folder, a lab model, a known geometry of data/configs, or a hub id."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...paths import data_dir

_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w.-]+")
# transformers tags floats that JSON has no word for, so that a config.json stays valid JSON
_TAGS = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}


def known_configs() -> tuple[str, ...]:
    """The names of the geometries that ship with the lab: what decides the state's size of published models."""
    return tuple(sorted(path.stem for path in (data_dir() / "configs").glob("*.json")))


def find_config(model: str | Path | Mapping[str, Any]) -> dict[str, Any]:
    """The config of a model: a mapping as it is, a config.json or its folder, a lab model, a known name, a hub id.

    Of a hub id only config.json is fetched (or taken from the hub's local cache). Raises ValueError where the name is
    none of these, or where a hub can't be reached.
    """
    if isinstance(model, Mapping):
        return dict(model)
    name = str(model)
    places = (
        Path(name),
        Path(name) / "config.json",
        data_dir() / "models" / name / "config.json",
        data_dir() / "configs" / f"{name.lower()}.json",
    )
    for place in places:
        if place.is_file():
            # A lab model's weights are float32, whatever its config doesn't say.
            own = {"dtype": "float32"} if place.parent.parent == data_dir() / "models" else {}
            return {**own, **_read(place)}
    if _HUB_ID.fullmatch(name) and not Path(name).exists():
        return _read(_from_hub(name))
    known = known_configs()
    near = difflib.get_close_matches(name.lower(), known, 4, 0.4) or [*known[:3], "…"]
    raise ValueError(
        f"no config for {name!r}: expected a config.json, a folder that holds one, a lab model, a hub id like "
        f"'mlx-community/Qwen3.5-0.8B-4bit', or one of {len(known)} known geometries ({', '.join(near)})"
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"), object_hook=_untag)
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
