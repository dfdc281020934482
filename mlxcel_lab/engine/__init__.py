"""Everything that touches MLX: models, their cached state, and turns of a conversation.

The names load on first use: rendering a conversation needs no MLX.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {"LabModel": "models", "lab_models": "models", "load": "models", "templates": "models"}

if TYPE_CHECKING:
    from .models import LabModel as LabModel
    from .models import lab_models as lab_models
    from .models import load as load
    from .models import templates as templates

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
