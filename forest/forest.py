"""The result: edge ids, and on demand everything that follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graphs.forest_file import graph_identity
from ..graphs.source import EdgeSource
from ..graphs.write import write_columns
from ..primitives import Backend
from ..runtime.device import host_array, is_on_device
from . import export as interop
from .clusters import component_labels, cut, linkage
from .edges import ForestEdges
from .hdbscan import hdbscan

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from ..graphs.edge_list import EdgeList
    from ..pipeline.report.report import Report


@dataclass(frozen=True, eq=False)
class Forest:
    """A minimum (or maximum) spanning forest of a graph.

    Of a graph on a GPU it lies there, too: `edge_ids`, `u`, `v`, `weight`, `labels` and what `cut`
    returns. All else is of the host; what it needs is copied.

    Attributes
    ----------
    edge_ids : int64 array of length f
        The forest's edges, ascending: positions in the input.
    graph : EdgeList or EdgeSource
        The graph it spans.
    maximum : bool
        Whether it is the heaviest there is.
    report : Report
        What each round and stage took; ``report.plan`` says by which algorithm, backend, scheduler
        and strategy the forest was found, and in how many partitions.
    known : tuple of arrays
        u, v and weight, if the graph cannot be asked for them again.
    """

    edge_ids: NDArray[np.int64]
    graph: EdgeList | EdgeSource
    maximum: bool
    report: Report
    known: tuple[NDArray[Any], ...] = ()

    @property
    def u(self) -> NDArray[Any]:
        """First end of each forest edge, in the dtype of the graph."""
        return self._taken[0]

    @property
    def v(self) -> NDArray[Any]:
        """Second end of each forest edge, in the dtype of the graph."""
        return self._taken[1]

    @property
    def weight(self) -> NDArray[Any]:
        """Weight of each forest edge, in the dtype of the graph."""
        return self._taken[2]

    @property
    def algorithm(self) -> str:
        """Name of the algorithm that found it."""
        return self.report.plan.algorithm

    @property
    def backend(self) -> str:
        """Name of the array module that it was found with."""
        return self.report.plan.backend

    @property
    def scheduler(self) -> str:
        """Name of the scheduler that ran the tasks."""
        return self.report.plan.scheduler

    @property
    def strategy(self) -> str:
        """Name of the strategy."""
        return self.report.plan.strategy

    @property
    def partitions(self) -> int:
        """Number of partitions."""
        return self.report.plan.partitions

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the graph."""
        return self.graph.num_vertices or 0

    @property
    def num_components(self) -> int:
        """Number of trees, single vertices among them."""
        return self.num_vertices - len(self.edge_ids)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Component of each vertex (int64, length n), numbered by their first vertices."""
        return component_labels(self.u, self.v, self.num_vertices, Backend(self.backend))

    @cached_property
    def total_weight(self) -> int | float:
        """Sum of the weights: exact for integers, the correctly rounded binary64 for floats."""
        return total(host_array(self.weight))

    def to_host(self) -> Forest:
        """Return the same forest with its arrays in the memory of the host."""
        if not is_on_device(self.edge_ids):
            return self
        known = tuple(map(host_array, (self.u, self.v, self.weight)))
        return replace(self, edge_ids=host_array(self.edge_ids), known=known)

    def save(self, path: str | Path, *, coordinates: ArrayLike | None = None) -> None:
        """Write the forest in the form that the name of `path` asks for (`docs/formats.md`).

        `.npz`, `.parquet`, `.csv` or a folder of `.npy` hold columns edge_id, u, v, weight, and
        all but `.csv` what tells the graph (`docs/forest-file.md`);
        `.gr` and `.mtx` the edges as a graph of their own, numbered from 1; `.geojson` lines on
        a map. A file is replaced in one step; a folder must be new or empty.

        Parameters
        ----------
        path : path
        coordinates : array of shape (n, 2), optional
            Degrees east and north of each vertex, for `.geojson`.

        Raises
        ------
        OptionError
            If `path` cannot be written, or `coordinates` are missing, wrong or not wanted.
        """
        source = self.graph if isinstance(self.graph, EdgeSource) else EdgeSource.of(self.graph)
        write_columns(
            path,
            self._columns,
            num_vertices=self.num_vertices,
            coordinates=coordinates,
            identity=graph_identity(source),
        )

    def cut(self, *, k: int | None = None, distance: float | None = None) -> NDArray[np.int64]:
        """Cut the minimum spanning forest of any graph into flat single-linkage clusters.

        Parameters
        ----------
        k : int
            Into so many clusters: the heaviest edges go, the later of equal ones first. From
            `num_components` to `num_vertices`.
        distance : float
            Instead of `k`: edges of at most this weight stay. Compared exactly.

        Returns
        -------
        int64 array of length n
            The cluster of each vertex, numbered by their first vertices.

        Raises
        ------
        OptionError
            If `k` is out of range, `distance` is no number, or not just one of them is given; or
            the forest is a maximum one, whose lightest edges say nothing of clusters.
        """
        return cut(self._edges, k, distance, Backend(self.backend))

    def linkage(self) -> NDArray[np.float64]:
        """Return the single-linkage hierarchy of a connected graph, as `scipy.cluster` takes it.

        Edges join clusters in the order (weight, edge id), compared exactly. The matrix holds
        float64, so integer weights beyond 2^53 give the nearest height; the order of the joins and
        of the heights is not affected, but heights may become equal. `cut` never rounds.

        Returns
        -------
        float64 array of shape (n - 1, 4)
            Row i: the two clusters that become cluster n + i, the smaller number first; the weight
            at which they join; how many vertices the new one has. Vertices are clusters 0 to n - 1.

        Raises
        ------
        GraphError
            If the graph is not connected, or a weight of the forest is negative.
        OptionError
            If the forest is a maximum one.
        """
        return linkage(self.to_host()._edges, Backend(self.backend))

    def hdbscan(self, *, min_cluster_size: int = 5) -> NDArray[np.int64]:
        """Choose the clusters that last longest in the hierarchy, and call the rest noise.

        Of a graph whose weights are `mutual_reachability` they are the clusters of HDBSCAN, chosen
        by excess of mass.

        Parameters
        ----------
        min_cluster_size : int
            A smaller group of vertices is no cluster; at least 2.

        Returns
        -------
        int64 array of length n
            The cluster of each vertex, numbered by their first vertices; -1 is noise.

        Raises
        ------
        GraphError, OptionError
            As `linkage` does, or if `min_cluster_size` is out of range.
        """
        return hdbscan(self.to_host()._edges, min_cluster_size, Backend(self.backend))

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
        """Draw the forest's edges as straight lines, with matplotlib.

        Parameters
        ----------
        coordinates : array of shape (n, 2)
            Where each vertex lies. Edges of a vertex that has NaN are left out.
        color : {"component", "weight"} or integer array of length n
            What colors tell apart: trees, weights, or labels of the vertices, such as those of
            `cut`; edges between labels are gray, in a collection of their own.
        cmap, norm : optional
            As matplotlib has them; labels are spread over the values from 0 to 1.
        ax : matplotlib Axes, optional
            Where to draw; the current Axes if not given.
        **style
            For `matplotlib.collections.LineCollection`, such as ``linewidths``.

        Returns
        -------
        Axes
            Its last collections hold the lines, many edges to a path; a color bar takes them.

        Raises
        ------
        OptionError
            If `coordinates` or `color` are anything else, or matplotlib is not installed.
        """
        from .plots import plot_forest

        if isinstance(color, str) and color == "component":
            color = self.labels
        return plot_forest(self.to_host()._edges, coordinates, color, cmap, norm, ax, **style)

    def to_scipy(self) -> Any:
        """Return a `scipy.sparse.csr_array` of shape (n, n), each edge stored once, as upper[u, v].

        Weights keep their dtype (float16 becomes float32); zeros are stored like any other. For
        `scipy.sparse.csgraph` say ``directed=False``.

        Raises
        ------
        OptionError
            If scipy is not installed.
        """
        return interop.to_scipy(self._columns, self.num_vertices)

    def to_networkx(self) -> Any:
        """Return a `networkx.Graph` of all vertices, its edges with `weight` and `edge_id`.

        Raises
        ------
        OptionError
            If networkx is not installed.
        """
        return interop.to_networkx(self._columns, self.num_vertices)

    def to_igraph(self) -> Any:
        """Return an `igraph.Graph` of all vertices, its edges with `weight` and `edge_id`.

        Raises
        ------
        OptionError
            If igraph is not installed.
        """
        return interop.to_igraph(self._columns, self.num_vertices)

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with columns edge_id, u, v, weight.

        Raises
        ------
        OptionError
            If pandas is not installed.
        """
        return interop.to_pandas(self._columns)

    def to_polars(self) -> Any:
        """Return a `polars.DataFrame` with columns edge_id, u, v, weight.

        Raises
        ------
        OptionError
            If polars is not installed.
        """
        return interop.to_polars(self._columns)

    def to_arrow(self) -> Any:
        """Return a `pyarrow.Table` with columns edge_id, u, v, weight.

        Raises
        ------
        OptionError
            If pyarrow is not installed.
        """
        return interop.to_arrow(self._columns)

    @cached_property
    def _taken(self) -> tuple[NDArray[Any], ...]:
        return self.known or self.graph.take(self.edge_ids)

    @property
    def _edges(self) -> ForestEdges:
        u, v, weight = self._taken
        return ForestEdges(self.edge_ids, u, v, weight, self.num_vertices, self.maximum)

    @property
    def _columns(self) -> dict[str, NDArray[Any]]:
        """What is written and handed to other libraries: in the memory of the host."""
        host = self.to_host()
        return {"edge_id": host.edge_ids, "u": host.u, "v": host.v, "weight": host.weight}

    def __repr__(self) -> str:
        return (
            f"<Forest: {len(self.edge_ids)} edges on {self.num_vertices} vertices, "
            f"{self.num_components} component{'s' * (self.num_components != 1)}, "
            f"total weight {self.total_weight}>"
        )


