"""Notebooks as runs: one with checked parameters, what it hands over, and where its results lie."""

from .handover import hand_over, result_of
from .parameters import Parameter, find_notebook, inspect

__all__ = ["Parameter", "find_notebook", "hand_over", "inspect", "result_of"]
