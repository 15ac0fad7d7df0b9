"""Types of objects by which stages read a graph in blocks; `pipeline.streaming` derives from them.

Stages import nothing of graphs or the pipeline, so the types state what stages call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..fields import Candidates, Edges


class Source(ABC):
    """A partition of a graph: `graphs.source.EdgeSource`."""

    #: The id of its first edge.
    first_id: int

    @abstractmethod
    def index_columns(self) -> tuple[Any, ...]:
        """Return u and v as signed integers, and weight."""

    @abstractmethod
    def sample_weights(self, shares: int = 1) -> Any:
        """Return a sample of the weights, divided by `shares`."""


class Scanner(ABC):
    """Scans partitions of a graph."""

    @abstractmethod
    def scan(
        self,
        source: Any,
        num_fragments: int,
        labels: Any = None,
        limit: int | None = None,
        record: Any = None,
        *,
        number: int = 1,
        step: str = "",
    ) -> Candidates:
        """Return the forest of the lightest edges of a partition that join two fragments."""

    @abstractmethod
    def takes_all(self, num_fragments: int, num_partitions: int) -> bool:
        """Return whether a scan starts without a limit, because it may be the last one."""

    @abstractmethod
    def keys(self, weight: Any) -> Any:
        """Return the keys of weights in the memory of the worker that runs this task."""

    @abstractmethod
    def reduce(
        self, candidates: Candidates, num_fragments: int, record: Any, *, trim: bool
    ) -> Candidates:
        """Return the forest of candidates; with `trim`, first drop the edges after their cut."""


class TileJoiner(ABC):
    """Joins the vertices of the tiles of a partition."""

    @abstractmethod
    def join(self, source: Any) -> tuple[tuple[int, ...], int, Iterator[Any]]:
        """Return the shape of a partition, a bound on its remaining edges, and its joined tiles."""


class Sweeper(ABC):
    """Deals the edges of a graph to buckets."""

    @abstractmethod
    def deal(self, source: Any, record: Any) -> Buckets:
        """Write the edges of a graph to buckets."""


class Buckets(ABC):
    """The edges between vertices that are not removed yet, and the forest so far."""

    @property
    @abstractmethod
    def id_bits(self) -> int:
        """The number of bits of an edge id."""

    @property
    @abstractmethod
    def num_vertices(self) -> int:
        """The number of vertices in the current range."""

    @property
    @abstractmethod
    def is_last(self) -> bool:
        """Whether only the current range remains."""

    @abstractmethod
    def blocks(self, ops: Any) -> Iterator[Edges]:
        """Read the bucket of the current range in blocks, at least one."""

    @abstractmethod
    def move(self, replace_ends: Callable[[Any, Edges], Iterable[Any]]) -> Buckets:
        """Move the edges of the current bucket to later ones, and begin the next range."""

    @abstractmethod
    def add_to_forest(self, edge_ids: Any) -> None:
        """Write the ids of edges in the forest."""

    @abstractmethod
    def forest_ids(self) -> Any:
        """Return the ids of the edges in the forest, in ascending order."""
