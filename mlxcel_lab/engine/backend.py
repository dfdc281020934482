"""MLX itself, imported in one place: modules say `from .backend import mx`, above all else of mlx and mlx_lm.

On Linux the CPU wheel carries a reference BLAS; Debian's OpenBLAS, where it is installed, makes float32 prefill many
times faster, but only if it is in the process before MLX. Where MLX has no backend, the error names the extra.
"""

from __future__ import annotations

import ctypes
import sys
from types import ModuleType
from typing import TYPE_CHECKING

OPENBLAS = "libopenblas.so.0"


def _preload_openblas() -> bool:
    """Puts OpenBLAS before MLX's own BLAS; False where it isn't installed or would come too late."""
    if sys.platform != "linux" or "mlx.core" in sys.modules:
        return False
    try:
        ctypes.CDLL(OPENBLAS, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def _import_mlx() -> ModuleType:
    try:
        import mlx.core
    except ImportError as error:
        raise ImportError(
            f"mlx has no backend on this machine ({error}); install one with\n"
            '  pip install "mlxcel_lab[cpu]"     (macOS, or Linux without a GPU)\n'
            '  pip install "mlxcel_lab[cuda13]"  (Linux with an NVIDIA GPU)'
        ) from error
    return mlx.core


has_openblas: bool = _preload_openblas()
if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = _import_mlx()

__all__ = ["has_openblas", "mx"]
