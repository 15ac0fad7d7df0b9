"""A forest file identifies its graph by the edges, however the graph is stored."""

import json

import numpy as np
import pytest

import mstflow
from mstflow import EdgeList, minimum_spanning_forest, verify
from mstflow.doors.formats.forest_file import read_forest
from mstflow.doors.read import open_graph
from mstflow.doors.write import write_columns
from mstflow.errors import FileFormatError, VerificationError
from mstflow.graphs.saved_forest import graph_identity
from mstflow.graphs.source import EdgeSource

EDGES = 5000  # more than a digest looks at


def columns(seed=0):
    random = np.random.default_rng(seed)
    u, v = random.integers(0, 300, (2, EDGES))
    return u, v, random.integers(1, 90, EDGES)


def identity(graph):
    found = open_graph(graph, is_streamed=True)
    source = found if isinstance(found, EdgeSource) else EdgeSource.of(found)
    return graph_identity(source.with_sizes())


@pytest.mark.parametrize("name", ["g.npz", "g", "g.parquet", "g.csv", "g.gr", "g.mtx"])
def test_all_forms_of_a_graph_have_one_identity(tmp_path, name):
    u, v, weight = columns()
    known = identity(EdgeList(u, v, weight, num_vertices=301))
    assert known["num_vertices"] == 301
    assert known["num_edges"] == EDGES
    write_columns(tmp_path / name, {"u": u, "v": v, "weight": weight}, num_vertices=301)
    found = identity(tmp_path / name)  # not all of them state how many vertices there are
    assert found["digest"] == known["digest"]
    assert found["num_edges"] == EDGES


@pytest.mark.parametrize("size", [1, 999, 4096, EDGES])
def test_identity_does_not_depend_on_chunks(size):
    u, v, weight = columns()
    starts = range(0, EDGES, size)
    if size == 1:  # chunks of one edge would take long
        starts, u, v, weight = range(99), u[:99], v[:99], weight[:99]
    chunks = [tuple(c[s : s + size] for c in (u, v, weight.astype(np.float32))) for s in starts]
    assert identity(chunks) == identity((u.astype(np.int32), v, weight))


@pytest.mark.parametrize("place", [0, 4095])
@pytest.mark.parametrize("column", [0, 1, 2])
def test_other_graphs_have_other_identities(column, place):
    changed = [c.copy() for c in columns()]
    changed[column][place] += 1
    known, found = identity(columns()), identity(tuple(changed))
    assert found["digest"] != known["digest"]


def test_graph_that_is_read_once_has_no_digest():
    forest = minimum_spanning_forest(iter([columns()]), num_vertices=300)
    assert graph_identity(forest.graph) == {
        "num_vertices": 300,
        "num_edges": None,
        "digest": None,
    }


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("name", ["f.npz", "f", "f.parquet", "f.csv"])
def test_saved_forests_contain_the_identity(tmp_path, name, maximum):
    forest = minimum_spanning_forest(columns(), maximum=maximum)
    forest.save(tmp_path / name)
    found, stated = read_forest(tmp_path / name, np.dtype(np.int64))
    assert np.array_equal(found["edge_id"], forest.edge_ids)
    assert stated == (None if name == "f.csv" else {**identity(columns()), "maximum": maximum})
    assert mstflow.read(tmp_path / name).num_edges == len(forest.edge_ids)  # still a graph
    given = maximum if name == "f.csv" else None
    assert verify(columns(), tmp_path / name, maximum=given).maximum == maximum
    with pytest.raises(VerificationError):
        verify(columns(), tmp_path / name, maximum=not maximum)


def test_files_of_older_versions_have_minimum_forests(tmp_path):
    forest = minimum_spanning_forest(columns(), maximum=True)
    stated = graph_identity(EdgeSource.of(forest.graph))
    write_columns(tmp_path / "f.npz", {"edge_id": forest.edge_ids}, identity=stated)
    with pytest.raises(VerificationError):
        verify(columns(), tmp_path / "f.npz")
    assert verify(columns(), tmp_path / "f.npz", maximum=True).maximum


@pytest.mark.parametrize("name", ["f.npz", "f", "f.parquet"])
def test_verify_reports_another_graph(tmp_path, name):
    u, v, weight = columns()
    minimum_spanning_forest((u[1:], v[1:], weight[1:])).save(tmp_path / name)
    with pytest.raises(
        VerificationError, match="in the graph; the forest's file is for another"
    ) as caught:
        verify((u, v, weight), tmp_path / name)
    told = str(caught.value).partition("another graph: ")[2]
    assert told.startswith("digest ")
    assert told.endswith("num_edges 4999, not 5000")


def test_wrong_forests_of_the_same_graph(tmp_path):
    forest = minimum_spanning_forest(columns())
    stated = graph_identity(EdgeSource.of(forest.graph))
    write_columns(tmp_path / "f.npz", {"edge_id": forest.edge_ids[1:]}, identity=stated)
    with pytest.raises(VerificationError) as caught:
        verify(columns(), tmp_path / "f.npz")
    assert "another graph" not in str(caught.value)


def test_identity_must_be_an_object(tmp_path):
    np.savez(tmp_path / "f.npz", edge_id=[0], graph=np.array("[1]"))
    np.savez(tmp_path / "g.npz", edge_id=[0], graph=np.array("{"))
    (tmp_path / "h").mkdir()
    np.save(tmp_path / "h" / "edge_id.npy", [0])
    (tmp_path / "h" / "graph.json").write_text(json.dumps("x"))
    for name in ("f.npz", "g.npz", "h"):
        with pytest.raises(FileFormatError, match=str(tmp_path / name)):
            verify(columns(), tmp_path / name)
