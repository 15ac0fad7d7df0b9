"""Random small graphs in plain Python, with the difficulties of large graphs."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, replace
from typing import NamedTuple

Number = bool | int | float


class Edge(NamedTuple):
    """One record."""

    u: int
    v: int
    weight: Number


@dataclass(frozen=True)
class Graph:
    """Edges in order of id, and NumPy dtypes that represent them exactly."""

    num_vertices: int
    edges: tuple[Edge, ...]
    id_dtypes: tuple[str, str] = ("i8", "i8")
    weight_dtype: str = "f8"

    def column(self, place: int) -> list[Number]:
        """Return the values of column 0 (u), 1 (v) or 2 (weight)."""
        return [edge[place] for edge in self.edges]

    def in_order(self, order: list[int]) -> Graph:
        """Return the edges at these positions."""
        return replace(self, edges=tuple(self.edges[place] for place in order))

    def unweighted(self) -> Graph:
        """Return the graph with integer 1 for every weight."""
        edges = tuple(edge._replace(weight=1) for edge in self.edges)
        return replace(self, edges=edges, weight_dtype="i8")


def random_graph(rng: random.Random) -> Graph:
    """Draw a graph of at most about 60 vertices that have edges."""
    size = rng.choice([0, 1, 2, 3, 5, 8, 13, 30, 60])
    pairs = rng.choice(_SHAPES)(rng, size) if size else []
    if size and rng.random() < 0.4:
        pairs += [(vertex, vertex) for vertex in rng.choices(range(size), k=rng.randint(1, 4))]
    if pairs and rng.random() < 0.4:
        pairs += rng.choices(pairs, k=rng.randint(1, len(pairs)))
    if rng.random() < 0.2:
        pairs += [(v, u) for u, v in pairs]
    if rng.random() < 0.8:
        rng.shuffle(pairs)
    if rng.random() < 0.7:
        name = rng.sample(range(size), size)
        pairs = [(name[u], name[v]) for u, v in pairs]
    size += rng.choice([0, 0, 0, 1, 5, 300])  # isolated vertices, at the end
    size, pairs, narrow = _beyond_half(rng, size, pairs)
    dtype = rng.choice(WEIGHT_DTYPES)
    pairs, weights = _regular(rng, pairs, _weights(rng, dtype, len(pairs)))
    edges = tuple(Edge(u, v, w) for (u, v), w in zip(pairs, weights, strict=True))
    largest = max((max(pair) for pair in pairs), default=0)
    fitting = [name for name, most in _ID_DTYPES.items() if largest <= most]
    ids = (narrow, narrow) if narrow else (rng.choice(fitting), rng.choice(fitting))
    return Graph(size, edges, ids, dtype)


def medium_graph(rng: random.Random) -> Graph:
    """Draw a graph of up to 200,000 edges."""
    n, m = int(10 ** rng.uniform(1, 5)), int(10 ** rng.uniform(3, 5.3))
    skew = rng.choice([1, 1, 3])  # some vertices have many edges
    pairs = [(int(n * rng.random() ** skew), rng.randrange(n)) for _ in range(m)]
    if rng.random() < 0.3:
        pairs = [(u, min(n - 1, u + 1 + v % 3)) for u, v in pairs]  # a band, such as roads have
    dtype = rng.choice(["i4", "u4", "i8", "f4", "f8"])
    pairs, weights = _regular(rng, pairs, _weights(rng, dtype, m))
    edges = tuple(Edge(u, v, weight) for (u, v), weight in zip(pairs, weights, strict=True))
    return Graph(n, edges, rng.choice([("i4", "i4"), ("i8", "i8"), ("u4", "i8")]), dtype)


# Shapes: functions from a number of vertices, at least one, to pairs.


def _any(rng, n):
    return [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(0, 3 * n))]


def _path(rng, n):
    return [(vertex, vertex + 1) for vertex in range(n - 1)]


def _cycle(rng, n):
    return [(vertex, (vertex + 1) % n) for vertex in range(n)]


def _star(rng, n):
    return [(0, vertex) for vertex in range(1, n)]


def _tree(rng, n):
    return [(vertex, rng.randrange(vertex)) for vertex in range(1, n)]


def _grid(rng, n):
    wide = rng.randint(1, n)
    beside = [(v, v + 1) for v in range(n - 1) if (v + 1) % wide]
    return beside + [(v, v + wide) for v in range(n - wide)]


def _complete(rng, n):
    return [(u, v) for v in range(min(n, 13)) for u in range(v)]


def _bundle(rng, n):
    return [rng.choice([(0, n - 1), (n - 1, 0)]) for _ in range(rng.randint(1, 20))]


def _islands(rng, n):
    starts = rng.choices(range(n), k=n)
    return [(start, min(n - 1, start + rng.randint(0, 2))) for start in starts]


_SHAPES = [_any, _any, _any, _path, _cycle, _star, _tree, _grid, _complete, _bundle, _islands]


# Ids.

_ID_DTYPES = {f"{kind}{size}": 2 ** (8 * size - (kind == "i")) - 1 for size in (1, 2, 4, 8)
              for kind in "iu"}  # fmt: skip


def _beyond_half(rng, size, pairs):
    """Shift the ids of some graphs, so that they exceed half the range of their dtype."""
    dtype, half = rng.choice([("u1", 2**7), ("i1", 2**6), ("u2", 2**15)])
    if rng.random() < 0.9 or size > half or (dtype == "u2" and rng.random() < 0.9):
        return size, pairs, None
    shift = rng.randint(half - size // 2, 2 * half - size)
    return size + shift, [(u + shift, v + shift) for u, v in pairs], dtype


# Weights.

WEIGHT_DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
_STRUCT = {"f2": ("e", "H"), "f4": ("f", "I"), "f8": ("d", "Q")}


def _weights(rng, dtype, count):
    draw = rng.choice([_equal, _few, _extreme, _small, _bits])
    values = draw(rng, dtype)
    return [values() for _ in range(count)]


def _regular(rng, pairs, weights):
    """Make every k-th edge of some graphs a loop, lightest, a tie, or part of a sequence."""
    special = range(rng.randrange(20), len(pairs), rng.choice([1, 2, 3, 4, 8, 16, 32]))
    kind = rng.choice(["loop", "least", "tie", "ascending", "descending"])
    if not special or rng.random() < 0.7:
        return pairs, weights
    pairs, weights = list(pairs), list(weights)
    own, least = sorted(weights[place] for place in special), min(weights)
    if kind in ("least", "tie"):
        own = [least if kind == "least" else own[0]] * len(own)
    if kind == "descending":
        own.reverse()
    for place, weight in zip(special, own, strict=True):
        weights[place] = least if kind == "loop" else weight
        if kind == "loop":
            pairs[place] = pairs[place][0], pairs[place][0]
    return pairs, weights


def _equal(rng, dtype):
    value = _extreme(rng, dtype)()
    return lambda: value


def _few(rng, dtype):
    pool = [_extreme(rng, dtype)() for _ in range(3)]
    return lambda: rng.choice(pool)


def _small(rng, dtype):
    make = {"?": bool, "f": float}.get(dtype[0], int)
    return lambda: make(rng.randint(0, 10))


def _extreme(rng, dtype):
    """Extremes, zeros of both signs, and neighbours of one."""
    if dtype == "?":
        pool = [False, True]
    elif dtype[0] == "f":
        after = {"f2": 2.0**-10, "f4": 2.0**-23, "f8": 2.0**-52}[dtype]
        largest = {"f2": 65504.0, "f4": (2 - 2.0**-23) * 2.0**127, "f8": (2 - 2.0**-52) * 2.0**1023}
        least = {"f2": 2.0**-24, "f4": 2.0**-149, "f8": 2.0**-1074}[dtype]
        pool = [0.0, -0.0, 1.0, 1 + after, -1.0, 2.5, least, -least, float("inf"), -float("inf")]
        pool += [largest[dtype], -largest[dtype]]
    else:
        bits = 8 * int(dtype[1]) - (dtype[0] == "i")
        pool = [0, 1, 2, 2**bits - 1, 2**bits - 2, 2 ** (bits - 1)]
        pool += [-1, -(2**bits), 1 - 2**bits] if dtype[0] == "i" else []
    return lambda: rng.choice(pool)


def _bits(rng, dtype):
    """Draw from all values of the dtype except for NaN."""
    if dtype == "?":
        return lambda: rng.random() < 0.5
    if dtype[0] != "f":
        bits = 8 * int(dtype[1])
        return lambda: rng.getrandbits(bits) - (2 ** (bits - 1) if dtype[0] == "i" else 0)
    real, integer = _STRUCT[dtype]

    def draw():
        value = float("nan")
        while value != value:
            bits = rng.getrandbits(8 * int(dtype[1]))
            (value,) = struct.unpack(real, struct.pack(integer, bits))
        return value

    return draw
