"""The dendrogram of a spanning forest: its clusters at every threshold.

The edges up to a threshold connect the same vertices in a graph and in its minimum spanning forest.
So the forest determines the single-linkage hierarchy of the graph. A maximum spanning forest
determines the hierarchy by similarity.

Source: Gower and Ross, "Minimum Spanning Trees and Single Linkage Cluster Analysis", 1969.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import GraphError, OptionError
from ..forest.edges import ForestEdges
from ..forest.query import query
from ..graphs.edge_list import EdgeList
from ..pipeline.options import check_count
from ..primitives import Backend, array_module, transfer
from ..primitives.weight_order import WeightOrder
from ..runtime.device import host_array, is_on_device
from ..stages.heavy import heaviest_between, line_up
from .catalogue.single_linkage import single_linkage
from .condense import CondensedTree, condense
from .hdbscan import Clusters, select
from .stages.hierarchy import clusters_at


class Bottleneck(NamedTuple):
    """The bottlenecks of p pairs of vertices.

    Attributes
    ----------
    weight : array of length p
        In the dtype of the graph; 0 without edges.
    edge_id : int64 array of length p
        -1 if both are the same vertex, -2 if no path joins them.
    """

    weight: NDArray[Any]
    edge_id: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Dendrogram:
    """The single-linkage hierarchy of a graph with any number of components.

    Nodes 0 to n - 1 are the vertices. Nodes n to n + f - 1 are the edges of the forest, sorted by
    (weight, edge id). In a maximum forest, the weights are descending, and ties are still in
    ascending order of ids. The arrays are on the same device as the graph.

    Attributes
    ----------
    parent : integer array of length n + f
        The parent of each node. The root of a component is its own parent.
    size : int64 array of length f
        The number of vertices in the cluster that each edge creates.
    weight : array of length f
        The weight of each edge, in the dtype of the graph.
    edge_ids : int64 array of length f
        The position of each edge in the input.
    num_vertices : int
    maximum : bool
        Whether the forest is a maximum spanning forest, so that the weights are similarities.
    backend : Backend
        The array module that queries use.
    """

    parent: NDArray[Any]
    size: NDArray[np.int64]
    weight: NDArray[Any]
    edge_ids: NDArray[np.int64]
    num_vertices: int
    maximum: bool
    backend: Backend

    @property
    def num_components(self) -> int:
        """Number of components, including single vertices."""
        return self.num_vertices - len(self.edge_ids)

    @property
    def is_on_device(self) -> bool:
        """Whether the arrays are on a GPU."""
        return is_on_device(self.parent)

    def cut(
        self,
        *,
        k: int | Sequence[int] | None = None,
        distance: Any = None,
        similarity: Any = None,
    ) -> NDArray[np.int64]:
        """Return flat clusters at one or several thresholds.

        Parameters
        ----------
        k : int or sequence of int
            The number of clusters, from `num_components` to `num_vertices`. Among edges of equal
            weight, those with larger ids are cut first.
        distance : number or sequence of numbers
            For a minimum forest: keep edges of at most this weight, compared exactly.
        similarity : number or sequence of numbers
            For a maximum forest: keep edges of at least this weight, compared exactly.

        Returns
        -------
        int64 array of length n, or of shape (t, n) for a sequence of t thresholds
            The cluster of each vertex. Clusters are numbered by their first vertices.

        Raises
        ------
        OptionError
            If not exactly one kind of threshold is given, `k` is out of range, a threshold is not a
            number, `distance` is given for a maximum forest, or `similarity` for a minimum forest.
        """
        num_kept, is_single = self._num_kept(k, distance, similarity)
        labels = [self._clusters(count) for count in num_kept]
        if is_single:
            return labels[0]
        return np.stack(labels) if labels else np.empty((0, self.num_vertices), np.int64)

    def iter_cuts(
        self,
        *,
        k: Sequence[int] | None = None,
        distance: Any = None,
        similarity: Any = None,
    ) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of `cut`, holding the labels of only one threshold in memory."""
        num_kept, _ = self._num_kept(k, distance, similarity)
        return map(self._clusters, num_kept)

    def linkage(
        self, *, disconnected: Literal["raise", "infinity"] = "raise"
    ) -> NDArray[np.float64]:
        """Return the hierarchy as a linkage matrix of `scipy.cluster.hierarchy`.

        The matrix is float64, so integer weights beyond 2^53 are rounded to the nearest float. The
        rows are still in exact order. `cut` never rounds.

        Parameters
        ----------
        disconnected : {"raise", "infinity"}
            What to do if the graph is not connected: raise an error, or join its components at
            infinity in the order of their first vertices.

        Returns
        -------
        float64 array of shape (n - 1, 4)
            Row i describes cluster n + i: the two clusters that it joins, smaller number first, the
            weight at which they join, and its number of vertices.

        Raises
        ------
        GraphError
            If a weight is negative, or the graph is not connected and `disconnected` is "raise".
        OptionError
            If the forest is a maximum spanning forest, or `disconnected` has another value.
        """
        if disconnected not in ("raise", "infinity"):
            message = f"disconnected must be 'raise' or 'infinity', not {disconnected!r}"
            raise OptionError(message)
        self._check_distances()
        if disconnected == "raise" and self.num_components != 1:
            message = (
                f"linkage needs a connected graph, got {self.num_components} components; use "
                "linkage(disconnected='infinity') or cut()"
            )
            raise GraphError(message)
        n, size = self.num_vertices, host_array(self.size)
        parent, weight = host_array(self.parent), host_array(self.weight)
        table = np.empty((max(n - 1, 0), 4))
        rows = table[: len(size)]
        rows[:, 0], rows[:, 1] = _children(parent, n)
        rows[:, 2], rows[:, 3] = weight, size
        if self.num_components > 1:
            table[len(size) :] = _rows_at_infinity(parent, size, n)
        return table

    def bottleneck(self, a: ArrayLike, b: ArrayLike) -> Bottleneck:
        """Return the bottleneck of the path between the vertices of each pair.

        In a minimum forest, the bottleneck is the heaviest edge of the path in the forest. Every
        path of the graph between the two vertices has an edge that is at least as heavy (minimax
        path). In a maximum forest, the bottleneck is the lightest edge, and every path has an edge
        that is at least as light (maximin path).

        The first call arranges the vertices in a line in which each cluster is contiguous, and
        builds a table of maxima. After that, each pair takes a constant number of look-ups.

        Parameters
        ----------
        a, b : integer arrays of length p
            Vertices; pair i consists of ``a[i]`` and ``b[i]``.

        Returns
        -------
        Bottleneck
            ``weight, edge_id``, arrays of length p.

        Raises
        ------
        OptionError
            If a vertex is not in the graph, or the lengths differ.
        """
        ops = array_module(self.backend)
        first = ops.asarray(self._vertices("a", a))
        second = ops.asarray(self._vertices("b", b))
        if len(first) != len(second):
            message = f"a and b must have the same length, not {len(first)} and {len(second)}"
            raise OptionError(message)
        place, table = self._line
        rank = heaviest_between(ops, place, table, first, second, len(self.edge_ids) + 1)
        # Rank f means that no path joins the pair, and f + 1 that both are the same vertex.
        columns = (self.weight, [0, 0]), (self.edge_ids, [-2, -1])
        extended = (
            ops.concat([ops.asarray(column), ops.asarray(more, column.dtype)])
            for column, more in columns
        )
        return Bottleneck(*(ops.to_host(ops.gather(column, rank)) for column in extended))

    def cophenetic(self, a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
        """Return the weight at which the vertices of each pair join the same cluster.

        Parameters
        ----------
        a, b : integer arrays of length p
            As for `bottleneck`.

        Returns
        -------
        float64 array of length p
            If both are the same vertex: 0, or inf in a maximum forest. If no path joins them: inf,
            or -inf in a maximum forest.

        Raises
        ------
        OptionError
            If a vertex is not in the graph, or the lengths differ.
        """
        weight, edge_id = self.bottleneck(a, b)
        height = weight.astype(np.float64)
        height[edge_id == -1] = np.inf if self.maximum else 0
        height[edge_id == -2] = -np.inf if self.maximum else np.inf
        return height

    def condense(self, *, min_cluster_size: int = 5) -> CondensedTree:
        """Return the condensed tree of HDBSCAN, on the host; see `hdbscan`."""
        check_count("min_cluster_size", min_cluster_size, 2, optional=False)
        self._check_distances()
        ops = array_module("numpy" if self.is_on_device else self.backend)
        parent, size, weight = map(host_array, (self.parent, self.size, self.weight))
        return condense(parent, size, weight, min_cluster_size, ops)

    def hdbscan(
        self,
        *,
        min_cluster_size: int = 5,
        method: Literal["eom", "leaf"] = "eom",
        epsilon: float = 0.0,
        max_cluster_size: int | None = None,
        allow_single_cluster: bool = False,
    ) -> Clusters:
        """Return the clusters of HDBSCAN with probabilities and outlier scores.

        The weights of the graph must be mutual reachability distances
        (`mstflow.mutual_reachability`). Components of the graph are joined at infinity. Edges of
        equal weight are removed together, so the clusters do not depend on the order of the edges.

        Parameters
        ----------
        min_cluster_size : int
            Smallest number of vertices in a cluster; at least 2.
        method : {"eom", "leaf"}
            "eom" selects the clusters with the greatest total stability (excess of mass). "leaf"
            selects the leaves of the condensed tree.
        epsilon : float
            Do not split clusters at distances below this value. It is called
            ``cluster_selection_epsilon`` in scikit-learn.
        max_cluster_size : int, optional
            Largest number of vertices in a cluster that "eom" selects.
        allow_single_cluster : bool
            Whether all vertices may be one cluster.

        Returns
        -------
        Clusters
            ``labels, probabilities, outlier_scores``, arrays of length n on the host.

        Raises
        ------
        GraphError
            If a weight is negative.
        OptionError
            If the forest is a maximum spanning forest, or an option is out of range.
        """
        clusters, _ = select(
            self.condense(min_cluster_size=min_cluster_size),
            method,
            epsilon,
            max_cluster_size,
            allow_single_cluster,
        )
        return clusters

    def _num_kept(self, k: Any, distance: Any, similarity: Any) -> tuple[list[int], bool]:
        """Return the number of edges to keep at each threshold, and whether there is only one."""
        options = {"k": k, "distance": distance, "similarity": similarity}
        given = {name: value for name, value in options.items() if value is not None}
        wrong = "distance" if self.maximum else "similarity"
        if len(given) != 1:
            message = f"cut needs exactly one of k, distance and similarity, got {len(given)}"
            raise OptionError(message)
        ((name, values),) = given.items()
        if name == wrong:
            kind, right = ("maximum", "similarity") if self.maximum else ("minimum", "distance")
            message = f"cut a {kind} spanning forest by {right}=, not by {wrong}="
            raise OptionError(message)
        is_single = not isinstance(values, list | tuple | range | np.ndarray) or not np.ndim(values)
        count = self._num_kept_for_k if name == "k" else partial(self._num_kept_within, name)
        return [count(value) for value in ([values] if is_single else values)], is_single

    def _num_kept_for_k(self, k: Any) -> int:
        is_count = isinstance(k, int | np.integer) and not isinstance(k, bool)
        if not is_count or not self.num_components <= k <= self.num_vertices:
            message = (
                f"k must be an integer from {self.num_components} (the number of components) "
                f"to {self.num_vertices} (the number of vertices), not {k!r}"
            )
            raise OptionError(message)
        return self.num_vertices - int(k)

    def _num_kept_within(self, name: str, threshold: Any) -> int:
        is_number: bool = isinstance(threshold, numbers.Real)
        if not is_number or threshold != threshold:
            message = f"{name} must be a number, not {threshold!r}"
            raise OptionError(message)
        order = WeightOrder(self.weight.dtype, signed=True, descending=self.maximum)
        return array_module(self.backend).count(order.within(self._keys, threshold))

    @cached_property
    def _keys(self) -> Any:
        """The keys of the weights, which are compared instead of the weights."""
        ops = array_module(self.backend)
        return ops.order_key(ops.asarray(self.weight), descending=self.maximum)

    def _clusters(self, num_kept: int) -> NDArray[np.int64]:
        ops = array_module(self.backend)
        labels = clusters_at(ops, ops.asarray(self.parent), self.num_vertices, num_kept)
        clusters: NDArray[np.int64] = transfer(labels, self.backend, on_device=self.is_on_device)
        return clusters

    @cached_property
    def _line(self) -> tuple[Any, Any]:
        """The place of each vertex in the line, and the table of maxima of its gaps."""
        ops = array_module(self.backend)
        parent, size = ops.asarray(self.parent), ops.asarray(self.size)
        place, gap = line_up(ops, parent, size, self.num_vertices)
        return place, ops.max_table(gap)

    def _vertices(self, name: str, vertices: ArrayLike) -> NDArray[Any]:
        """Return the argument `name` as a checked array of vertices."""
        array = np.atleast_1d(host_array(vertices))
        if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
            message = (
                f"{name} must be a one-dimensional integer array, not {array.dtype} of shape "
                f"{array.shape}"
            )
            raise OptionError(message)
        if len(array) and not 0 <= array.min() <= array.max() < self.num_vertices:
            first = int(((array < 0) | (array >= self.num_vertices)).argmax())
            message = (
                f"{name}[{first}] is {array[first]}, but the graph has "
                f"{self.num_vertices} vertices, numbered from 0"
            )
            raise OptionError(message)
        ids: NDArray[Any] = array.astype(self.parent.dtype, copy=False)
        return ids

    def _check_distances(self) -> None:
        if self.maximum:
            message = "linkage and HDBSCAN need distances, got a maximum spanning forest"
            raise OptionError(message)
        if len(self.weight) and self.weight[0] < 0:
            message = (
                f"edge {self.edge_ids[0]}: weight {self.weight[0]} is negative; a hierarchy of "
                "distances needs non-negative weights, cut() accepts any"
            )
            raise GraphError(message)


def dendrogram(forest: ForestEdges, backend: Backend) -> Dendrogram:
    """Return the dendrogram of a forest, with its arrays on the device of the forest."""
    edges = EdgeList(forest.u, forest.v, forest.weight, num_vertices=forest.num_vertices)
    fields = query(single_linkage, edges, backend, maximum=forest.maximum)
    ops, on_device = array_module(backend), is_on_device(fields["order"])
    order = ops.asarray(fields["order"])
    weight, edge_ids = (
        transfer(ops.gather(ops.asarray(column), order), backend, on_device=on_device)
        for column in (forest.weight, forest.edge_ids)
    )
    return Dendrogram(
        fields["parent"],
        fields["size"],
        weight,
        edge_ids,
        forest.num_vertices,
        forest.maximum,
        backend,
    )


def _children(parent: NDArray[Any], num_vertices: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the smaller and the larger child of each edge."""
    ops = array_module("numpy")
    node = np.arange(len(parent), dtype=parent.dtype)
    (child,) = ops.compact(parent != node, node)
    edge, count = parent[child] - num_vertices, len(parent) - num_vertices
    first = ops.scatter_reduce(edge, child, count, "min", ops.largest(node.dtype))
    return first, ops.scatter_reduce(edge, child, count, "max", 0)


def _rows_at_infinity(
    parent: NDArray[Any], size: NDArray[np.int64], num_vertices: int
) -> NDArray[np.float64]:
    """Return the linkage rows that join the components in the order of their first vertices."""
    component = array_module("numpy").pointer_jump(parent)[:num_vertices]
    roots, first = np.unique(component, return_index=True)
    roots = roots[np.argsort(first)]
    sizes = np.append(np.ones(num_vertices, np.int64), size)[roots]
    rows = np.empty((len(roots) - 1, 4))
    joined = np.append(roots[:1], len(parent) + np.arange(len(roots) - 2))  # by earlier rows
    rows[:, 0], rows[:, 1] = np.minimum(joined, roots[1:]), np.maximum(joined, roots[1:])
    rows[:, 2], rows[:, 3] = np.inf, np.cumsum(sizes)[1:]
    return rows
