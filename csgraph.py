"""A drop-in replacement for `scipy.sparse.csgraph`: change only the import."""

from .interop.csgraph import minimum_spanning_tree

__all__ = ["minimum_spanning_tree"]
