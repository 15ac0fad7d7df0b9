"""Real graphs with known forests: that of `examples/data`, and a collection beside the checkout."""

import json
from pathlib import Path

import numpy as np
import pytest

import mstflow

DATA = Path(__file__).parents[2] / "shared" / "data"
EXPECTED = json.loads((DATA / "expected.json").read_text()) if DATA.is_dir() else {}


def made_up_weights(u, v):
    """Return weights computed from the ends, for files without weights."""
    a, b = np.minimum(u, v).astype(np.uint64), np.maximum(u, v).astype(np.uint64)
    low = np.uint64(2**32 - 1)
    mixed = (a * np.uint64(2654435761) & low) ^ (b * np.uint64(2246822519) & low)
    return (mixed % np.uint64(1000000) + np.uint64(1)).astype(np.int64)


def load(name):
    """Return the graph with this name in expected.json, weighted by its weight_rule."""
    path, _, rule = name.partition("|")
    if path in ("pace16-NE.gr.xz", "Email-Enron.txt"):
        graph = mstflow.read(DATA / path)
        weight = made_up_weights(graph.u + 1, graph.v + 1)
        return mstflow.EdgeList(graph.u, graph.v, weight, num_vertices=graph.num_vertices)
    if path == "bcsstk13.mtx":
        graph = mstflow.read(DATA / path)
        off = graph.u != graph.v
        rank = np.unique(graph.weight[off], return_inverse=True)[1] + 1
        return mstflow.EdgeList(graph.u[off], graph.v[off], rank, num_vertices=graph.num_vertices)
    if path == "amsterdam-roads.gr.bin":
        graph = mstflow.read(DATA / path)
        u, v = graph.u, graph.v
        place = np.fromfile(DATA / "amsterdam-roads.co.bin", "<i4").reshape(-1, 2).astype(np.int64)
        square = ((place[u] - place[v]) ** 2).sum(axis=1)
        weight = square if rule == "sq" else np.sqrt(square.astype(np.float64)).astype(np.int64)
        return mstflow.EdgeList(u, v, weight, num_vertices=len(place))
    return mstflow.read(DATA / path)


@pytest.mark.parametrize("name", EXPECTED)
def test_expected(name, algorithm):
    expected = EXPECTED[name]
    graph = load(name)
    forest = mstflow.minimum_spanning_forest(graph, algorithm=algorithm)
    assert graph.num_vertices == expected["nodes"]
    assert forest.num_components == expected["components"]
    assert len(forest.edge_ids) == expected["msf_edges"]
    if "decimal weight" in expected["weight_rule"]:
        assert sum(round(w * 100000) for w in forest.weight.tolist()) == expected["msf_weight"]
    else:
        assert forest.total_weight == expected["msf_weight"]


def test_new_york(new_york, algorithm):
    forest = mstflow.minimum_spanning_forest(new_york, algorithm=algorithm)
    assert (forest.num_vertices, forest.graph.num_edges) == (264346, 733846)
    assert (forest.num_components, forest.total_weight) == (1, 261159288)
