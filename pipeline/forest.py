"""The result: edge ids, and on demand everything that follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graphs.write import write_columns
from ..primitives import Backend
from .catalogue.components import components
from .partition import COLUMNS, load_columns
from .run import run
from .schedulers import Inline

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ..graphs.edge_list import EdgeList
    from .report import Report


@dataclass(frozen=True, eq=False)
class Forest:
    """A minimum (or maximum) spanning forest of a graph.

    Attributes
    ----------
    edge_ids : int64 array of length f
        The forest's edges, ascending: positions in the input.
    graph : EdgeList
        The graph it spans.
    algorithm, backend, scheduler, strategy : str
        How it was found.
    partitions : int
        In how many parts.
    report : Report
        What each round and stage took.
    """

    edge_ids: NDArray[np.int64]
    graph: EdgeList
    algorithm: str
    backend: str
    scheduler: str
    strategy: str
    partitions: int
    report: Report

    @cached_property
    def u(self) -> NDArray[Any]:
        """First end of each forest edge, in the dtype of the graph."""
        return self.graph.u[self.edge_ids]

    @cached_property
    def v(self) -> NDArray[Any]:
        """Second end of each forest edge, in the dtype of the graph."""
        return self.graph.v[self.edge_ids]

    @cached_property
    def weight(self) -> NDArray[Any]:
        """Weight of each forest edge, in the dtype of the graph."""
        return self.graph.weight[self.edge_ids]

    @property
    def num_vertices(self) -> int:
        """Number of vertices of the graph."""
        return self.graph.num_vertices

    @property
    def num_components(self) -> int:
        """Number of trees, single vertices among them."""
        return self.num_vertices - len(self.edge_ids)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Component of each vertex (int64, length n), numbered by their first vertices."""
        size, backend = len(self.edge_ids), Backend(self.backend)
        columns = [self.u, self.v, np.zeros(size, np.uint8)]
        edges = load_columns(columns, 0, (self.num_vertices, size), backend, None)
        found, _ = run(
            components,
            [dict(zip(COLUMNS, edges, strict=True))],
            {"num_vertices": self.num_vertices, "maximum": False},
            num_edges=size,
            scheduler=Inline(),
            backend=backend,
        )
        return np.asarray(found["labels"])

    @cached_property
    def total_weight(self) -> int | float:
        """Sum of the weights: exact for integers, the correctly rounded binary64 for floats."""
        return total(self.weight)

    def save(self, path: str | Path) -> None:
        """Write columns edge_id, u, v, weight to a `.npz` or `.csv` file or a folder of `.npy`.

        Vertex ids are 0-based. A file is replaced in one step; a folder must be new or empty.
        """
        columns = {"edge_id": self.edge_ids, "u": self.u, "v": self.v, "weight": self.weight}
        write_columns(path, columns)

    def __repr__(self) -> str:
        return (
            f"<Forest: {len(self.edge_ids)} edges on {self.num_vertices} vertices, "
            f"{self.num_components} components, total weight {self.total_weight}>"
        )


def total(weight: NDArray[Any]) -> int | float:
    """Sum weights without rounding on the way: an int, or one binary64 rounded at the end."""
    if weight.dtype.kind != "f":
        pieces = range(0, len(weight), 2**20)  # as Python integers, a few at a time
        return sum(sum(weight[start : start + 2**20].tolist()) for start in pieces)
    infinite = weight[np.isinf(weight)]
    if len(infinite):
        return float(infinite[0]) if (infinite == infinite[0]).all() else math.nan
    values = weight.astype(np.float64)
    try:
        return math.fsum(values)
    except OverflowError:  # of a partial sum; the whole may still be finite
        exact = sum(map(Fraction, values.tolist()), Fraction())
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
