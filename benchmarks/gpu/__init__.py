"""Measurements of a GPU: equality of edge ids, times, memory, and bandwidth."""
