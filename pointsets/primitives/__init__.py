"""Primitives for points, and their versions by compiled kernels and on a GPU."""
