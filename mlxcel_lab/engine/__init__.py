"""Everything that touches MLX: models, their cached state, and turns of a conversation.

The names load on first use: rendering a conversation needs no MLX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_names

_HOME = {
    "CapturedState": "state",
    "DryModel": "dry",
    "Engine": "engine",
    "LabModel": "models",
    "Stream": "stream",
    "Turn": "turn",
    "WarmUpStats": "warmup",
    "capture": "state",
    "known_configs": "configs",
    "lab_models": "configs",
    "load": "models",
    "load_dry": "dry",
    "templates": "models",
}

if TYPE_CHECKING:
    from .configs import known_configs as known_configs
    from .configs import lab_models as lab_models
    from .dry import DryModel as DryModel
    from .dry import load_dry as load_dry
    from .engine import Engine as Engine
    from .models import LabModel as LabModel
    from .models import load as load
    from .models import templates as templates
    from .state import CapturedState as CapturedState
    from .state import capture as capture
    from .stream import Stream as Stream
    from .turn import Turn as Turn
    from .warmup import WarmUpStats as WarmUpStats

__all__ = [*_HOME]
__getattr__ = lazy_names(__name__, _HOME)
