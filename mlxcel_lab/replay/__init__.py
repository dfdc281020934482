"""Traces without a model: readers, generators, simulation, peers."""
