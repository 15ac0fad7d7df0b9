"""Compiled primitives for points: the tree, and the searches in it."""
