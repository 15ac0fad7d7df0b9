"""The functions of the doors that the core calls by name; see `plugins.wing`."""

from .file_checks import for_hosts
from .formats.forest_file import read_forest
from .formats.npy import npy_source
from .libraries.networkx import edges_of as networkx_edges
from .names.batch import number_batch
from .places.url import places_of
from .read import edge_list, open_graph
from .size_checks import check_vertices, warn_if_sparse
from .write import (
    check_output,
    check_overwrite,
    source_paths,
    write_columns,
    write_graph,
    write_table,
)

__all__ = [
    "check_output",
    "check_overwrite",
    "check_vertices",
    "edge_list",
    "for_hosts",
    "networkx_edges",
    "npy_source",
    "number_batch",
    "open_graph",
    "places_of",
    "read_forest",
    "source_paths",
    "warn_if_sparse",
    "write_columns",
    "write_graph",
    "write_table",
]
