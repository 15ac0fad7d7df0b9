"""The edges of a forest as plain arrays, the input of clustering and plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ForestEdges(NamedTuple):
    """The edges of a spanning forest, in ascending order of edge ids.

    Attributes
    ----------
    edge_ids : int64 array of length f
    u, v, weight : arrays of length f
        With the dtypes of the graph.
    num_vertices : int
    maximum : bool
        Whether this is a maximum spanning forest.
    """

    edge_ids: NDArray[np.int64]
    u: NDArray[Any]
    v: NDArray[Any]
    weight: NDArray[Any]
    num_vertices: int
    maximum: bool

    @property
    def num_components(self) -> int:
        """Number of trees, including isolated vertices."""
        return self.num_vertices - len(self.edge_ids)
