"""Real graphs with known forests: that of `examples/data`, and a collection beside the checkout."""

import json
from pathlib import Path

import numpy as np
import pytest

import mstflow

EXAMPLES = Path(__file__).parents[1] / "examples" / "data"
COLLECTION = Path(__file__).parents[2] / "shared" / "data"
NEW_YORK = {"nodes": 264_346, "components": 1, "msf_edges": 264_345, "msf_weight": 261_159_288}
EXPECTED = {"USA-road-d.NY.gr.gz": {**NEW_YORK, "weight_rule": "integer weight in file"}}
if COLLECTION.is_dir():
    EXPECTED |= json.loads((COLLECTION / "expected.json").read_text())
#: Prim takes ten microseconds for each edge.
MOST_VERTICES_FOR_PRIM = 300_000


def made_up_weights(u, v):
    """Return weights computed from the ends, for files without weights."""
    a, b = np.minimum(u, v).astype(np.uint64), np.maximum(u, v).astype(np.uint64)
    low = np.uint64(2**32 - 1)
    mixed = (a * np.uint64(2654435761) & low) ^ (b * np.uint64(2246822519) & low)
    return (mixed % np.uint64(1000000) + np.uint64(1)).astype(np.int64)


def load(name):
    """Return the graph with this name in expected.json, weighted by its weight_rule."""
    path, _, rule = name.partition("|")
    folder = EXAMPLES if (EXAMPLES / path).exists() else COLLECTION
    if path in ("pace16-NE.gr.xz", "Email-Enron.txt"):
        graph = mstflow.read(folder / path)
        weight = made_up_weights(graph.u + 1, graph.v + 1)
        return mstflow.EdgeList(graph.u, graph.v, weight, num_vertices=graph.num_vertices)
    if path == "bcsstk13.mtx":
        graph = mstflow.read(folder / path)
        off = graph.u != graph.v
        rank = np.unique(graph.weight[off], return_inverse=True)[1] + 1
        return mstflow.EdgeList(graph.u[off], graph.v[off], rank, num_vertices=graph.num_vertices)
    if path == "amsterdam-roads.gr.bin":
        graph = mstflow.read(folder / path)
        u, v = graph.u, graph.v
        place = (
            np.fromfile(folder / "amsterdam-roads.co.bin", "<i4").reshape(-1, 2).astype(np.int64)
        )
        square = ((place[u] - place[v]) ** 2).sum(axis=1)
        weight = square if rule == "sq" else np.sqrt(square.astype(np.float64)).astype(np.int64)
        return mstflow.EdgeList(u, v, weight, num_vertices=len(place))
    return mstflow.read(folder / path)


@pytest.mark.parametrize("name", EXPECTED)
def test_every_algorithm_finds_the_known_forest(name):
    expected, graph = EXPECTED[name], load(name)
    assert graph.num_vertices == expected["nodes"]
    for algorithm in mstflow.algorithms():
        if algorithm == "prim" and graph.num_vertices > MOST_VERTICES_FOR_PRIM:
            continue
        forest = mstflow.minimum_spanning_forest(graph, algorithm=algorithm)
        assert forest.num_components == expected["components"], algorithm
        assert len(forest.edge_ids) == expected["msf_edges"], algorithm
        if "decimal weight" in expected["weight_rule"]:
            total_weight = sum(round(w * 100000) for w in forest.weight.tolist())
        else:
            total_weight = forest.total_weight
        assert total_weight == expected["msf_weight"], algorithm
