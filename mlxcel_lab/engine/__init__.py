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
    "dry_configs": "dry",
    "lab_models": "models",
    "load": "models",
    "load_dry": "dry",
    "templates": "models",
}

if TYPE_CHECKING:
    from .dry import DryModel as DryModel
    from .dry import dry_configs as dry_configs
    from .dry import load_dry as load_dry
    from .engine import Engine as Engine
    from .models import LabModel as LabModel
    from .models import lab_models as lab_models
    from .models import load as load
    from .models import templates as templates
    from .state import CapturedState as CapturedState
    from .state import capture as capture
    from .stream import Stream as Stream
    from .turn import Turn as Turn
    from .warmup import WarmUpStats as WarmUpStats

__all__ = [*_HOME]
__getattr__ = lazy_names(__name__, _HOME)
