"""Scans of graphs that do not fit in memory: stages, buffer, memory model, checkpoints."""
