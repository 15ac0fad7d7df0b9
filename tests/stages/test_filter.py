"""The filter: samples by hashed ids, which no regular order of the edges evades."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from covering import covering
from mstflow.primitives import array_module
from mstflow.stages.fields import Edges
from mstflow.stages.filter import MIN_LIGHT_SHARE, choose_pivot, sample_keys
from mstflow.testing import EVERY_STAGE
from oracle import kruskal

OPS = array_module("numpy")
#: What every k-th edge is: a loop of weight 0, a tie, or in an ascending or descending order.
SPECIAL = {
    "loops": lambda u, v, w, at: (v.__setitem__(at, u[at]), w.__setitem__(at, 0)),
    "zeros": lambda u, v, w, at: w.__setitem__(at, 0),
    "ties": lambda u, v, w, at: w.__setitem__(at, w[at[:1]]),
    "ascending": lambda u, v, w, at: w.__setitem__(at, np.arange(len(at)) - 5.0),
    "descending": lambda u, v, w, at: w.__setitem__(at, 5.0 - np.arange(len(at))),
    "parallel": lambda u, v, w, at: (u.__setitem__(at, 0), v.__setitem__(at, 1)),
}


@given(
    st.sampled_from(sorted(SPECIAL)),
    st.sampled_from([1, 2, 3, 4, 8, 16]),
    st.integers(0, 5),
    st.integers(0, 2**32),
    st.integers(1, 20),
)
def test_regular_orders(special, every, first, seed, sample_size):
    rng = np.random.default_rng(seed)
    n, m = 12, 60
    u, v, w = rng.integers(0, n, m), rng.integers(0, n, m), rng.random(m)
    SPECIAL[special](u, v, w, np.arange(first, m, every))
    expected = kruskal(mstflow.EdgeList(u, v, w, num_vertices=n))
    for name in ("filter-boruvka", "filter-kruskal"):
        pipeline = mstflow.algorithm(name).given(**EVERY_STAGE | {"sample_size": sample_size})
        for backend in mstflow.backends():
            found = mstflow.minimum_spanning_forest(
                (u, v, w), num_vertices=n, algorithm=pipeline, backend=backend
            )
            assert found.edge_ids.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("k", "algorithm", "options"),
    covering(
        [16, 32],
        ["auto", "filter-kruskal", "filter-boruvka"],
        [{}, {"strategy": "iterate", "partitions": 2}],
    ),
)
def test_loops_at_every_kth_edge(k, algorithm, options):
    """Arrays of neighbors begin with the point itself, at distance 0."""
    rng, n = np.random.default_rng(0), 2**17 // k
    u = np.repeat(np.arange(n), k)
    v, w = (u + rng.integers(1, k - 1, len(u))) % n, rng.random(len(u))
    v[::k], w[::k] = u[::k], 0
    expected = mstflow.minimum_spanning_forest((u, v, w), algorithm="kruskal")
    found = mstflow.minimum_spanning_forest((u, v, w), algorithm=algorithm, **options)
    assert np.array_equal(found.edge_ids, expected.edge_ids)


@given(st.integers(0, 400), st.integers(1, 50), st.lists(st.integers(0, 400), max_size=3))
def test_the_sample_does_not_depend_on_partitions(m, size, cuts):
    ids = np.arange(m)
    key = ids.astype(np.uint32)
    whole = sample_keys(OPS, Edges(ids, ids, key, ids), m, size).tolist()
    assert len(whole) <= 2 * size + 1
    bounds = [0, *sorted(min(cut, m) for cut in cuts), m]
    parts = [
        sample_keys(OPS, Edges(*(c[low:high] for c in (ids, ids, key, ids))), m, size).tolist()
        for low, high in itertools.pairwise(bounds)
    ]
    assert [*itertools.chain(*parts)] == whole
    kept = ids[ids % 3 > 0]  # missing ids are only missing from the sample
    left = sample_keys(OPS, Edges(kept, kept, key[kept], kept), m, size).tolist()
    assert left == [each for each in whole if each % 3]


def test_the_sample_follows_no_regular_order_of_the_edges():
    ids = np.arange(2**14)
    sample = sample_keys(OPS, Edges(ids, ids, ids.astype(np.uint32), ids), 2**14, 2**8)
    assert len(np.unique(sample % 64)) > 48  # positions in blocks of 64 edges


def test_few_ids_of_a_long_range_need_no_table_of_it():
    ids = np.array([0, 7, 2**61])
    sample = sample_keys(OPS, Edges(ids, ids, np.arange(3, dtype=np.uint32), ids), 3, 8)
    assert sample.tolist() == [0, 1, 2]  # each is a block


def test_the_number_of_passes_is_bounded():
    """However few edges per vertex are light, a share of all edges is."""
    sample = np.arange(3200, dtype=np.uint32)
    pivot = choose_pivot(OPS, sample, 1, 10**9, 0.0)
    assert pivot == 3200 * MIN_LIGHT_SHARE
    assert choose_pivot(OPS, sample[:0], 10, 100, 1.0) == 2**32 - 1
