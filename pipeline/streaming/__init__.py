"""Scans of graphs that do not fit in memory: scanner, buffer, memory model, checkpoints."""
