"""The table that a format writes to a file: columns of edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..progress import report_progress
from .edge_list import NamedColumns

#: Rows of a block, of which a writer holds several copies. Larger blocks are not written faster.
_BLOCK_ROWS = 2**16


@dataclass(frozen=True)
class EdgeTable:
    """Columns of edges to write: in memory, or computed block by block."""

    #: Dtype of each column; for names of vertices, their `pyarrow.DataType`.
    dtypes: Mapping[str, Any]
    num_edges: int
    #: None if it is unknown, for formats that do not store it.
    num_vertices: int | None
    #: Takes a number of edges; returns an iterator over blocks of about that size.
    read: Callable[[int], Iterator[Sequence[NDArray[Any]]]]
    #: All columns, if they are in memory.
    columns: NamedColumns | None = None
    #: For a forest, the identity of its graph (see `saved_forest.graph_identity`) and `maximum`.
    identity: Mapping[str, Any] | None = None
    #: Name of the step in progress reports.
    step: str = "write edges"

    @property
    def is_graph(self) -> bool:
        """Whether the table is a graph. A forest has edge ids instead."""
        return "edge_id" not in self.dtypes

    @property
    def has_names(self) -> bool:
        """Whether a column holds names of vertices."""
        return not all(isinstance(dtype, np.dtype) for dtype in self.dtypes.values())

    def blocks(self, size: int = _BLOCK_ROWS) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield blocks of at most `size` edges as columns by name, and report progress."""
        done = 0
        for columns in self.read(size):
            for start in range(0, len(columns[0]), size):
                block = [column[start : start + size] for column in columns]
                yield dict(zip(self.dtypes, block, strict=True))
                done += len(block[0])
                report_progress(self.step, done, self.num_edges)
