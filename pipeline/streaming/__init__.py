"""Graphs that are only read in scans: the buffer, bounds on memory, the plan, checkpoints."""
