"""Graphs of tests: Hypothesis strategies, unions of drawn graphs, and sizes of families."""

import functools

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mstflow import EdgeList

ID_DTYPES = ("i1", "u1", "i2", "i4", "u4", "i8", "u8")
WEIGHT_DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")

#: Options with which each family of `mstflow generate` makes a graph that is solved at once.
FAMILY_SIZES = {
    "random": {"vertices": 100, "edges": 1000},
    "rmat": {"scale": 7, "edges_per_vertex": 8},
    "grid": {"rows": 20, "columns": 30},
    "caveman": {"cliques": 12, "size": 11},
    "connected-caveman": {"cliques": 12, "size": 11},
    "circulant": {"vertices": 101, "degree": 5},
    "hypercube": {"dimension": 7},
    "chain": {"vertices": 500},
    "star": {"vertices": 500},
    "complete": {"vertices": 40},
}


def weights(dtype):
    """Draw from few values, so that ties are common: extremes, both zeros, adjacent floats."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        pool = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            2.5,
            np.inf,
            -np.inf,
            info.max,
            info.tiny,
            info.smallest_subnormal,
        ]
        pool.append(np.nextafter(dtype.type(1), dtype.type(2)))
    elif dtype.kind == "b":
        pool = [False, True]
    else:
        info = np.iinfo(dtype)
        pool = [0, 1, 2, info.max, info.max - 1, info.min, info.min + 1]
    return st.sampled_from([dtype.type(value) for value in pool])


@st.composite
def edge_lists(draw, weight_dtypes=WEIGHT_DTYPES):
    """Draw a small graph, usually with ties, loops, parallel edges and isolated vertices."""
    vertices = draw(st.integers(0, 12))
    size = draw(st.integers(0, 40)) if vertices else 0
    ids = st.lists(st.integers(0, max(vertices - 1, 0)), min_size=size, max_size=size)
    id_dtype = draw(st.sampled_from(ID_DTYPES))
    dtype = draw(st.sampled_from(weight_dtypes))
    weight = draw(st.lists(weights(dtype), min_size=size, max_size=size))
    return EdgeList(
        np.array(draw(ids), dtype=id_dtype),
        np.array(draw(ids), dtype=id_dtype),
        np.array(weight, dtype=dtype),
        num_vertices=vertices,
    )


@functools.cache
def union_of_many(count, dtype):
    """Return a graph whose components are `count` drawn graphs, with shuffled edges.

    It tests many examples in one run, where a run is costly.
    """
    drawn = []

    @settings(max_examples=count, phases=[Phase.generate], database=None, derandomize=True)
    @given(edge_lists(weight_dtypes=(dtype,)))
    def collect(graph):
        drawn.append(graph)

    collect()
    starts = np.cumsum([0, *(graph.num_vertices for graph in drawn)])
    pairs = list(zip(drawn, starts, strict=False))
    u = np.concatenate([graph.u.astype(np.int64) + start for graph, start in pairs])
    v = np.concatenate([graph.v.astype(np.int64) + start for graph, start in pairs])
    weight = np.concatenate([graph.weight for graph in drawn])
    order = np.random.default_rng(7).permutation(len(u))
    columns = u[order], v[order], weight[order]
    for column in columns:
        column.flags.writeable = False  # tests share it
    return EdgeList(*columns, num_vertices=int(starts[-1]))
