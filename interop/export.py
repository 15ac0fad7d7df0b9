"""Conversion of forests to objects of other libraries, which are imported only when needed.

The methods of `Forest` with the same names document these functions.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..doors.libraries.networkx import edges_of as networkx_edges
from ..errors import GraphError, OptionError
from ..graphs.edge_list import NamedColumns
from ..graphs.libraries import class_names
from ..graphs.vertex_names import VertexNames


def to_scipy(columns: NamedColumns, num_vertices: int) -> Any:
    """Return a `scipy.sparse.csr_array` with each edge stored once, above the diagonal."""
    sparse = _import_library("scipy.sparse", "to_scipy")
    u, v, weight = (columns[name] for name in ("u", "v", "weight"))
    # Some of scipy's algorithms need int32.
    dtype = np.int32 if num_vertices <= np.iinfo(np.int32).max else np.int64
    u, v = u.astype(dtype, copy=False), v.astype(dtype, copy=False)  # minimum needs one dtype
    if weight.dtype == np.float16:  # scipy does not support it
        weight = weight.astype(np.float32)
    positions = (np.minimum(u, v), np.maximum(u, v))
    return sparse.csr_array((weight, positions), shape=(num_vertices, num_vertices))


def to_networkx(columns: NamedColumns, nodes: Sequence[Any]) -> Any:
    """Return a `networkx.Graph` of all vertices and the forest's edges."""
    graph = _import_library("networkx", "to_networkx").Graph()
    graph.add_nodes_from(nodes)
    u, v, weight, edge_id = (columns[name].tolist() for name in ("u", "v", "weight", "edge_id"))
    graph.add_edges_from(
        (nodes[a], nodes[b], {"weight": w, "edge_id": e})
        for a, b, w, e in zip(u, v, weight, edge_id, strict=True)
    )
    return graph


def edges_of(columns: NamedColumns, num_vertices: int, graph: Any) -> list[tuple[Any, ...]]:
    """Return the forest's edges as tuples of the networkx graph that it was computed from."""
    if "networkx.Graph" not in class_names(graph):
        raise GraphError(f"edges_of expects a networkx graph, not {type(graph).__name__}")
    edges = networkx_edges(graph)
    ids, u, v = (columns[name] for name in ("edge_id", "u", "v"))
    is_large_enough = len(edges.nodes) == num_vertices and bool((ids < len(edges.u)).all())
    if not is_large_enough or (edges.u[ids] != u).any() or (edges.v[ids] != v).any():
        message = (
            f"the forest is not of this graph, which has {len(edges.nodes)} nodes and "
            f"{len(edges.u)} edges; pass the graph that it was computed from, unchanged"
        )
        raise GraphError(message)
    return list(edges.tuples(ids))


def to_igraph(columns: NamedColumns, num_vertices: int, names: VertexNames | None) -> Any:
    """Return an `igraph.Graph` of all vertices and the forest's edges."""
    igraph = _import_library("igraph", "to_igraph")
    ends = zip(columns["u"].tolist(), columns["v"].tolist(), strict=True)
    attributes = {name: columns[name].tolist() for name in ("weight", "edge_id")}
    named = {} if names is None else {"name": list(names)}
    return igraph.Graph(n=num_vertices, edges=list(ends), edge_attrs=attributes, vertex_attrs=named)


def to_pandas(columns: Mapping[str, Any]) -> Any:
    """Return the columns as a `pandas.DataFrame`, with their dtypes. Names are pandas' strings."""
    pandas = _import_library("pandas", "to_pandas")
    return pandas.DataFrame(_converted(columns, lambda names: names.to_pandas()))


def to_polars(columns: Mapping[str, Any]) -> Any:
    """Return the columns as a `polars.DataFrame`, with their dtypes."""
    polars = _import_library("polars", "to_polars")
    return polars.DataFrame(_converted(columns, polars.from_arrow))


def _converted(columns: Mapping[str, Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the columns; `convert` is applied to the Arrow columns, which have names."""
    return {
        name: column if isinstance(column, np.ndarray) else convert(column)
        for name, column in columns.items()
    }


def _import_library(module: str, method: str) -> Any:
    """Import a module that a method of `Forest` needs."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise  # the package is installed, but one of its own imports fails
        message = f"{method}() needs the package {package}; install mstflow[io]"
        raise OptionError(message) from error
