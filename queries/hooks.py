"""The functions of this wing that the core calls by name; see `plugins.wing`."""

from .added import extend_graph
from .cluster_table import ClusterTable
from .dendrogram import dendrogram
from .replacement import find_replacements

__all__ = ["ClusterTable", "dendrogram", "extend_graph", "find_replacements"]
