"""The result of a run: a spanning forest, whose columns and clusters are computed on first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..graphs.edge_list import EdgeList
from ..graphs.saved_forest import graph_identity
from ..graphs.source import EdgeSource
from ..graphs.vertex_names import VertexNames
from ..pipeline.catalogue.components import components
from ..pipeline.catalogue.names import algorithm
from ..pipeline.report.report import Report
from ..plugins import wing
from ..primitives import Backend
from ..progress import Listener, set_listener
from ..runtime.device import host_array, is_on_device
from ..runtime.team import kernel_threads
from . import results
from .edges import ForestBlocks, ForestEdges, total
from .query import query
from .streamed import forest_blocks, forest_table, total_weight

#: Edges of a block of the forest. An array of them fills a block of the pool.
_BLOCK_EDGES = 2**19


@dataclass(frozen=True, eq=False, init=False)
class Forest:
    """A minimum (or maximum) spanning forest of a graph.

    If the graph is on a GPU, so are `edge_ids`, `u`, `v`, `weight`, `labels` and the result of
    `cut`. Everything else is computed on the host from copies.

    Attributes
    ----------
    edge_ids : int64 array of length f
        Ids of the forest's edges (positions in the input), ascending. With the strategy "sweep", a
        read-only array in a file if memory does not hold it.
    graph : EdgeList or EdgeSource
        The graph that the forest spans.
    maximum : bool
        Whether this is a maximum spanning forest.
    report : Report
        Time and memory of each round and stage; ``report.plan`` has the algorithm, backend,
        scheduler, strategy and number of partitions.
    known : tuple of arrays
        The columns u, v and weight of the forest if the graph cannot be read again; else empty. If
        Dask computes the graph, u and v may be None.
    """

    edge_ids: NDArray[np.int64]
    graph: EdgeList | EdgeSource
    maximum: bool
    report: Report
    known: tuple[Any, ...] = ()

    def __init__(
        self,
        edge_ids: NDArray[np.int64],
        graph: EdgeList | EdgeSource,
        maximum: bool,
        report: Report,
        known: tuple[Any, ...] = (),
    ) -> None:
        values = self.__dict__  # faster than the assignments of a frozen dataclass
        values["edge_ids"], values["graph"], values["maximum"] = edge_ids, graph, maximum
        values["report"], values["known"] = report, known

    @property
    def u(self) -> NDArray[Any]:
        """First end of each forest edge, with the graph's dtype."""
        return self._edge_columns[0]

    @property
    def v(self) -> NDArray[Any]:
        """Second end of each forest edge, with the graph's dtype."""
        return self._edge_columns[1]

    @property
    def weight(self) -> NDArray[Any]:
        """Weight of each forest edge, with the graph's dtype."""
        return self.known[2] if self.known else self._edge_columns[2]

    @property
    def algorithm(self) -> str:
        """Name of the algorithm that computed the forest."""
        return self.report.plan.algorithm

    @property
    def backend(self) -> str:
        """Name of the backend that computed the forest."""
        return self.report.plan.backend

    @property
    def scheduler(self) -> str:
        """Name of the scheduler that ran the tasks."""
        return self.report.plan.scheduler

    @property
    def strategy(self) -> str:
        """Name of the strategy that split and merged the work."""
        return self.report.plan.strategy

    @property
    def partitions(self) -> int:
        """Number of partitions of the edges."""
        return self.report.plan.partitions

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the graph."""
        return self.graph.num_vertices or 0

    @property
    def names(self) -> VertexNames | None:
        """The names of the vertices, or None.

        They come from ``ends=``, or are the nodes of another library's graph.
        """
        return self.graph.names

    @property
    def num_components(self) -> int:
        """Number of trees, including isolated vertices."""
        return self.num_vertices - len(self.edge_ids)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Component of each vertex (int64, length n), numbered in the order of first vertices."""
        unweighted = np.zeros_like(self.u, np.uint8)
        edges = EdgeList(self.u, self.v, unweighted, num_vertices=self.num_vertices)
        labels: NDArray[np.int64] = query(components, edges, self._query_backend)["labels"]
        return labels

    @cached_property
    def total_weight(self) -> int | float:
        """Sum of the weights: exact for integers, correctly rounded to binary64 for floats."""
        if self._is_streamed:
            return total_weight(EdgeSource.of(self.graph), self.edge_ids)
        return total(host_array(self.weight))

    def to_host(self) -> Forest:
        """Return this forest with all arrays in host memory."""
        if not is_on_device(self.edge_ids):
            return self
        known = tuple(map(host_array, (self.u, self.v, self.weight)))
        return replace(self, edge_ids=host_array(self.edge_ids), known=known)

    def save(self, path: str | Path) -> None:
        """Write the forest to a file or folder; the suffix of `path` selects the format.

        `.npz`, `.parquet`, `.csv` and folders of `.npy` files have the columns edge_id, u, v and
        weight. Except for `.csv`, they also identify the graph, and state whether the forest is a
        maximum spanning forest (see `docs/forest-file.md`). If vertices have names, use `.parquet`
        or `.csv`; u and v are then names. `.gr` and `.mtx` files have the edges as a graph with
        1-based vertices. `docs/formats.md` has the details.

        Parameters
        ----------
        path : path
            An existing file is replaced atomically; a folder must be new or empty.

        Raises
        ------
        OptionError
            If `path` cannot be written, or the graph is streamed from this file.
        """
        source = EdgeSource.of(self.graph)
        doors = wing("doors")
        doors.check_overwrite([path], doors.source_paths(source))
        if self._is_streamed:
            doors.write_table(path, forest_table(source, self.edge_ids))
            return
        doors.write_columns(
            path,
            self._named_columns(),
            num_vertices=self.num_vertices,
            identity={**graph_identity(source), "maximum": self.maximum},
        )

    def dendrogram(self) -> results.Dendrogram:
        """Return the single-linkage hierarchy of the graph, which need not be connected.

        It is computed once. A minimum spanning forest yields the hierarchy by distance. A maximum
        spanning forest yields the hierarchy by similarity.
        """
        return self._dendrogram

    def cut(
        self,
        *,
        k: int | Sequence[int] | None = None,
        distance: Any = None,
        similarity: Any = None,
    ) -> NDArray[np.int64]:
        """Return flat single-linkage clusters at one or several thresholds; see `Dendrogram.cut`.

        Pass exactly one of `k`, `distance` (minimum forest) and `similarity` (maximum forest).
        """
        return self.dendrogram().cut(k=k, distance=distance, similarity=similarity)

    def clusters(self, at: Any, *, progress: bool | Listener = True) -> results.ClusterTable:
        """Return a table of the clusters at each threshold, which can be larger than memory.

        The clusters at threshold t are the components of the graph with only the edges of weight
        at most t (for a maximum forest, at least t). They equal those of `cut`, which returns all
        labels in memory.

        Parameters
        ----------
        at : number or sequence of numbers
            The thresholds, compared exactly with the weights.
        progress : bool or callable
            As for `mstflow.minimum_spanning_forest`.

        Returns
        -------
        ClusterTable
            Numbers and sizes of the clusters (`counts`), the labels, and `save`.

        Raises
        ------
        OptionError
            If `at` is empty, two thresholds are equal, or one is not a number.
        """
        thresholds = [at] if np.ndim(at) == 0 else list(at)
        inputs = wing("doors").source_paths(EdgeSource.of(self.graph))
        with set_listener(progress):
            table: results.ClusterTable = wing("queries").ClusterTable(
                self._blocks, thresholds, self.names, Backend(self.backend), inputs
            )
        return table

    def linkage(
        self, *, disconnected: Literal["raise", "infinity"] = "raise"
    ) -> NDArray[np.float64]:
        """Return the hierarchy as a SciPy linkage matrix; see `Dendrogram.linkage`."""
        return self.dendrogram().linkage(disconnected=disconnected)

    def hdbscan(self, *, min_cluster_size: int = 5) -> NDArray[np.int64]:
        """Return the `labels` of the clusters that `Dendrogram.hdbscan` selects by default."""
        return self.dendrogram().hdbscan(min_cluster_size=min_cluster_size).labels

    def bottleneck(self, a: ArrayLike, b: ArrayLike) -> results.Bottleneck:
        """Return the bottleneck of the path between each pair; see `Dendrogram.bottleneck`."""
        return self.dendrogram().bottleneck(a, b)

    def replacement_edges(self, **options: Any) -> NDArray[np.int64]:
        """Return for each edge of the forest the lightest edge that can replace it.

        If an edge of the forest is removed, its tree splits into two parts. The replacement is the
        first other edge of the graph between these parts, in the order (weight, edge id). The graph
        is read again.

        Parameters
        ----------
        **options
            Options of `minimum_spanning_forest` such as `memory`, `strategy` or `scheduler`. With
            options, the graph is streamed, and its other edges are first reduced to their forest.
            Without options, only graphs that are not in memory are streamed.

        Returns
        -------
        int64 array of length f
            An edge id for each edge of the forest; -1 for a bridge, which has no replacement.

        Raises
        ------
        GraphError
            If the graph can be read only once.
        OptionError
            If an option is invalid.
        """
        ids, backend = self.to_host().edge_ids, self._query_backend
        replacement: NDArray[np.int64] = wing("queries").find_replacements(
            ids, self.graph, backend, options, maximum=self.maximum
        )
        return replacement

    def add(
        self, edges: Any, *, weight: str | None = "weight", ends: Sequence[Any] | None = None
    ) -> Forest:
        """Return the forest of the graph with additional edges, without reading the graph.

        Only the edges of this forest and the new edges are solved. The result is exact: it equals
        the forest of all edges.

        Parameters
        ----------
        edges : EdgeList, tuple of columns, path, or object of another library
            The new edges, in any form that `minimum_spanning_forest` accepts in memory. Vertices
            have the same numbers as in the graph; larger numbers are new vertices. If this forest
            has `names`, tables, files and graphs of networkx and igraph have names, too; other
            names are new vertices. If the graph has m edges, new edge i gets the id ``m + i``.
            Weights must be exact in the dtype of the graph.
        weight : str or None
            Name of the weights; None for weight 1 on every edge.
        ends : sequence of two columns, optional
            The columns of names in a table or file. Default: `u` and `v`, `source` and `target`, or
            `src` and `dst`.

        Returns
        -------
        Forest
            Its `graph` is streamed: the old graph, then the batch.

        Raises
        ------
        GraphError
            If the number of edges of the graph is unknown because it could be read only once, the
            batch is invalid, or only one of the forest and the batch has names, or a weight is not
            exact. Names the edge.
        """
        names, batch = wing("doors").number_batch(self.names, edges, weight, ends)
        graph, candidates, ids = wing("queries").extend_graph(self._edges, self.graph, batch, names)
        fields, report = algorithm("auto").run(
            candidates, maximum=self.maximum, backend=self.backend, progress=False
        )
        chosen = fields["forest"]
        return Forest(ids[chosen], graph, self.maximum, report, candidates.take(chosen))

    def plot(
        self,
        coordinates: ArrayLike,
        *,
        color: str | ArrayLike = "component",
        cmap: Any = None,
        norm: Any = None,
        ax: Any = None,
        **style: Any,
    ) -> Any:
        """Draw the forest's edges as straight lines with matplotlib.

        Parameters
        ----------
        coordinates : array of shape (n, 2)
            Position of each vertex. Edges with an end at NaN are not drawn.
        color : {"component", "weight"} or integer array of length n
            Color edges by tree, by weight, or by labels of the vertices, such as the result of
            `cut`. Edges between different labels are gray and form a second collection.
        cmap, norm : optional
            Colormap and normalization of matplotlib; labels are spread over the values from 0 to 1.
        ax : matplotlib Axes, optional
            The Axes to draw on; by default the current ones.
        **style
            Arguments of `matplotlib.collections.LineCollection`, such as ``linewidths``.

        Returns
        -------
        Axes
            Its last collections have the lines and can be passed to a color bar. Each path of a
            collection has many edges.

        Raises
        ------
        OptionError
            If `coordinates` or `color` are invalid, or matplotlib is not installed.
        """
        if isinstance(color, str) and color == "component":
            color = self.labels
        edges = self.to_host()._edges
        return wing("interop").plot_forest(edges, coordinates, color, cmap, norm, ax, **style)

    def to_scipy(self) -> Any:
        """Return an upper triangular `scipy.sparse.csr_array` of shape (n, n).

        Each edge is stored once. Weights keep their dtype (float16 becomes float32); zero weights
        are stored explicitly. Pass ``directed=False`` to functions of `scipy.sparse.csgraph`. Rows
        are numbers of vertices, even if the vertices have `names`.

        Raises
        ------
        OptionError
            If scipy is not installed.
        """
        return wing("interop").to_scipy(self._host_columns, self.num_vertices)

    def to_networkx(self) -> Any:
        """Return a `networkx.Graph` of all vertices; edges have `weight` and `edge_id`.

        Nodes are the names of the vertices, or their numbers.

        Raises
        ------
        OptionError
            If networkx is not installed.
        """
        nodes = list(self.names or range(self.num_vertices))
        return wing("interop").to_networkx(self._host_columns, nodes)

    def edges_of(self, graph: Any) -> list[tuple[Any, ...]]:
        """Return the forest's edges as tuples of networkx, in ascending order of edge ids.

        Parameters
        ----------
        graph : networkx graph
            The graph that this forest was computed from.

        Returns
        -------
        list of tuples
            ``(u, v, data)``, or ``(u, v, key, data)`` if the graph is a multigraph. The nodes and
            the dictionaries of attributes are those of the graph, not copies.

        Raises
        ------
        GraphError
            If the forest is not of this graph.
        """
        edges: list[tuple[Any, ...]]
        edges = wing("interop").edges_of(self._host_columns, self.num_vertices, graph)
        return edges

    def to_igraph(self) -> Any:
        """Return an `igraph.Graph` of all vertices; edges have `weight` and `edge_id`.

        Names of vertices become the vertex attribute `name`.

        Raises
        ------
        OptionError
            If igraph is not installed.
        """
        return wing("interop").to_igraph(self._host_columns, self.num_vertices, self.names)

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with the columns edge_id, u, v and weight.

        If vertices have names, u and v are names.

        Raises
        ------
        OptionError
            If pandas is not installed.
        """
        return wing("interop").to_pandas(self._named_columns(as_given=True))

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame` with the columns edge_id, u, v and weight.

        If vertices have names, u and v are names.

        Raises
        ------
        OptionError
            If polars is not installed.
        """
        return wing("interop").to_polars(self._named_columns())

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with the columns edge_id, u, v and weight.

        If vertices have names, u and v are names.
        """
        import pyarrow

        return pyarrow.table(self._named_columns())

    @property
    def _is_streamed(self) -> bool:
        """Whether to read the forest's columns block by block, because memory may not hold them."""
        return self.strategy == "sweep" and isinstance(self.graph, EdgeSource)

    @cached_property
    def _edge_columns(self) -> tuple[NDArray[Any], ...]:
        """The columns u, v and weight of the forest, in the memory of the graph."""
        if self._is_streamed:
            wing("doors").check_vertices(EdgeSource.of(self.graph))
        is_known = self.known and self.known[0] is not None
        return self.known if is_known else self.graph.take(self.edge_ids)

    @cached_property
    def _dendrogram(self) -> results.Dendrogram:
        tree: results.Dendrogram = wing("queries").dendrogram(self._edges, self._query_backend)
        return tree

    @property
    def _query_backend(self) -> Backend:
        """The backend of the run, with the default number of threads."""
        return Backend(self.backend, kernel_threads())

    @property
    def _edges(self) -> ForestEdges:
        u, v, weight = self._edge_columns
        return ForestEdges(self.edge_ids, u, v, weight, self.num_vertices, self.maximum)

    @property
    def _blocks(self) -> ForestBlocks:
        """The columns u, v and weight of the forest in blocks; a streamed graph is read once."""
        source = EdgeSource.of(self.graph)
        if self.known or source.is_in_memory or "_edge_columns" in self.__dict__:
            columns = self._edge_columns
            blocks, dtype = iter([columns]), columns[2].dtype
        else:
            wing("doors").check_vertices(source)
            blocks = (block[1:] for block in forest_blocks(source, self.edge_ids, _BLOCK_EDGES))
            dtype = source.first_columns()[2].dtype
        parts = (
            tuple(column[start : start + _BLOCK_EDGES] for column in block)
            for block in blocks
            for start in range(0, len(block[0]), _BLOCK_EDGES)
        )
        return ForestBlocks(parts, dtype, self.num_vertices, self.maximum)

    @property
    def _host_columns(self) -> dict[str, NDArray[Any]]:
        """The columns of the forest in host memory, for files and other libraries."""
        host = self.to_host()
        return {"edge_id": host.edge_ids, "u": host.u, "v": host.v, "weight": host.weight}

    def _named_columns(self, *, as_given: bool = False) -> dict[str, Any]:
        """Return the columns; if vertices have names, u and v are the columns of names."""
        columns: dict[str, Any] = self._host_columns
        if self.names is None:
            return columns
        edge_id, u, v, weight = columns.values()
        named = partial(self.names.columns, as_given=as_given)
        return {"edge_id": edge_id, **named("u", u), **named("v", v), "weight": weight}

    def __repr__(self) -> str:
        return (
            f"<Forest: {len(self.edge_ids)} edge{'s' * (len(self.edge_ids) != 1)} on "
            f"{self.num_vertices} {'vertex' if self.num_vertices == 1 else 'vertices'}, "
            f"{self.num_components} component{'s' * (self.num_components != 1)}, "
            f"total weight {self.total_weight}>"
        )
