"""The codes that are compared: from NumPy columns to a forest, each as its users would call it.

A code is prepared (imports, loading of compiled kernels), which is not timed; then it solves, which
is: libraries of Python start from the arrays, so making their own graph is part of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mstflow.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from graphs import Graph

NETWORKX_EDGES = 1_000_000  # about half a minute and a gigabyte; beyond lies swapping
WARM_UP_EDGES = 1_000


class Answer(NamedTuple):
    """What a code found."""

    edges: int
    weight: float
    ids: NDArray[np.int64] | None = None  # ascending; only of codes that promise which they are
    solver: str = ""  # what mstflow chose, as the name of a code


@dataclass(frozen=True)
class Prepared:
    """A code that is ready to solve one graph.

    Attributes
    ----------
    solve : callable
        The part that is timed.
    answer : callable
        Tells the answer from what `solve` returned.
    solver : str
        What was warmed up, as `Answer.solver`.
    """

    solve: Callable[[], Any]
    answer: Callable[[Any], Answer]
    solver: str = ""


def check(code: str) -> None:
    """Refuse the name of a code that does not exist, with OptionError."""
    name, *parts = code.split(":")
    if name not in CODES or (parts and name != "mstflow") or len(parts) > 2:
        known = ", ".join([*CODES, "mstflow:ALGORITHM", "mstflow:ALGORITHM:BACKEND"])
        message = f"there is no code {code!r}; known: {known}"
        raise OptionError(message)


def prepare(code: str, graph: Graph, threads: int, warm_up: str = "") -> Prepared:
    """Prepare a code for a graph.

    Parameters
    ----------
    code : str
    graph : Graph
    threads : int
        How many it may use; most codes use one.
    warm_up : str
        A code of mstflow to warm up with, in place of `code` itself.

    Raises
    ------
    OptionError
        If the code is unknown or does not take this graph.
    ModuleNotFoundError
        If its library is not installed.
    """
    check(code)
    if code.startswith("mstflow"):
        return _mstflow(graph, threads, code, warm_up or code)
    return CODES[code](graph, threads)


def _mstflow(graph: Graph, threads: int, code: str = "mstflow", warm_up: str = "") -> Prepared:
    """Prepare mstflow by solving a small graph of the same dtypes and density, by every stage."""
    import mstflow
    from mstflow.testing import EVERY_STAGE

    def forest(columns: Any, vertices: int, code: str, **values: Any) -> mstflow.Forest:
        name, backend = [*code.split(":")[1:], "", ""][:2]
        algorithm = mstflow.algorithm(name or "auto")
        values = {each: value for each, value in values.items() if each in algorithm.values}
        return mstflow.minimum_spanning_forest(
            columns,
            num_vertices=vertices,
            algorithm=algorithm.given(**values),
            backend=backend or "auto",
            threads=threads,
        )

    def solver(found: mstflow.Forest) -> str:
        return f"mstflow:{found.algorithm}:{found.backend}"

    def answer(found: mstflow.Forest) -> Answer:
        ids = found.edge_ids
        return Answer(len(ids), _total(graph.w[ids]), ids, solver(found))

    u, v, w = (column[:WARM_UP_EDGES] for column in graph[:3])
    few = max(1, len(u) * graph.n // max(len(graph.u), 1))
    warmed = forest((u % few, v % few, w), few, warm_up or code, **EVERY_STAGE)
    return Prepared(lambda: forest(graph[:3], graph.n, code), answer, solver(warmed))


def _scipy(graph: Graph, _: int) -> Prepared:
    """Scipy as one would write it: it sums parallel edges and drops edges of weight zero."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    def solve() -> Any:
        matrix = coo_array((graph.w, (graph.u, graph.v)), (graph.n, graph.n)).tocsr()
        return minimum_spanning_tree(matrix)

    return Prepared(solve, lambda tree: Answer(tree.nnz, _total(tree.data)))


