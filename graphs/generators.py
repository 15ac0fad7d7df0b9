"""Generated graphs: families of edges, each edge a pure function of the seed and its number.

Every family takes the options of `Generated` too, by name, and raises OptionError on a parameter
that is out of range.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from .counter_random import draw, draw_below, permute, sample, sorted_sample, stream_key
from .edge_list import EdgeList

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    Words = NDArray[np.uint64]
    Ends = Callable[[Words, int], tuple[Words, Words]]
    Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]

_LARGEST = 2**62  # vertices or edges of a family
_INTEGERS = {"int": ("int32", "int64")} | {
    f"{sign}int{bits}": (f"{sign}int{bits}",) for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_TILE = 2**14  # edges computed at a time: their temporaries stay in the cache


@dataclass(frozen=True)
class Generated:
    """A graph that is computed where it is asked for; the functions below make one of a family.

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
        _integer("seed", self.seed, 0, 2**64 - 1)
        _integer("number of vertices", self.num_vertices, 0, _LARGEST)
        _integer("number of edges", self.family_edges, 0, _LARGEST)
        _weight_range(self.weights)
        if not 0 <= self.keep <= 1:
            message = f"keep must be a share of 0 to 1, not {self.keep!r}"
            raise OptionError(message)

    @property
    def num_edges(self) -> int:
        """Number of edges kept."""
        return round(Fraction(float(self.keep)) * self.family_edges)

    @property
    def dtypes(self) -> Mapping[str, np.dtype[Any]]:
        """Dtypes of the columns `u`, `v` and `w`: ids are int32 where that suffices, else int64."""
        ids = np.dtype(np.int32 if self.num_vertices <= 2**31 else np.int64)
        return {"u": ids, "v": ids, "w": _weight_range(self.weights)[0]}

    def edges(self, start: int, stop: int) -> Columns:
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
        _integer("stop", stop, 0, self.num_edges)
        _integer("start", start, 0, stop)
        u, v, weight = (np.empty(stop - start, dtype) for dtype in self.dtypes.values())
        for first in range(start, stop, _TILE):
            numbers = self._numbers(first, min(first + _TILE, stop))
            here = slice(first - start, first - start + len(numbers))
            u[here], v[here] = map(self._renumbered, self.ends(numbers, self.seed))
            weight[here] = self._weights_of(numbers)
        return u, v, weight

    def chunks(self, size: int = 2**20) -> Iterator[Columns]:
        """Compute all edges in order, `size` at a time; the last chunk may be shorter."""
        _integer("size", size, 1, _LARGEST)
        for start in range(0, self.num_edges, size):
            yield self.edges(start, min(start + size, self.num_edges))

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
            ranks = _shuffled(ranks, kept, stream_key(self.seed, "edges"))
        return sample(ranks, kept, self.family_edges, key) if kept < self.family_edges else ranks

    def _renumbered(self, vertices: Words) -> Words:
        if not self.shuffle_vertices:
            return vertices
        return _shuffled(vertices, self.num_vertices, stream_key(self.seed, "vertices"))

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


def random(vertices: int, edges: int, **options: Any) -> Generated:
    """Uniform random ends, loops and parallel edges among them."""
    vertices = _integer("vertices", vertices, 1, _LARGEST)

    def ends(numbers: Words, seed: int) -> tuple[Words, Words]:
        u = draw_below(numbers, vertices, stream_key(seed, "u"))
        return u, draw_below(numbers, vertices, stream_key(seed, "v"))

    return Generated(vertices, edges, ends, **options)


def rmat(
    scale: int,
    edges_per_vertex: int = 16,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    **options: Any,
) -> Generated:
    """R-MAT: 2^scale vertices of skewed degrees, loops and parallel edges among the edges.

    Each edge halves the adjacency matrix `scale` times and goes to the upper left, upper right,
    lower left or lower right quarter with probability a, b, c or what is left; the defaults are
    those of the Graph500 benchmark.

    Source: Chakrabarti, Zhan, Faloutsos, "R-MAT: A recursive model for graph mining", SDM 2004.
    """
    scale = _integer("scale", scale, 0, 62)
    edges_per_vertex = _integer("edges_per_vertex", edges_per_vertex, 0, _LARGEST)
    if not (min(a, b, c) >= 0 and a + b + c <= 1 + 1e-9):
        message = f"a, b and c must be probabilities that add up to at most 1, not {a}, {b}, {c}"
        raise OptionError(message)
    upper_left, upper, not_last = (np.uint64(round(p * 2**32)) for p in (a, a + b, a + b + c))

    def ends(numbers: Words, seed: int) -> tuple[Words, Words]:
        u, v = np.zeros_like(numbers), np.zeros_like(numbers)
        for level in range(scale):
            if level % 2 == 0:  # a word holds the choices of two levels
                words = draw(numbers, stream_key(seed, f"level {level}"))
                choice = words >> 32
            else:
                choice = words & (2**32 - 1)
            is_lower = choice >= upper
            u += u + is_lower
            v += v + ((choice >= upper_left) ^ is_lower ^ (choice >= not_last))
        return u, v

    return Generated(2**scale, edges_per_vertex * 2**scale, ends, **options)


