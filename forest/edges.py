"""The edges of a forest as plain arrays: what clusters, hierarchies and pictures are made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ForestEdges(NamedTuple):
    """The edges of a spanning forest, ascending by edge id.

    Attributes
    ----------
    edge_ids : int64 array of length f
    u, v, weight : arrays of length f
        In the dtypes of the graph.
    num_vertices : int
    maximum : bool
        Whether the forest is a maximum one.
    """

    edge_ids: NDArray[np.int64]
    u: NDArray[Any]
    v: NDArray[Any]
    weight: NDArray[Any]
    num_vertices: int
    maximum: bool

    @property
    def num_components(self) -> int:
        """Number of trees, including single vertices."""
        return self.num_vertices - len(self.edge_ids)
