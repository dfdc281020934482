"""Measurements: each prints its conditions and both sides of its ratio."""
