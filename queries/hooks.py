"""The functions of this wing that the core calls by name; see `plugins.wing`."""

from .added import extend_graph
from .cluster_table import ClusterTable
from .dendrogram import Bottleneck, Dendrogram, dendrogram
from .replacement import find_replacements

__all__ = [
    "Bottleneck",
    "ClusterTable",
    "Dendrogram",
    "dendrogram",
    "extend_graph",
    "find_replacements",
]
