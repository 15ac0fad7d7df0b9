"""A graph that is computed where it is asked for: each edge a pure function of the seed.

The families of `families` are such graphs; what is here they have in common: how many edges are
kept, in which order, under which vertex numbers, with which weights.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ..edge_list import EdgeList
from ..format import EdgeTable
from .counter_random import draw, draw_below, permute, sample, sorted_sample, stream_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    Words = NDArray[np.uint64]
    Ends = Callable[[Words, int], tuple[Words, Words]]

LARGEST = 2**62  # vertices or edges of a family
_INTEGERS = {"int": ("int32", "int64")} | {
    f"{sign}int{bits}": (f"{sign}int{bits}",) for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_TILE = 2**14  # edges computed at a time: their temporaries stay in the cache


@dataclass(frozen=True)
class Generated:
    """A graph that is computed where it is asked for; `families` has a function for each family.

    The same parameters and seed are the same graph, in whatever pieces it is taken.

    Parameters
    ----------
    num_vertices : int
    family_edges : int
        Number of edges of the family before any is dropped.
    ends : callable
        From edge numbers (uint64 array, below `family_edges`) and the seed to the two ends.
    weights : str
        "float32" or "float64", uniform in [0, 1), or an integer dtype and a range that includes
        both ends, such as "uint8:0:255"; "int:LOW:HIGH" is int32 if that suffices, else int64.
    keep : float
        Share of the edges that are kept, chosen at random; their number is `keep` times all of
        them, rounded, and they stay in order.
    shuffle_vertices, shuffle_edges : bool
        Whether to renumber the vertices at random, and to list the edges in random order. Neither
        changes which edges are kept or their weights.
    seed : int
        0 to 2^64 - 1.

    Raises
    ------
    OptionError
        If one of them is out of range or malformed; names it.
    """

    num_vertices: int
    family_edges: int
    ends: Ends
    weights: str = "float32"
    keep: float = 1.0
    shuffle_vertices: bool = False
    shuffle_edges: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        integer("seed", self.seed, 0, 2**64 - 1)
        integer("number of vertices", self.num_vertices, 0, LARGEST)
        integer("number of edges", self.family_edges, 0, LARGEST)
        _weight_range(self.weights)
        if not isinstance(self.keep, Real) or not 0 <= self.keep <= 1:
            message = f"keep must be a share of 0 to 1, not {self.keep!r}"
            raise OptionError(message)

    @property
    def num_edges(self) -> int:
        """Number of edges kept."""
        return round(Fraction(float(self.keep)) * self.family_edges)

    @property
    def dtypes(self) -> Mapping[str, np.dtype[Any]]:
        """Dtypes of the columns: ids are int32 where that suffices, else int64."""
        ids = np.dtype(np.int32 if self.num_vertices <= 2**31 else np.int64)
        return {"u": ids, "v": ids, "weight": _weight_range(self.weights)[0]}

    def edges(self, start: int, stop: int) -> tuple[NDArray[Any], ...]:
        """Compute edges `start` to `stop` - 1.

        Returns
        -------
        u, v, weight : arrays of length stop - start
            Of the dtypes that `dtypes` tells.

        Raises
        ------
        OptionError
            If this is not a range of edges of the graph.
        """
        integer("stop", stop, 0, self.num_edges)
        integer("start", start, 0, stop)
        u, v, weight = (np.empty(stop - start, dtype) for dtype in self.dtypes.values())
        for first in range(start, stop, _TILE):
            numbers = self._numbers(first, min(first + _TILE, stop))
            here = slice(first - start, first - start + len(numbers))
            u[here], v[here] = map(self._renumbered, self.ends(numbers, self.seed))
            weight[here] = self._weights_of(numbers)
        return u, v, weight

    def chunks(self, size: int = 2**20) -> Iterator[tuple[NDArray[Any], ...]]:
        """Compute all edges in order, `size` at a time; the last chunk may be shorter."""
        integer("size", size, 1, LARGEST)
        for start in range(0, self.num_edges, size):
            yield self.edges(start, min(start + size, self.num_edges))

    def table(self) -> EdgeTable:
        """Return all edges as a format writes them."""
        return EdgeTable(self.dtypes, self.num_edges, self.num_vertices, self.chunks)

    def edge_list(self) -> EdgeList:
        """Compute the whole graph."""
        return EdgeList(*self.edges(0, self.num_edges), num_vertices=self.num_vertices)

    def _numbers(self, start: int, stop: int) -> Words:
        """Edge numbers, in the family, of a range of edges."""
        kept, key = self.num_edges, stream_key(self.seed, "keep")
        if not self.shuffle_edges and kept < self.family_edges:
            return sorted_sample(start, stop, kept, self.family_edges, key)
        ranks = np.arange(start, stop, dtype=np.uint64)
        if self.shuffle_edges:
            ranks = shuffled(ranks, kept, stream_key(self.seed, "edges"))
        return sample(ranks, kept, self.family_edges, key) if kept < self.family_edges else ranks

    def _renumbered(self, vertices: Words) -> Words:
        if not self.shuffle_vertices:
            return vertices
        return shuffled(vertices, self.num_vertices, stream_key(self.seed, "vertices"))

    def _weights_of(self, numbers: Words) -> NDArray[Any]:
        """Weights by number in the family, so that no shuffle and no other chunk changes them."""
        dtype, low, high = _weight_range(self.weights)
        key = stream_key(self.seed, "weights")
        if dtype == np.float32:
            return (draw(numbers, key) >> 40).astype(np.float32) * np.float32(2**-24)
        if dtype == np.float64:
            return (draw(numbers, key) >> 11) * 2.0**-53
        # Modulo 2^64 a negative `low` is its two's complement, and so is the sum.
        words = draw_below(numbers, high - low + 1, key) + low % 2**64
        return words.view(np.int64) if dtype.kind == "i" else words


def integer(name: str, value: int, low: int, high: int) -> int:
    """Check an integer, of Python or NumPy."""
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        message = f"{name} must be an integer of {low} to {high}, not {value!r}"
        raise OptionError(message)
    return number


def shuffled(values: Words, size: int, key: int) -> Words:
    """Map 0 to `size` - 1 one to one onto itself, at random."""
    return permute(values, size, (size - 1).bit_length(), key)


def _weight_range(weights: str) -> tuple[np.dtype[Any], int, int]:
    """Read what weights are asked for: their dtype and, of integers, the lowest and highest."""
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
    message = (
        "weights must be float32, float64, or an integer dtype and a range that it holds, "
        f"such as int:1:1000, not {weights!r}"
    )
    raise OptionError(message)
