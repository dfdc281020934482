"""Why a request missed: causes, evidence and advice, from tokens, messages and the store's journal. No MLX."""

from .asked import Asked
from .causes import MEANINGS, Cause, Evidence, Explanation, Piece
from .explain import explain, what_ended

__all__ = ["MEANINGS", "Asked", "Cause", "Evidence", "Explanation", "Piece", "explain", "what_ended"]
