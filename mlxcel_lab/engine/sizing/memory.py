"""Memory: what the machine really has free, and what a model's weights take of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..backend import mx
from ..geometry import Geometry


@dataclass(frozen=True)
class FreeMemory:
    """Bytes that may still be taken, and how that is known."""

    bytes: int
    source: str


def free_memory() -> FreeMemory:
    """What is free now where MLX keeps its arrays: the GPU's working set on Apple, its memory on CUDA, else RAM."""
    info = mx.device_info()
    if "max_recommended_working_set_size" in info:
        left = int(info["max_recommended_working_set_size"]) - mx.get_active_memory()
        return FreeMemory(max(left, 0), "the GPU's recommended working set less what MLX holds")
    if "free_memory" in info:
        return FreeMemory(int(info["free_memory"]), "the GPU's free memory")
    if "total_memory" in info:
        left = int(info["total_memory"]) - mx.get_active_memory()
        return FreeMemory(max(left, 0), "the GPU's memory less what MLX holds")
    return _ram()


def _ram(root: Path = Path("/")) -> FreeMemory:
    """Available RAM, and within a container no more than its limit leaves."""
    available = _meminfo(root / "proc/meminfo")
    if available is None:
        pages = os.sysconf("SC_AVPHYS_PAGES") if "SC_AVPHYS_PAGES" in os.sysconf_names else 0
        return FreeMemory(pages * os.sysconf("SC_PAGE_SIZE"), "the free pages of RAM")
    limit = _container_left(root / "sys/fs/cgroup")
    if limit is not None and limit < available:
        return FreeMemory(limit, "what the container's limit leaves of the RAM")
    return FreeMemory(available, "the RAM that is available")


def _meminfo(path: Path) -> int | None:
    if not path.is_file():
        return None
    for line in path.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _container_left(cgroup: Path) -> int | None:
    limit, used = cgroup / "memory.max", cgroup / "memory.current"
    if not (limit.is_file() and used.is_file()) or limit.read_text().strip() == "max":
        return None
    return max(int(limit.read_text()) - int(used.read_text()), 0)


def weights_bytes(geometry: Geometry) -> int:
    """What the weights take in the config's own quantisation, else in the geometry's type; matrices are quantised.

    An estimate where a config mixes quantisations, and too small where fields were filled with neutral values.
    """
    from mlx.utils import tree_flatten

    bits = _bits_per_weight(geometry.config)
    total = 0.0
    named: Any = tree_flatten(geometry.model.parameters())
    for _, value in named:
        total += value.size * bits / 8 if bits is not None and value.ndim > 1 else value.nbytes
    return int(total)


def _bits_per_weight(config: Mapping[str, Any]) -> float | None:
    """mlx-lm's affine quantisation: the bits, and a scale and a bias of 16 bits for each group."""
    quantisation = config.get("quantization")
    if not isinstance(quantisation, Mapping) or "bits" not in quantisation:
        return None
    return float(quantisation["bits"]) + 32 / float(quantisation.get("group_size", 64))