def grid(rows: int, columns: int, **options: Any) -> Generated:
    """Each vertex, numbered row by row, joined to its right and its lower neighbour."""
    rows = _integer("rows", rows, 1, _LARGEST)
    columns = _integer("columns", columns, 1, _LARGEST)
    row_edges = 2 * columns - 1  # right, down, right, down, ..., down

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        row = numbers // row_edges
        place = numbers - row * row_edges
        is_last = row == rows - 1  # all of its edges go right
        down = ~is_last & ((place % 2 == 1) | (place == row_edges - 1))
        u = row * columns + np.where(is_last, place, place // 2)
        return u, u + np.where(down, np.uint64(columns), np.uint64(1))

    return Generated(rows * columns, 2 * rows * columns - rows - columns, ends, **options)


def caveman(cliques: int, size: int, **options: Any) -> Generated:
    """Disjoint cliques, each of `size` vertices in a row.

    Source: Watts, "Networks, dynamics, and the small-world phenomenon", AJS 105, 1999.
    """
    cliques = _integer("cliques", cliques, 1, _LARGEST)
    size = _integer("size", size, 1, 2**31)
    pairs = size * (size - 1) // 2

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        clique = numbers // max(pairs, 1)
        u, v = _pairs(numbers - clique * pairs, size)
        clique *= size
        return u + clique, v + clique

    return Generated(cliques * size, cliques * pairs, ends, **options)


def connected_caveman(cliques: int, size: int, **options: Any) -> Generated:
    """Cliques in a ring: the first edge of each is bent to the last vertex of the clique before.

    Source: as `caveman`.
    """
    cliques = _integer("cliques", cliques, 2, _LARGEST)
    size = _integer("size", size, 3, 2**31)
    apart = caveman(cliques, size, **options)
    vertices, pairs = apart.num_vertices, apart.family_edges // cliques

    def ends(numbers: Words, seed: int) -> tuple[Words, Words]:
        u, v = apart.ends(numbers, seed)
        return u, np.where(numbers % pairs == 0, (u + (vertices - 1)) % vertices, v)

    return Generated(apart.num_vertices, apart.family_edges, ends, **options)


def circulant(vertices: int, degree: int, **options: Any) -> Generated:
    """Vertices in a ring, each joined to the `degree` next on either side: 2 `degree` neighbours.

    Source of this degree: Bhargava and Zaia, "Parallel minimum spanning forests", benchmark graphs.
    """
    degree = _integer("degree", degree, 0, _LARGEST)
    vertices = _integer("vertices", vertices, 2 * degree + 1, _LARGEST)

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        u = numbers // max(degree, 1)
        v = u + (numbers - u * degree) + 1
        return u, np.where(v < vertices, v, v - vertices)

    return Generated(vertices, vertices * degree, ends, **options)


def hypercube(dimension: int, **options: Any) -> Generated:
    """Hypercube: 2^dimension vertices, joined where their numbers differ in one bit."""
    dimension = _integer("dimension", dimension, 0, 57)

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        others = numbers // max(dimension, 1)  # the bits in which both ends agree
        bit = np.uint64(1) << (numbers - others * dimension)
        u = 2 * others - (others & (bit - 1))
        return u, u + bit

    return Generated(2**dimension, dimension * 2**dimension // 2, ends, **options)


def chain(vertices: int, **options: Any) -> Generated:
    """Each vertex joined to the next."""
    vertices = _integer("vertices", vertices, 1, _LARGEST)
    return Generated(vertices, vertices - 1, lambda numbers, _: (numbers, numbers + 1), **options)


def star(vertices: int, **options: Any) -> Generated:
    """Vertex 0 joined to every other."""
    vertices = _integer("vertices", vertices, 1, _LARGEST)
    return Generated(
        vertices, vertices - 1, lambda numbers, _: (np.zeros_like(numbers), numbers + 1), **options
    )


def complete(vertices: int, **options: Any) -> Generated:
    """Every pair of vertices; with a share kept, the random graph of Erdos and Renyi, G(n, m)."""
    vertices = _integer("vertices", vertices, 1, 2**31)
    pairs = vertices * (vertices - 1) // 2
    return Generated(vertices, pairs, lambda numbers, _: _pairs(numbers, vertices), **options)


FAMILIES: Mapping[str, Callable[..., Generated]] = {
    "random": random,
    "rmat": rmat,
    "grid": grid,
    "caveman": caveman,
    "connected-caveman": connected_caveman,
    "circulant": circulant,
    "hypercube": hypercube,
    "chain": chain,
    "star": star,
    "complete": complete,
}


def _shuffled(values: Words, size: int, key: int) -> Words:
    return permute(values, size, (size - 1).bit_length(), key)


def _pairs(numbers: Words, size: int) -> tuple[Words, Words]:
    """Pairs u < v of 0 to `size` - 1 in lexicographic order, by number."""
    # From the last pair back, the rows are 1, 2, 3, ... long: row r starts at r (r + 1) / 2.
    back = (size * (size - 1) // 2 - 1) - numbers
    row = ((np.sqrt(8.0 * back + 1.0) - 1.0) / 2.0).astype(np.uint64)
    row -= row * (row + 1) // 2 > back  # the root is rounded: off by one at most
    row += (row + 1) * (row + 2) // 2 <= back
    return size - 2 - row, size - 1 - (back - row * (row + 1) // 2)


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


def _integer(name: str, value: int, low: int, high: int) -> int:
    """Check an integer, of Python or NumPy."""
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        message = f"{name} must be an integer of {low} to {high}, not {value!r}"
        raise OptionError(message)
    return number
