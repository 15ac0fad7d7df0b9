"""The functions of this wing that the core calls by name; see `plugins.wing`."""

from .cluster_table import ClusterTable
from .dendrogram import dendrogram
from .replacement import find_replacements

__all__ = ["ClusterTable", "dendrogram", "find_replacements"]
