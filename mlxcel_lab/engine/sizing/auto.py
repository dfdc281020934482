"""A capacity of `auto`, resolved once the model is known: mlxcel's model-aware rule with this engine's own sizes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...config import AUTO, Message, PromptCacheConfig, Resolved
from ..dry import DryModel, geometry_of
from ..geometry import Geometry, build
from ..models import LabModel
from ..worker import mlx_thread
from .budget import Policy, mlxcel_default
from .memory import free_memory, weights_bytes

_LOG = logging.getLogger("mlxcel_lab.config")


def auto_capacity(
    model: LabModel | DryModel | Geometry | Mapping[str, Any],
    *,
    trimmed: bool = False,
    free_bytes: int | None = None,
) -> Policy:
    """Six snapshots of 8,192 tokens as mlx-lm holds them, at most a quarter of the memory free beside the model.

    A LabModel is in memory already; of a geometry or a config the weights are taken off what is free.
    """
    geometry = mlx_thread().run(lambda: _geometry(model))
    free = free_memory().bytes if free_bytes is None else free_bytes
    beside = free if isinstance(model, LabModel) else max(free - weights_bytes(geometry), 0)
    return replace(mlxcel_default(geometry, beside, allocator="mlx-lm", trimmed=trimmed), name=AUTO)


def with_capacity(
    config: PromptCacheConfig, model: LabModel | DryModel | Geometry | Mapping[str, Any] | Policy
) -> PromptCacheConfig:
    """The config with `auto` resolved for a model, or to a capacity of its own, which is logged.

    An explicit value stays as it is.
    """
    if config.snapshot_capacity_bytes != AUTO:
        return config
    capacity = model if isinstance(model, Policy) else auto_capacity(model)
    _LOG.info("%s", _told(capacity))
    return replace(config, snapshot_capacity_bytes=capacity.capacity_bytes)


def resolve_capacity(
    resolved: Resolved, model: LabModel | DryModel | Geometry | Mapping[str, Any]
) -> Resolved:
    """The resolution with `auto` turned into a number for this model, its reason and parts among the messages."""
    if resolved.config.snapshot_capacity_bytes != AUTO:
        return resolved
    capacity = auto_capacity(model)
    config = replace(resolved.config, snapshot_capacity_bytes=capacity.capacity_bytes)
    return replace(
        resolved, config=config, messages=(*resolved.messages, Message(logging.INFO, _told(capacity)))
    )


def _told(capacity: Policy) -> str:
    return f"snapshot_capacity_bytes: auto is {capacity.capacity_bytes:,} B: {capacity.reason}"


def _geometry(model: LabModel | DryModel | Geometry | Mapping[str, Any]) -> Geometry:
    if isinstance(model, LabModel | DryModel):
        return geometry_of(model)
    return model if isinstance(model, Geometry) else build(dict(model), fill=True)
