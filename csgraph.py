"""A drop-in replacement for `scipy.sparse.csgraph`: change the import, and nothing else."""

from .interop.csgraph import minimum_spanning_tree

__all__ = ["minimum_spanning_tree"]