def _scipy_exact(graph: Graph, _: int) -> Prepared:
    """Scipy with ranks for weights, so that zeros, ties and parallel edges are right.

    Its tree is Kruskal's over the entries of the matrix as they are, so parallel edges need no
    search of their own: they must only not be summed, which a claim of canonical format prevents.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    def solve() -> NDArray[np.int64]:
        order = np.argsort(graph.w, kind="stable")
        rank = np.empty(len(order))  # the dtype that scipy works in
        rank[order] = np.arange(1, len(order) + 1)
        matrix = coo_array((rank, (graph.u, graph.v)), (graph.n, graph.n))
        matrix.has_canonical_format = True
        tree = minimum_spanning_tree(matrix.tocsr(), overwrite=True)
        return np.sort(order[tree.data.astype(np.int64) - 1])

    return Prepared(solve, lambda ids: Answer(len(ids), _total(graph.w[ids]), ids))


def _igraph(graph: Graph, _: int) -> Prepared:
    import igraph

    def solve() -> NDArray[np.int64]:
        # Lists of Python's own numbers: igraph takes arrays too, but item by item.
        ends = list(zip(graph.u.tolist(), graph.v.tolist(), strict=True))
        whole = igraph.Graph(n=graph.n, edges=ends)
        found = whole.spanning_tree(weights=graph.w.tolist(), return_tree=False)
        return np.array(found, dtype=np.int64)

    return Prepared(solve, lambda ids: Answer(len(ids), _total(graph.w[ids])))


def _rustworkx(graph: Graph, _: int) -> Prepared:
    import rustworkx

    def solve() -> Any:
        whole = rustworkx.PyGraph()
        whole.add_nodes_from(range(graph.n))
        columns = (column.tolist() for column in graph[:3])
        whole.add_edges_from(list(zip(*columns, strict=True)))
        return rustworkx.minimum_spanning_edges(whole, weight_fn=float)

    return Prepared(solve, lambda found: Answer(len(found), sum(float(w) for _, _, w in found)))


def _networkit(graph: Graph, threads: int) -> Prepared:
    import networkit

    networkit.setNumberOfThreads(threads)

    def solve() -> Any:
        # It views the columns as intp and double without asking whether they are.
        u, v = (ends.astype(np.intp, copy=False) for ends in (graph.u, graph.v))
        columns = (graph.w.astype(np.float64, copy=False), (u, v))
        whole = networkit.GraphFromCoo(columns, n=graph.n, weighted=True)
        return networkit.graph.KruskalMSF(whole).run()

    # The edges of its forest weigh 1 each; the sum is told apart.
    return Prepared(solve, lambda f: Answer(f.getForest().numberOfEdges(), f.getTotalWeight()))


def _networkx(graph: Graph, _: int) -> Prepared:
    import networkx

    if len(graph.u) > NETWORKX_EDGES:
        message = f"networkx is not asked for more than {NETWORKX_EDGES:,} edges"
        raise OptionError(message)

    def solve() -> list[Any]:
        whole = networkx.MultiGraph()
        whole.add_nodes_from(range(graph.n))
        columns = (column.tolist() for column in graph[:3])
        whole.add_weighted_edges_from(zip(*columns, strict=True))
        return list(networkx.minimum_spanning_edges(whole, keys=False))

    def answer(found: list[Any]) -> Answer:
        return Answer(len(found), sum(float(facts["weight"]) for _, _, facts in found))

    return Prepared(solve, answer)


def _total(weights: NDArray[Any]) -> float:
    """Sum weights without overflow of their dtype."""
    return float(weights.sum(dtype=np.float64 if weights.dtype.kind == "f" else np.int64))


CODES: dict[str, Callable[..., Prepared]] = {
    "mstflow": _mstflow,
    "scipy": _scipy,
    "scipy-exact": _scipy_exact,
    "igraph": _igraph,
    "rustworkx": _rustworkx,
    "networkit": _networkit,
    "networkx": _networkx,
}
