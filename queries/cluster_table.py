"""The clusters of a graph at several thresholds, as a table that may not fit in memory."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OptionError
from ..forest.edges import ForestBlocks
from ..graphs.edge_table import EdgeTable
from ..graphs.vertex_names import VertexNames, fields_of, name_columns
from ..plugins import wing
from ..primitives import Backend
from ..progress import report_progress
from ..runtime.sizes import sizes
from .thresholds import cut_at

#: Number of rows to read at once.
_BLOCK_ROWS = 2**20


class ClusterTable:
    """The cluster of each vertex at each threshold.

    Created by `Forest.clusters`. The column `name` has the names of the vertices, or one column for
    each part of a name; without names, the column `vertex` has their numbers. Column ``cluster_T``
    has the clusters at threshold T, numbered by first vertex (int64).

    Attributes
    ----------
    counts : tuple of ClusterCounts
        The clusters at each threshold, in the order of the argument.
    """

    def __init__(
        self,
        edges: ForestBlocks,
        thresholds: Sequence[Any],
        names: VertexNames | None,
        backend: Backend,
        inputs: Iterable[os.PathLike[str]],
    ) -> None:
        self._num_vertices, self._names, self._inputs = edges.num_vertices, names, tuple(inputs)
        report_progress("find clusters", 0, 1)
        self.counts, self._labels = cut_at(edges, thresholds, backend)
        report_progress("find clusters", 1, 1)

    @property
    def columns(self) -> dict[str, Any]:
        """The names of the columns, and their types: a NumPy dtype, or an Arrow type for names."""
        number = np.dtype(np.int64)
        vertices = {"vertex": number}
        if self._names is not None:
            named = name_columns("", self._names.type)
            vertices = {name or "name": kind for name, kind in named.items()}
        return {**vertices, **{f"cluster_{count.threshold}": number for count in self.counts}}

    def labels(self, threshold: Any) -> NDArray[np.int64]:
        """Return the cluster of each vertex at one of the thresholds (int64, length n).

        Raises
        ------
        OptionError
            If the table lacks the threshold.
        """
        thresholds = [count.threshold for count in self.counts]
        if threshold not in thresholds:
            message = f"{threshold!r} is not one of the thresholds {thresholds}"
            raise OptionError(message)
        return self._labels(thresholds.index(threshold), np.int64)

    def blocks(self, size: int = _BLOCK_ROWS) -> Iterator[list[Any]]:
        """Yield the columns in blocks of `size` rows; the last block may be smaller.

        The labels of each threshold are first written to a temporary file, so only one threshold
        is in memory at a time. The blocks are read from these files.
        """
        n = self._num_vertices
        rows = [range(start, min(start + size, n)) for start in range(0, n, size)]
        if self._names is None:
            vertices: Iterable[list[Any]] = ([np.arange(block.start, block.stop)] for block in rows)
        else:
            vertices = map(fields_of, self._names.blocks(size))
        dtype = np.dtype(np.int32 if n < 2**31 else np.int64)
        with contextlib.ExitStack() as stack:
            files: list[IO[bytes]] = []
            for position in range(len(self.counts)):
                file = stack.enter_context(SpooledTemporaryFile(sizes().labels_in_memory))
                file.write(self._labels(position, dtype).data)
                file.seek(0)
                files.append(file)
            for block, names in zip(rows, vertices, strict=True):
                labels = [file.read(len(block) * dtype.itemsize) for file in files]
                yield [*names, *(np.frombuffer(each, dtype).astype(np.int64) for each in labels)]

    def to_arrow(self) -> Any:
        """Return the table as a `pyarrow.Table`."""
        import pyarrow as pa

        fields = [
            (name, pa.from_numpy_dtype(dtype) if isinstance(dtype, np.dtype) else dtype)
            for name, dtype in self.columns.items()
        ]
        columns: list[Any] = next(self.blocks(max(1, self._num_vertices)), [[] for _ in fields])
        return pa.table(columns, pa.schema(fields))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table as `.parquet` or `.csv`, a million rows at a time.

        The file is written under a temporary name and renamed when it is complete.

        Raises
        ------
        OptionError
            If `path` cannot be written, has another suffix, or is an input of the graph.
        """
        doors = wing("doors")
        doors.check_overwrite([path], self._inputs)
        doors.check_output(path, has_names=True)
        table = EdgeTable(
            self.columns, self._num_vertices, None, self.blocks, step="write clusters"
        )
        doors.write_table(path, table)

    def __len__(self) -> int:
        return self._num_vertices

    def __repr__(self) -> str:
        return f"<ClusterTable: {self._num_vertices} vertices at {len(self.counts)} thresholds>"
