"""Measurements of a GPU: equal edges, times, memory, and the share of the bus."""
