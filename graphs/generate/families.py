"""Families of generated graphs: which vertices edge number i of each joins.

Every family takes the options of `Generated` too, by name, and raises OptionError on a parameter
that is out of range.
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from .counter_random import draw, draw_below, sample, stream_key
from .generated import LARGEST, Generated, integer, shuffled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from .generated import Words

    Pairs = tuple[int, Callable[[Words], tuple[Words, Words]]]  # how many, and their ends


def random(vertices: int, edges: int, loops: bool = True, **options: Any) -> Generated:
    """Uniform random ends, parallel edges among them, and loops unless told otherwise.

    With weights such as "int:1:1000" this is what the generators GTgraph call random.

    Source: Bader and Madduri, "GTgraph: A suite of synthetic graph generators", 2006.
    """
    vertices = integer("vertices", vertices, 1 if loops else 2, LARGEST)

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
    """R-MAT: 2^scale vertices of skewed degrees, loops and parallel edges among the edges.

    Each edge halves the adjacency matrix `scale` times and goes to the upper left, upper right,
    lower left or lower right quarter with probability a, b, c or what is left; the defaults are
    those of the Graph500 benchmark.

    Source: Chakrabarti, Zhan, Faloutsos, "R-MAT: A recursive model for graph mining", SDM 2004.
    """
    scale = integer("scale", scale, 0, 62)
    edges_per_vertex = integer("edges_per_vertex", edges_per_vertex, 0, LARGEST)
    are_numbers = all(isinstance(p, Real) for p in (a, b, c))
    if not (are_numbers and min(a, b, c) >= 0 and a + b + c <= 1 + 1e-9):
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
    rows = integer("rows", rows, 1, LARGEST)
    columns = integer("columns", columns, 1, LARGEST)
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
    cliques = integer("cliques", cliques, 1, LARGEST)
    size = integer("size", size, 1, 2**31)
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
    cliques = integer("cliques", cliques, 2, LARGEST)
    size = integer("size", size, 3, 2**31)
    apart = caveman(cliques, size, **options)
    vertices, pairs = apart.num_vertices, apart.family_edges // cliques

    def ends(numbers: Words, seed: int) -> tuple[Words, Words]:
        u, v = apart.ends(numbers, seed)
        return u, np.where(numbers % pairs == 0, (u + (vertices - 1)) % vertices, v)

    return Generated(apart.num_vertices, apart.family_edges, ends, **options)


def circulant(vertices: int, degree: int, **options: Any) -> Generated:
    """Vertices in a ring, each joined to the `degree` next on either side: 2 `degree` neighbours.

    Source of this degree: Bhargava and Zaia, "Parallelizing MSF with Boruvka's Algorithm".
    """
    degree = integer("degree", degree, 0, LARGEST)
    vertices = integer("vertices", vertices, 2 * degree + 1, LARGEST)

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        u = numbers // max(degree, 1)
        v = u + (numbers - u * degree) + 1
        return u, np.where(v < vertices, v, v - vertices)

    return Generated(vertices, vertices * degree, ends, **options)


def hypercube(dimension: int, **options: Any) -> Generated:
    """Hypercube: 2^dimension vertices, joined where their numbers differ in one bit."""
    dimension = integer("dimension", dimension, 0, 57)

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        others = numbers // max(dimension, 1)  # the bits in which both ends agree
        bit = np.uint64(1) << (numbers - others * dimension)
        u = 2 * others - (others & (bit - 1))
        return u, u + bit

    return Generated(2**dimension, dimension * 2**dimension // 2, ends, **options)


def chain(vertices: int, **options: Any) -> Generated:
    """Each vertex joined to the next."""
    vertices = integer("vertices", vertices, 1, LARGEST)
    return Generated(vertices, vertices - 1, lambda numbers, _: (numbers, numbers + 1), **options)


def star(vertices: int, **options: Any) -> Generated:
    """Vertex 0 joined to every other."""
    vertices = integer("vertices", vertices, 1, LARGEST)
    return Generated(
        vertices, vertices - 1, lambda numbers, _: (np.zeros_like(numbers), numbers + 1), **options
    )


def complete(vertices: int, **options: Any) -> Generated:
    """Every pair of vertices; with a share kept, the random graph of Erdos and Renyi, G(n, m)."""
    vertices = integer("vertices", vertices, 1, 2**31)
    pairs = vertices * (vertices - 1) // 2
    return Generated(vertices, pairs, lambda numbers, _: _pairs(numbers, vertices), **options)


def ssca2(
    scale: int,
    max_clique_size: int = 0,
    interclique: float = 0.5,
    max_parallel: int = 3,
    **options: Any,
) -> Generated:
    """SSCA#2: 2^scale vertices in cliques of random sizes, joined more rarely the farther apart.

    Cliques are intervals of 1 to `max_clique_size` vertices, uniformly; 0 stands for 2^(scale / 3),
    the benchmark's own choice. For each distance d = 1, 2, 4, ... below 2^scale, of the vertices
    whose neighbour at that distance (in a ring) is in another clique, the share `interclique` / d
    is joined to it. Each pair of neighbours has 1 to `max_parallel` edges, uniformly.

    The benchmark tosses a coin for each vertex and distance; here as many as that joins on average
    are chosen at random, so that an edge is told from its number. Cliques are drawn beforehand, at
    about 8 log2(`max_clique_size`) bytes each. The benchmark also shuffles vertices and edges, and
    weights are integers of 1 to 2^scale: see the options.

    Source: "HPCS Scalable Synthetic Compact Applications #2, Graph Analysis", version 1.1, 2006.
    """
    scale = integer("scale", scale, 0, 40)
    vertices = 2**scale
    # At most half of them in a clique: so no distance leads round the ring into the same one.
    limit = max_clique_size or int(2 ** (scale / 3))
    limit = integer("max_clique_size", limit, 1, max(vertices // 2, 1))
    max_parallel = integer("max_parallel", max_parallel, 1, 2**20)
    seed = integer("seed", options.get("seed", 0), 0, 2**64 - 1)
    if not 0 <= interclique <= 1:
        message = f"interclique must be a share of 0 to 1, not {interclique!r}"
        raise OptionError(message)
    cliques = _clique_starts(vertices, limit, stream_key(seed, "cliques"))
    kinds = [_pairs_inside(cliques)]
    for distance in (2**level for level in range(scale)):
        share = Fraction(float(interclique)) / distance
        key = stream_key(seed, f"distance {distance}")
        kinds.append(_pairs_between(cliques, distance, share, key))
    pairs = sum(count for count, _ in kinds)
    kind_starts = _starts([count for count, _ in kinds])
    # In one random order of the pairs the first few have a second edge, fewer a third, and so on.
    copy_starts = _starts([pairs * n // max_parallel for n in range(max_parallel, 0, -1)])

    def ends(numbers: Words, _: int) -> tuple[Words, Words]:
        copy, pair = _place(copy_starts, numbers)
        again = copy > 0
        pair[again] = shuffled(pair[again], pairs, stream_key(seed, "parallel"))
        kind, rank = _place(kind_starts, pair)
        u, v = np.empty_like(pair), np.empty_like(pair)
        for each in np.unique(kind):
            here = kind == each
            u[here], v[here] = kinds[each][1](rank[here])
        return u, v

    return Generated(vertices, int(copy_starts[-1]), ends, **options)


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
    "ssca2": ssca2,
}


def _clique_starts(vertices: int, limit: int, key: int) -> Words:
    """First vertex of each clique, and at the end the number of vertices, where the last ends."""
    count = 1
    while True:
        sizes = draw_below(np.arange(count, dtype=np.uint64), limit, key) + 1
        starts = _starts(sizes)
        if starts[-1] >= vertices:
            return np.append(starts[starts < vertices], np.uint64(vertices))
        count *= 2


def _pairs_inside(cliques: Words) -> Pairs:
    """All pairs of vertices inside a clique."""
    sizes = np.diff(cliques)
    starts = _starts(sizes * (sizes - 1) // 2)

    def ends(numbers: Words) -> tuple[Words, Words]:
        clique, within = _place(starts, numbers)
        u, v = _pairs(within, sizes[clique])
        return u + cliques[clique], v + cliques[clique]

    return int(starts[-1]), ends


def _pairs_between(cliques: Words, distance: int, share: Fraction, key: int) -> Pairs:
    """Pairs at one distance in the ring, of two cliques: a share of them, at random."""
    sizes = np.diff(cliques)
    # The last vertices of a clique leave it, or all of them if there are fewer.
    starts = _starts(np.minimum(sizes, distance)) if distance < sizes.max() else cliques
    total, vertices = int(starts[-1]), int(cliques[-1])
    kept = round(total * share)

    def ends(numbers: Words) -> tuple[Words, Words]:
        chosen = sample(numbers, kept, total, key)
        after = _place(starts, chosen)[0] + 1
        u = cliques[after] - (starts[after] - chosen)
        return u, (u + distance) % vertices

    return kept, ends


def _starts(lengths: Words | list[int]) -> Words:
    """Where ranges of such lengths begin, one after another, and where the last ends."""
    return np.cumsum(np.append(np.uint64(0), np.array(lengths, dtype=np.uint64)), dtype=np.uint64)


def _place(starts: Words, numbers: Words) -> tuple[NDArray[np.intp], Words]:
    """Which of consecutive ranges each number is in, and its place in that."""
    which = np.searchsorted(starts, numbers, side="right") - 1
    return which, numbers - starts[which]


def _pairs(numbers: Words, size: int | Words) -> tuple[Words, Words]:
    """Pairs u < v of 0 to `size` - 1 in lexicographic order, by number."""
    # From the last pair back, the rows are 1, 2, 3, ... long: row r starts at r (r + 1) / 2.
    back = (size * (size - 1) // 2 - 1) - numbers
    row = ((np.sqrt(8.0 * back + 1.0) - 1.0) / 2.0).astype(np.uint64)
    row -= row * (row + 1) // 2 > back  # the root is rounded: off by one at most
    row += (row + 1) * (row + 2) // 2 <= back
    return size - 2 - row, size - 1 - (back - row * (row + 1) // 2)
