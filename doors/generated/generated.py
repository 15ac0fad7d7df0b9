"""Generated graphs: each edge is a pure function of its number and the seed.

`families` defines the ends of the edges. This module does the rest for all families: it drops
edges, shuffles edges and vertices, and draws weights.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import OptionError
from ...graphs.edge_table import EdgeTable
from ...graphs.permutation import Words, permute
from .counter_random import draw, draw_below, sample, sorted_sample, stream_key

Ends = Callable[[Words, int], tuple[Words, Words]]

_LARGEST_SIZE = 2**62  # upper bound on the vertices and edges of a family
#: Dtypes of integer weights by their name in the option `weights`; the first that fits is used.
_INTEGERS = {"int": ("int32", "int64")} | {
    f"{sign}int{bits}": (f"{sign}int{bits}",) for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_BLOCK_EDGES = 2**14  # edges to compute at once: few, so that temporary arrays fit in the cache


@dataclass(frozen=True)
class Generated:
    """A generated graph; `families` has a function for each family.

    Equal parameters and seeds give equal graphs, for any division into ranges.
    """

    num_vertices: int
    #: Number of edges of the family, before edges are dropped.
    family_edges: int
    #: Takes edge numbers (uint64, less than `family_edges`) and the seed; returns u and v.
    ends: Ends
    #: "float32" or "float64", uniform in [0, 1), or an integer dtype and an inclusive range, such
    #: as "uint8:0:255". "int:LOW:HIGH" is int32 if the range fits, otherwise int64.
    weights: str = "float32"
    #: Fraction of the edges to keep, rounded to a number of edges. These edges are chosen at random
    #: and keep their order.
    keep: float = 1.0
    #: Whether to renumber the vertices at random. Edges and weights stay the same.
    shuffle_vertices: bool = False
    #: Whether to list the edges in random order. The set of edges and weights stays the same.
    shuffle_edges: bool = False
    #: 0 to 2^64 - 1.
    seed: int = 0

    def __post_init__(self) -> None:
        checked_integer("seed", self.seed, 0, 2**64 - 1)
        checked_integer("number of vertices", self.num_vertices, 0)
        checked_integer("number of edges", self.family_edges, 0)
        _weight_range(self.weights)
        if not isinstance(self.keep, Real) or not 0 <= self.keep <= 1:
            raise OptionError(f"keep must be between 0 and 1, not {self.keep!r}")

    @property
    def num_edges(self) -> int:
        """Number of edges that are kept."""
        return round(Fraction(float(self.keep)) * self.family_edges)

    @property
    def dtypes(self) -> Mapping[str, np.dtype[Any]]:
        """Dtypes of the columns; ids are int32 if they fit, otherwise int64."""
        ids = np.dtype(np.int32 if self.num_vertices <= 2**31 else np.int64)
        return {"u": ids, "v": ids, "weight": _weight_range(self.weights)[0]}

    def edges(self, start: int, stop: int) -> tuple[NDArray[Any], ...]:
        """Compute u, v and weight of edges `start` to `stop` - 1, in the given `dtypes`."""
        checked_integer("stop", stop, 0, self.num_edges)
        checked_integer("start", start, 0, stop)
        u, v, weight = (np.empty(stop - start, dtype) for dtype in self.dtypes.values())
        for first in range(start, stop, _BLOCK_EDGES):
            numbers = self._numbers(first, min(first + _BLOCK_EDGES, stop))
            block = slice(first - start, first - start + len(numbers))
            ends: Iterable[Words] = self.ends(numbers, self.seed)
            if self.shuffle_vertices:
                key = stream_key(self.seed, "vertices")
                ends = (shuffled(column, self.num_vertices, key) for column in ends)
            u[block], v[block] = ends
            weight[block] = self._weights_of(numbers)
        return u, v, weight

    def blocks(self, size: int = 2**20) -> Iterator[tuple[NDArray[Any], ...]]:
        """Compute all edges in order, in blocks of `size` edges; the last may be smaller."""
        checked_integer("size", size, 1)
        for start in range(0, self.num_edges, size):
            yield self.edges(start, min(start + size, self.num_edges))

    def table(self) -> EdgeTable:
        """Return all edges as a table to be written."""
        return EdgeTable(self.dtypes, self.num_edges, self.num_vertices, self.blocks)

    def _numbers(self, start: int, stop: int) -> Words:
        """Return the numbers in the family of edges `start` to `stop` - 1."""
        kept, key = self.num_edges, stream_key(self.seed, "keep")
        if not self.shuffle_edges and kept < self.family_edges:
            return sorted_sample(start, stop, kept, self.family_edges, key)
        ranks = np.arange(start, stop, dtype=np.uint64)
        if self.shuffle_edges:
            ranks = shuffled(ranks, kept, stream_key(self.seed, "edges"))
        return sample(ranks, kept, self.family_edges, key) if kept < self.family_edges else ranks

    def _weights_of(self, numbers: Words) -> NDArray[Any]:
        """Return the weights of edges of the family, which depend only on number and seed."""
        dtype, low, high = _weight_range(self.weights)
        key = stream_key(self.seed, "weights")
        if dtype == np.float32:
            return (draw(numbers, key) >> 40).astype(np.float32) * np.float32(2**-24)
        if dtype == np.float64:
            return (draw(numbers, key) >> 11) * 2.0**-53
        # In two's complement, adding a negative `low` modulo 2^64 gives the signed sum.
        words = draw_below(numbers, high - low + 1, key) + low % 2**64
        return words.view(np.int64) if dtype.kind == "i" else words


def checked_integer(name: str, value: int, low: int, high: int = _LARGEST_SIZE) -> int:
    """Return an integer of Python or NumPy as an int; raise unless it is from `low` to `high`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        raise OptionError(f"{name} must be an integer from {low} to {high}, not {value!r}")
    return number


def shuffled(values: Words, size: int, key: int) -> Words:
    """Apply a random permutation of 0 to `size` - 1."""
    return permute(values, size, (size - 1).bit_length(), key)


def _weight_range(weights: str) -> tuple[np.dtype[Any], int, int]:
    """Parse the option `weights`: return the dtype and, for integers, the range."""
    if weights in ("float32", "float64"):
        return np.dtype(weights), 0, 1
    name, *bounds = str(weights).split(":")
    try:
        low, high = map(int, bounds)
        for dtype in map(np.dtype, _INTEGERS[name]):
            if np.iinfo(dtype).min <= low <= high <= np.iinfo(dtype).max:
                return dtype, low, high
    except (ValueError, KeyError):
        pass
    raise OptionError(
        "weights must be float32, float64, or an integer dtype and a range that it holds, "
        f"such as int:1:1000, not {weights!r}"
    )