#: The least exponent of a float's 53 bits, as an integer, is larger than minus this.
_SCALE = 1127


def total(weight: NDArray[Any]) -> int | float:
    """Sum weights without rounding on the way: an int, or one binary64 rounded at the end."""
    pieces = [weight[start : start + 2**20] for start in range(0, len(weight), 2**20)]
    if weight.dtype.kind != "f":
        return sum(map(_sum_integers, pieces))
    infinite = weight[np.isinf(weight)]
    if len(infinite):
        return float(infinite[0]) if (infinite == infinite[0]).all() else math.nan
    exact = Fraction(sum(map(_sum_floats, pieces)), 2**_SCALE)
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _sum_integers(values: NDArray[Any]) -> int:
    """Sum at most 2^20 integers, in halves that no word is too short for."""
    words = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
    low = words.dtype.type(2**32 - 1)
    return (int((words >> 32).sum()) << 32) + int((words & low).sum())


def _sum_floats(values: NDArray[Any]) -> int:
    """Sum at most 2^20 floats, times 2^`_SCALE`: those of one exponent as integers, in halves."""
    mantissa, exponent = np.frexp(values.astype(np.float64))
    words = np.ldexp(mantissa, 53).astype(np.int64)
    least = exponent.min()
    high, low = (np.bincount(exponent - least, part) for part in (words >> 26, words & 2**26 - 1))
    shift = int(least) + _SCALE - 53
    sums = (int(a) * 2**26 + int(b) for a, b in zip(high, low, strict=True))
    return sum(each << (shift + place) for place, each in enumerate(sums))
