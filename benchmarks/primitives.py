"""Times of each compiled primitive, by length and threads, and of its definition, in one process.

A plain primitive is defined by NumPy. A fused primitive is defined by plain primitives, which are
compiled and run on the same threads. The arguments are those of a round on a random graph.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from mstflow.primitives.vocabulary import ArrayModule

from .graphs import Graph
from .measure import Benchmark, Row, in_turn, timed
from .tables import Table, among, ratio

#: The positional arguments and the options of a call.
Call = tuple[tuple[Any, ...], dict[str, Any]]

EDGES_PER_VERTEX = 3


def arguments(size: int, bits: int = 32) -> dict[str, Call]:
    """Return the arguments of each compiled primitive, by primitive and case.

    The graph has `size` vertices. Numbers have this number of bits: 32 or 64.
    """
    from mstflow.primitives.compiled.arrays import NumbaArrays
    from mstflow.primitives.consecutive import Consecutive

    random, ops = np.random.default_rng(0), NumbaArrays()
    count = EDGES_PER_VERTEX * size
    u, v = random.integers(0, size, (2, count), dtype=np.int32)
    v[u == v] ^= 1
    weight = random.random(count, dtype=np.float32) - np.float32(0.5)
    key = random.integers(0, 2**32, count, dtype=np.uint32)
    ids = np.arange(count, dtype=np.int32)
    label = random.integers(0, size // 3, size, dtype=np.int32)
    mask = u < size // 2
    offsets = np.append(0, np.sort(random.integers(0, count, size - 1, dtype=np.int32)))
    offsets = np.append(offsets, count).astype(np.int32)
    place = random.permutation(size).astype(np.int32)
    _, best, target = ops.scatter_min_pairs(u, v, key, ids, size)
    parent, _ = ops.cut_mirrors(target, best)
    order = np.argsort(key[:size])
    node = np.arange(size, dtype=np.int32)
    nearby = node + random.integers(1, 1000, size, dtype=np.int32)
    top, level, _ = ops.join_levels(u, v, [size // 2, size], size)
    edges = node[1:], np.maximum(2 * node[1:] - nearby[1:], 0)
    table = ops.max_table(place)
    first, last = np.sort(random.integers(0, size, (2, count), dtype=np.int32), axis=0)
    kept = ops.segmented_reduce(mask, offsets, "sum", 0)
    starts = ops.offsets(kept, dtype="int32")[:-1]
    calls: dict[str, tuple[Any, ...]] = {
        "gather": (label, u),
        "compact": (mask, u, key),
        "segmented_reduce": (key, offsets, "min", 0),
        "segmented_argmin": (key, offsets),
        "segmented_broadcast": (label, offsets),
        "scatter_reduce": (u, ids, size, "min", count),
        "scatter_argmin": ((u, v), key, size),
        "concat": ([u, v],),
        "minimum": (u, v),
        "maximum": (u, v),
        "where": (mask, u, v),
        "argsort": (key[: 2**18],),
        "argsort, 64 bits": (key[: 2**18].astype(np.uint64) << np.uint64(30),),
        "searchsorted": (node, v),
        "any_signed": (np.abs(weight),),
        "order_key": (weight,),
        "any_equal": (u, v),
        "not_equal": (u, v),
        "pointer_jump": (parent,),
        "multiprefix": (u, ids, node),
        "deal": (ids & 63, 64, u, v, key, ids),
        "deal_ends": (u, v, key, node[::16] * 8 // size, 4, 8),
        "segmented_compact": (mask, offsets, starts, ids, u),
        "relabel_arcs": (label, u, offsets),
        "compact_pairs": (u, v, key, 2**30, "int32", ids),
        "relabel_pairs": (label, u, v, key, ids),
        "pack_flags": (mask,),
        "compact_marked": (ops.pack_flags(node % 32 == 0), u, v, key, ids),
        "unique_inverse": (u, size),
        "scatter_min_pairs": (u, v, key, ids, size),
        "cut_mirrors": (target, best),
        "sorted_union": ((place[: size // 2], place[size // 2 :]),),
        "join_in_order": (u[order], v[order], size),
        "join_by_key": (u[:size], v[:size], key[:size], size),
        "contract_tile": (np.minimum(u, size // 2), np.minimum(v, size // 2), key, size // 2),
        "join_with_helpers": (u, v, size),
        "path_sums": (np.minimum(nearby, size - 1), node & 1),
        "merge_in_order": (*(end[np.argsort(key[: size - 1])] for end in edges), size),
        "join_levels": (u, v, [size // 4, size // 2, count], size),
        "range_max": (table, first, last),
    }
    arguments_of: dict[str, Call] = {name: (positional, {}) for name, positional in calls.items()}
    arguments_of["unite"] = ((node, node, target), {"by_rank": True})
    arguments_of["unite, no ranks"] = ((node, node, target), {"by_rank": False})
    arguments_of["arange"] = ((size,), {"dtype": "int32"})
    arguments_of["full"] = ((size, 7), {"dtype": "int32"})
    arguments_of["offsets"] = (node,), {"dtype": "int32"}
    arguments_of["scan"] = (ids,), {"dtype": "int32"}
    arguments_of["consecutive"] = ((0, size), {"dtype": "int32"})
    arguments_of["asarray"] = (Consecutive(0, size, "int32"),), {"dtype": "int64"}
    arguments_of["label_level"] = (top, level, 0), {"dtype": "int64"}
    arguments_of["scatter"] = ((place, label, size, -1), {"dtype": "int32"})
    return arguments_of if bits == 32 else _widened(arguments_of)


def _widened(value: Any) -> Any:
    """Return arguments with numbers of 64 bits in place of 32."""
    if isinstance(value, np.ndarray):
        return value.astype(f"{value.dtype.kind}8") if value.itemsize == 4 else value
    if isinstance(value, dict):
        return {key: _widened(each) for key, each in value.items()}
    if type(value) in (tuple, list):
        return type(value)(map(_widened, value))
    return "int64" if isinstance(value, str) and value == "int32" else value


def overridden() -> list[str]:
    """Return the names of the primitives that the `numba` module overrides.

    Primitives for points are excluded: their definitions compare all pairs. `choices` measures
    whole trees.
    """
    from mstflow.pointsets.primitives.blocks import Blocks
    from mstflow.pointsets.primitives.searches import Proximity
    from mstflow.primitives.compiled.arrays import NumbaArrays
    from mstflow.primitives.numpy_arrays import NumpyArrays

    classes = NumbaArrays.__mro__
    names = {name for each in classes[: classes.index(NumpyArrays)] for name in vars(each)}
    names -= {*vars(Proximity), *vars(Blocks)}
    return sorted(name for name in names if not name.startswith("_"))


def rows(
    elements: Sequence[int],
    threads: Sequence[int],
    rounds: int,
    bits: Sequence[int] = (32,),
    codes: Sequence[str] = ("compiled",),
    budget: float | None = None,
) -> Iterator[Row]:
    """Yield the times of every compiled primitive.

    The arguments have about this number of `elements`; in a row, `elements` is the length of the
    largest array. A case ends after `budget` seconds.
    """
    from mstflow.primitives.compiled.arrays import NumbaArrays
    from mstflow.runtime.memory import keeping_blocks

    for length, width in itertools.product(elements, bits):
        calls = arguments(length // EDGES_PER_VERTEX, width)
        missing = set(overridden()) - {case.partition(",")[0] for case in calls}
        assert not missing, f"no arguments for {', '.join(sorted(missing))}"
        for case, (arrays, options) in calls.items():
            name = case.partition(",")[0]
            sizes = {"bits": width, "length": length, "elements": _elements(arrays)}
            cases = []
            for team, code in itertools.product(threads, codes):
                ops = NumbaArrays(team)
                function = definition(ops, name) if code == "definition" else getattr(ops, name)
                names = {"primitive": case, **sizes, "threads": team, "code": code}
                cases.append((names, timed(partial(function, *arrays, **options))))
            with keeping_blocks():
                yield from in_turn(cases, rounds, budget, warm_ups=1)


def solver(graph: Graph, **options: Any) -> Callable[[], Any]:
    """Return a function that solves a graph in memory."""
    from mstflow import minimum_spanning_forest

    return partial(
        minimum_spanning_forest, graph[:3], num_vertices=graph.n, progress=False, **options
    )


def definition(ops: ArrayModule, name: str) -> Callable[..., Any]:
    """Return the definition of a primitive: by NumPy, or by plain primitives of `ops`."""
    from mstflow.primitives.numpy_arrays import NumpyArrays

    if name in vars(NumpyArrays):
        return getattr(NumpyArrays(), name)  # type: ignore[no-any-return]
    return getattr(ArrayModule, name).__get__(ops)  # type: ignore[no-any-return]


def _elements(arguments: tuple[Any, ...]) -> int:
    """Return the length of the largest array, or the largest number without arrays."""
    return max(map(_length, arguments)) or int(max(arguments))


def _length(value: Any) -> int:
    """Return the length of an array, of the largest array of a tuple, or of all in a list."""
    if isinstance(value, tuple | list):
        return (max if isinstance(value, tuple) else sum)(map(_length, value))
    return len(value) if np.ndim(value) else 0


def nanoseconds(row: Row, _: Row) -> float:
    """Return the median nanoseconds for each element."""
    return float(statistics.median(row["seconds"]) / row["elements"] * 1e9)


BENCHMARKS = {
    "primitives": Benchmark(
        "compiled primitives, compared with their definitions",
        rows,
        {
            "elements": [3_000_000],
            "threads": [1, 2],
            "rounds": 5,
            "codes": ["definition", "compiled"],
        },
        {"elements": [9000], "rounds": 1},
        {
            "primitives": Table(
                ("primitive",),
                ("threads", "code"),
                {"ns": nanoseconds, "ratio": ratio()},
                against=("threads",),
                prepared=lambda rows: among(rows, "primitive", nanoseconds, 5),
            )
        },
    ),
    "lengths": Benchmark(
        "compiled primitives by number of threads and length of the arrays",
        rows,
        {
            "elements": [10**4, 10**5, 10**6, 10**7],
            "threads": [1, 2, 4, 16],
            "rounds": 50,
            "budget": 0.5,
        },
        {"elements": [300, 3000], "threads": [1, 2], "rounds": 1},
        {
            "lengths": Table(
                ("primitive",), ("length", "threads"), {"": ratio()}, against=("length",)
            )
        },
        usual=False,  # takes minutes
    ),
}
