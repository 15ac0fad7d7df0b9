"""Families of generated graphs: each function defines the ends of edge i.

All families also accept the options of `Generated`, by name. They raise an OptionError if a
parameter is out of range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from ...errors import OptionError
from ...graphs.permutation import Words
from .counter_random import draw, draw_below, stream_key
from .generated import Generated, checked_integer


def random(vertices: int, edges: int, loops: bool = True, **options: Any) -> Generated:
    """Edges with uniformly random ends. There may be parallel edges and, by default, loops.

    With weights such as "int:1:1000" this is the family "random" of GTgraph.

    Source: Bader and Madduri, "GTgraph: A suite of synthetic graph generators", 2006.
    """
    vertices = checked_integer("vertices", vertices, 1 if loops else 2)

    def ends(numbers: Words, seed: int) -> tuple[Words, Words]:
        u = draw_below(numbers, vertices, stream_key(seed, "u"))
        if loops:
            return u, draw_below(numbers, vertices, stream_key(seed, "v"))
        v = draw_below(numbers, vertices - 1, stream_key(seed, "v"))
        return u, v + (v >= u)

    return Generated(vertices, edges, ends, **options)


def rmat(
    scale: int,
    edges_per_vertex: int = 16,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    **options: Any,
) -> Generated:
    """R-MAT: 2^scale vertices with skewed degrees. There may be loops and parallel edges.

    Each edge chooses a quarter of the adjacency matrix, then a quarter of this quarter, and so on,
    `scale` times. It chooses the upper left, upper right, lower left and lower right quarter with
    probability a, b, c and 1 - a - b - c. The defaults are those of the Graph500 benchmark.

    Source: Chakrabarti, Zhan, Faloutsos, "R-MAT: A recursive model for graph mining", SDM 2004.
    """
    scale = checked_integer("scale", scale, 0, 62)
    edges_per_vertex = checked_integer("edges_per_vertex", edges_per_vertex, 0)
    are_numbers = all(isinstance(p, Real) for p in (a, b, c))
    if not (are_numbers and min(a, b, c) >= 0 and a + b + c <= 1 + 1e-9):
        message = f"a, b and c must be probabilities with a sum of at most 1, not {a}, {b}, {c}"
        raise OptionError(message)
    upper_left, upper, not_last = (np.uint64(round(p * 2**32)) for p in (a, a + b, a + b + c))

    def ends(numbers: Words, seed: int) -> tuple[Words, Words]:
        u, v = np.zeros_like(numbers), np.zeros_like(numbers)
        for level in range(scale):
            if level % 2 == 0:  # each word serves two levels
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
    """Grid: vertices, numbered row by row, are joined to their right and lower neighbours."""
    rows = checked_integer("rows", rows, 1)
    columns = checked_integer("columns", columns, 1)
    row_edges = 2 * columns - 1  # in the order right, down, right, down, ..., down

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        row = numbers // row_edges
        rank = numbers - row * row_edges
        is_last = row == rows - 1  # the last row has only edges to the right
        is_down = ~is_last & ((rank % 2 == 1) | (rank == row_edges - 1))
        u = row * columns + np.where(is_last, rank, rank // 2)
        return u, u + np.where(is_down, np.uint64(columns), np.uint64(1))

    return Generated(rows * columns, 2 * rows * columns - rows - columns, ends, **options)


def caveman(cliques: int, size: int, **options: Any) -> Generated:
    """Caveman graph: disjoint cliques of `size` consecutive vertices.

    Source: Watts, "Networks, dynamics, and the small-world phenomenon", AJS 105, 1999.
    """
    cliques = checked_integer("cliques", cliques, 1)
    size = checked_integer("size", size, 1, 2**31)
    pairs = size * (size - 1) // 2

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        clique = numbers // max(pairs, 1)
        u, v = _pairs(numbers - clique * pairs, size)
        clique *= size
        return u + clique, v + clique

    return Generated(cliques * size, cliques * pairs, ends, **options)


def connected_caveman(cliques: int, size: int, **options: Any) -> Generated:
    """Ring of cliques, the connected caveman graph.

    The first edge of each clique leads to the last vertex of the clique before it instead.

    Source: as `caveman`.
    """
    cliques = checked_integer("cliques", cliques, 2)
    size = checked_integer("size", size, 3, 2**31)
    disjoint = caveman(cliques, size, **options)
    vertices, pairs = disjoint.num_vertices, disjoint.family_edges // cliques

    def ends(numbers: Words, seed: int) -> tuple[Words, Words]:
        u, v = disjoint.ends(numbers, seed)
        return u, np.where(numbers % pairs == 0, (u + (vertices - 1)) % vertices, v)

    return Generated(vertices, disjoint.family_edges, ends, **options)


def circulant(vertices: int, degree: int, **options: Any) -> Generated:
    """Circulant graph: each vertex of a ring is joined to the `degree` nearest on either side.

    `degree` has the meaning of Bhargava and Zaia, "Parallelizing MSF with Boruvka's Algorithm".
    """
    degree = checked_integer("degree", degree, 0)
    vertices = checked_integer("vertices", vertices, 2 * degree + 1)

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        u = numbers // max(degree, 1)
        v = u + (numbers - u * degree) + 1
        return u, np.where(v < vertices, v, v - vertices)

    return Generated(vertices, vertices * degree, ends, **options)


def hypercube(dimension: int, **options: Any) -> Generated:
    """Hypercube: 2^dimension vertices, joined if their numbers differ in one bit."""
    dimension = checked_integer("dimension", dimension, 0, 57)

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        others = numbers // max(dimension, 1)  # the bits in which both ends agree
        bit = np.uint64(1) << (numbers - others * dimension)
        u = 2 * others - (others & (bit - 1))
        return u, u + bit

    return Generated(2**dimension, dimension * 2**dimension // 2, ends, **options)


def chain(vertices: int, **options: Any) -> Generated:
    """Chain: each vertex is joined to the next."""
    vertices = checked_integer("vertices", vertices, 1)
    return Generated(vertices, vertices - 1, lambda numbers, _: (numbers, numbers + 1), **options)


def star(vertices: int, **options: Any) -> Generated:
    """Star: vertex 0 is joined to every other."""
    vertices = checked_integer("vertices", vertices, 1)

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        return np.zeros_like(numbers), numbers + 1

    return Generated(vertices, vertices - 1, ends, **options)


def complete(vertices: int, **options: Any) -> Generated:
    """Complete graph; with `keep` less than 1, the random graph G(n, m) of Erdos and Renyi."""
    vertices = checked_integer("vertices", vertices, 1, 2**31)
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


def _pairs(numbers: Words, size: int) -> tuple[Words, Words]:
    """Return the pairs u < v < `size` with these numbers in lexicographic order."""
    # From the last pair backwards, rows have lengths 1, 2, 3, ...: row r starts at r (r + 1) / 2.
    back = (size * (size - 1) // 2 - 1) - numbers
    row = ((np.sqrt(8.0 * back + 1.0) - 1.0) / 2.0).astype(np.uint64)
    row -= row * (row + 1) // 2 > back  # rounding of the square root is off by at most one
    row += (row + 1) * (row + 2) // 2 <= back
    return size - 2 - row, size - 1 - (back - row * (row + 1) // 2)
