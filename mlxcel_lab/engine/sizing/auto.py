"""A capacity of `auto`, resolved once the model is known: mlxcel's model-aware rule with this engine's own sizes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...config import AUTO, Message, PromptCacheConfig, Resolved
from ..backend import mx
from ..dry import DryModel
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
    geometry, loaded = mlx_thread().run(lambda: _geometry(model))
    free = free_memory().bytes if free_bytes is None else free_bytes
    beside = free if loaded else max(free - weights_bytes(geometry), 0)
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


def _geometry(model: LabModel | DryModel | Geometry | Mapping[str, Any]) -> tuple[Geometry, bool]:
    """The model's geometry, and whether its weights are in memory."""
    if isinstance(model, LabModel):
        return build(model.config, _dtype(model.model), fill=True), True
    if isinstance(model, DryModel):
        return model.geometry, False
    return (model, False) if isinstance(model, Geometry) else (build(dict(model), fill=True), False)


def _dtype(model: Any) -> str:
    """The type a loaded model computes in: that of its first floating parameters (a quantised matrix's scales)."""
    from mlx.utils import tree_flatten

    named: Any = tree_flatten(model.parameters())
    floating = (value.dtype for _, value in named if mx.issubdtype(value.dtype, mx.floating))
    return str(next(floating, mx.bfloat16)).rpartition(".")[2]
