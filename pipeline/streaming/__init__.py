"""Graphs that are only read in scans: their strategies, bounds on memory, checkpoints."""
