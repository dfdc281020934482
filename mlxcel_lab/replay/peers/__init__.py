"""Other caches on the same traces: mlx-lm's prompt cache itself, and the block cache of the block engines."""

from .block_lru import BlockCurve as BlockCurve
from .block_lru import block_lru as block_lru
from .mlx_lm import beside_mlx_lm as beside_mlx_lm
from .mlx_lm import replay_mlx_lm as replay_mlx_lm
