"""Incomplete configs: what is missing, and the neutral values of fields that don't matter for the state's size.

A published config.json is complete; one gathered for sizing often isn't. Nothing is filled unless it is asked for, and
only fields of this table ever are: a field that decides the size of the state (layers, heads, widths of heads, windows,
state sizes) is never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Values under which a layer does nothing unusual. None of them enters the shape or the type of a cache.
NEUTRAL: Mapping[str, Any] = {
    "attention_bias": False,
    "attention_multiplier": 1.0,
    "block_auto_adjust_ff_dim": False,
    "block_ffn_dim_multiplier": 1.0,
    "block_multiple_of": 256,
    "conv_bias": False,
    "embedding_multiplier": 1.0,
    "intermediate_size": 1024,
    "layer_norm_epsilon": 1e-5,
    "layer_norm_eps": 1e-5,
    "logits_scaling": 1.0,
    "mamba_conv_bias": False,
    "mamba_proj_bias": False,
    "max_position_embeddings": 1 << 20,
    "mlp_bias": False,
    "norm_eps": 1e-5,
    "norm_topk_prob": True,
    "residual_multiplier": 1.0,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": True,
    "time_step_limit": (0.0, float("inf")),
    "time_step_rank": "auto",
    "use_bias": False,
    "use_conv_bias": False,
    "use_expert_bias": False,
    "vocab_size": 1024,
}

# The same field under the name that mlx-lm reads: without it, mlx-lm would derive a head width that may be wrong.
_ALIASES = {"nemotron_h": {"attention_head_dim": "head_dim"}}


class MissingFields(ValueError):
    """A config lacks fields. `fields`: all of those reported; `neutral`: those that may be filled when asked for."""

    def __init__(self, model_type: str, fields: tuple[str, ...]) -> None:
        self.fields = fields
        self.neutral = tuple(name for name in fields if name in NEUTRAL)
        needed = [name for name in fields if name not in NEUTRAL]
        advice = (
            f"add {', '.join(needed)} to the config"
            if needed
            else "pass fill=True to give them neutral values"
        )
        also = f" ({', '.join(self.neutral)}: not needed for the size)" if needed and self.neutral else ""
        super().__init__(f"the config of model_type {model_type!r} lacks {', '.join(fields)}: {advice}{also}")


def with_aliases_read(config: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A copy that can be changed, with aliases read in, and a note for each of them."""
    if not isinstance(config, Mapping):
        raise TypeError(f"a config is a mapping as read from config.json, not {type(config).__name__}")
    if not config.get("model_type"):
        raise MissingFields("?", ("model_type",))
    copy: dict[str, Any] = {k: dict(v) if isinstance(v, Mapping) else v for k, v in config.items()}
    notes = []
    for old, new in _ALIASES.get(str(copy["model_type"]), {}).items():
        if old in copy and copy.get(new) is None:
            copy[new] = copy[old]
            notes.append(f"{new} = {copy[old]} read from {old}")
    return copy, tuple(notes)


def missing_in(error: TypeError) -> tuple[str, ...]:
    """The field names in the TypeError of a dataclass that lacks arguments; another TypeError is raised again."""
    text = str(error)
    if "missing" not in text or "required" not in text:
        raise error
    return tuple(re.findall(r"'(\w+)'", text.partition("missing")[2]))


def complete(
    config: dict[str, Any], fields: tuple[str, ...], filled: dict[str, Any], fill: bool, cause: Exception
) -> dict[str, Any]:
    """The config with neutral values for `fields`, noted in `filled`; else MissingFields."""
    if not fill or any(name not in NEUTRAL or name in filled for name in fields):
        raise MissingFields(str(config["model_type"]), fields) from cause
    values = {name: NEUTRAL[name] for name in fields}
    filled.update(values)
    text = config.get("text_config")
    nested = {"text_config": {**values, **text}} if isinstance(text, Mapping) else {}
    return {**values, **config, **nested}
