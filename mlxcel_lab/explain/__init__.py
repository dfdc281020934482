"""Why a request missed: causes, evidence and advice, from tokens, messages and the store's journal. No MLX."""

from .asked import Asked
from .causes import MEANINGS, Cause, Evidence, Explanation, Piece
from .explain import explain, what_ended
from .past import lookup_seq

__all__ = [
    "MEANINGS", "Asked", "Cause", "Evidence", "Explanation", "Piece", "explain", "lookup_seq", "what_ended",
]  # fmt: skip
