"""Tests of pipelines whose threads share trees: forests, stop rules and counts."""

import numpy as np
import pytest
from hypothesis import given

import mstflow
from graph_strategies import edge_lists
from mstflow.runtime.sizes import tuned
from mstflow.stages.trees import no_tree_joined
from oracle import kruskal

UNIONFIND = mstflow.algorithm("boruvka-unionfind")
HELPERS = mstflow.algorithm("kruskal-helpers")
PIPELINES = {
    "kruskal-helpers": HELPERS,
    "boruvka-unionfind": UNIONFIND,
    "boruvka-unionfind, no ranks": UNIONFIND.given(by_rank=False),
}


@pytest.fixture(params=PIPELINES, scope="module")
def pipeline(request):
    return PIPELINES[request.param]


@pytest.fixture(scope="module")
def small_shares():
    """Share even small graphs among threads."""
    with tuned(smallest_share=2):
        yield


@pytest.mark.parametrize("backend", mstflow.backends())
@given(graph=edge_lists())
def test_forests_equal_the_oracle(pipeline, backend, small_shares, graph):
    forest = mstflow.minimum_spanning_forest(graph, algorithm=pipeline, backend=backend, threads=4)
    assert forest.edge_ids.tolist() == kruskal(graph).tolist()


@pytest.mark.parametrize("backend", mstflow.backends())
def test_a_hundred_runs_with_more_threads_than_processors(pipeline, backend, small_shares):
    draw = np.random.default_rng(6)
    graph = mstflow.EdgeList(*draw.integers(0, 3_000, (2, 30_000)), draw.integers(0, 3, 30_000))
    expected = kruskal(graph)
    for _ in range(100 if backend == "numba" else 1):  # other backends have no races
        forest = mstflow.minimum_spanning_forest(
            graph, algorithm=pipeline, backend=backend, threads=8
        )
        assert np.array_equal(forest.edge_ids, expected)


def test_new_york_with_many_threads(pipeline, new_york):
    forest = mstflow.minimum_spanning_forest(new_york, algorithm=pipeline, threads=8)
    assert (forest.num_components, forest.total_weight) == (1, 261159288)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("backend", mstflow.backends())
def test_counts_of_rejected_edges_add_up(backend, threads):
    u, v, w = np.random.default_rng(2).integers(0, 20_000, (3, 100_000))
    forest = mstflow.minimum_spanning_forest(
        (u, v, w), algorithm=HELPERS, backend=backend, threads=threads
    )
    counts = forest.report.final
    assert counts["main_cycles"] + counts["helper_cycles"] == 100_000 - len(forest.edge_ids)
    assert min(counts.values()) >= 0
    if threads == 1:
        assert counts["helper_cycles"] == 0
    assert {"sort_by_weight", "join_with_helpers"} < forest.report.seconds.keys()
    assert "helper_cycles" in str(forest.report)


def rounds(pipeline, graph, vertices):
    report = mstflow.minimum_spanning_forest(
        graph, num_vertices=vertices, algorithm=pipeline
    ).report
    return len(report.rounds) - 1  # round 0 precedes the loop


@pytest.mark.parametrize(
    ("copies", "isolated", "saved"),
    [(1, 0, 1), (1, 3, 1), (2, 0, 0)],
    ids=["connected", "one component and lone vertices", "two components"],
)
def test_counting_active_trees_saves_a_round(copies, isolated, saved):
    size = 50
    path = np.concatenate([np.arange(size - 1) + size * copy for copy in range(copies)])
    graph, vertices = (path, path + 1, path % 7), size * copies + isolated
    by_joins = rounds(UNIONFIND.replace("one_active_left", no_tree_joined), graph, vertices)
    assert rounds(UNIONFIND, graph, vertices) == by_joins - saved


@pytest.mark.parametrize(("vertices", "expected"), [(0, 0), (1, 0), (2, 1)])
def test_rounds_without_edges(vertices, expected):
    none = np.zeros(0, np.int64)
    assert rounds(UNIONFIND, (none, none), vertices) == expected


def test_an_edge_that_both_ends_choose_counts_once():
    forest = mstflow.minimum_spanning_forest(
        (np.array([0, 2, 1]), np.array([1, 3, 2]), np.array([1, 1, 2])), algorithm=UNIONFIND
    )
    assert forest.edge_ids.tolist() == [0, 1, 2]
    assert forest.report.final["num_joined"] == 1  # the last round: two trees, one edge
