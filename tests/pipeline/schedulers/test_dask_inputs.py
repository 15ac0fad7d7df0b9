"""Dask's collections are inputs of tasks: a cluster computes their chunks, never the caller."""

import os
from collections import Counter

import dask
import numpy as np
import pandas
import pytest
from dask import array as dask_array
from dask import dataframe

import mstflow
from graph_files import save_columns
from mstflow.doors.files import open_files
from mstflow.errors import FileFormatError, GraphError
from mstflow.graphs.segments import ArraySegment, Delayed
from mstflow.graphs.source import EdgeSource
from strategy_names import ANY_ALGORITHM

RANDOM = np.random.default_rng(12)
N, M, SIZE = 2000, 24_000, 5000
U, V = RANDOM.integers(0, N, (2, M))
W = RANDOM.random(M)
EXPECTED = mstflow.minimum_spanning_forest((U, V, W), num_vertices=N).edge_ids


@pytest.fixture
def chunk(tmp_path):
    """A function that computes a chunk and writes the id of its process to a file."""
    folder, columns = tmp_path / "pids", (U, V, W)
    folder.mkdir()

    def compute(start):
        (folder / f"{os.getpid()}-{start}").touch()
        return tuple(column[start : start + SIZE] for column in columns)

    compute.pids = lambda: {path.name.partition("-")[0] for path in folder.iterdir()}
    return compute


def graphs(client, chunk):

    def table(start):
        return pandas.DataFrame(dict(zip(("u", "v", "weight"), chunk(start), strict=True)))

    starts = range(0, M, SIZE)
    delayed = [dask.delayed(chunk)(start) for start in starts]
    frame = dataframe.from_map(
        table, starts, meta=pandas.DataFrame({"u": U, "v": V, "weight": W})[:0]
    )
    columns = [
        dask_array.map_blocks(
            lambda starts, place=place: chunk(int(starts[0]))[place],
            dask_array.from_array(np.repeat(starts, SIZE)[:M], chunks=SIZE),
            dtype=column.dtype,
            meta=column[:0],
        )
        for place, column in enumerate((U, V, W))
    ]
    return {
        "delayed": delayed,
        "persisted delayed": list(client.persist(delayed)),
        "futures": client.compute(delayed),
        "a data frame": frame,
        "a persisted data frame": client.persist(frame),
        "arrays": tuple(columns),
        "persisted arrays": tuple(client.persist(columns)),
    }


@pytest.mark.parametrize("strategy", ["auto", "iterate"])
def test_collections_are_computed_by_workers(strategy, chunk, cluster):
    for name, graph in graphs(cluster, chunk).items():
        forest = mstflow.minimum_spanning_forest(graph, scheduler=cluster, strategy=strategy)
        assert np.array_equal(forest.edge_ids, EXPECTED), name
        assert forest.partitions == -(-M // SIZE), name  # those of the collection
        assert str(os.getpid()) not in chunk.pids(), name
    assert chunk.pids()


def test_chunks_can_be_divided(chunk, cluster):
    graph = [dask.delayed(chunk)(start) for start in range(0, M, SIZE)]
    for partitions in (1, 3, 11):
        forest = mstflow.minimum_spanning_forest(graph, scheduler=cluster, partitions=partitions)
        assert np.array_equal(forest.edge_ids, EXPECTED)
        assert forest.partitions == partitions


def test_collections_are_read_without_a_cluster(chunk, cluster):
    for name, graph in graphs(cluster, chunk).items():
        for scheduler in ("inline", "threads"):
            forest = mstflow.minimum_spanning_forest(graph, scheduler=scheduler)
            assert np.array_equal(forest.edge_ids, EXPECTED), name
            assert np.array_equal(forest.weight, W[EXPECTED]), name


def test_an_array_of_two_or_three_columns(cluster):
    columns = RANDOM.integers(0, 50, (400, 3))
    expected = mstflow.minimum_spanning_forest(tuple(columns.T))
    for scheduler in ("inline", cluster):
        graph = dask_array.from_array(columns, chunks=(150, 2))
        forest = mstflow.minimum_spanning_forest(graph, scheduler=scheduler)
        assert np.array_equal(forest.edge_ids, expected.edge_ids)
        unweighted = mstflow.minimum_spanning_forest(graph[:, :2], scheduler=scheduler)
        assert set(unweighted.weight.tolist()) == {1}
    with pytest.raises(GraphError, match=r"of one length, found shapes \(400,\), \(400,\), \(400,"):
        mstflow.minimum_spanning_forest(dask_array.from_array(np.repeat(columns, 2, axis=1)))


def test_weights_of_two_dtypes_are_found_by_workers(cluster):
    chunks = [(U[:10], V[:10], W[:10]), (U[10:], V[10:], W[10:].astype(np.float32))]
    with pytest.raises(GraphError, match="edge 10: weights are float32 from here on and float64"):
        mstflow.minimum_spanning_forest(list(map(dask.delayed, chunks)), scheduler=cluster)


def test_a_bad_chunk_names_itself_and_the_worker(cluster):
    good, bad = (dask.delayed((np.array([0]), np.array([end]))) for end in (1, -1))
    message = rf"^chunk {bad.key}: edge 0: v is -1; vertex ids must not be negative \(on worker tcp"
    with pytest.raises(GraphError, match=message):
        mstflow.minimum_spanning_forest([good, bad], scheduler=cluster)
    bad = dask.delayed((np.array([0]), np.array(["x"])))
    with pytest.raises(GraphError, match=f"^chunk {bad.key}: (?!chunk)"):
        mstflow.minimum_spanning_forest([good, bad], scheduler=cluster)


def test_relative_paths_are_found_by_workers_elsewhere(tmp_path, cluster, monkeypatch):
    folder = save_columns(tmp_path / "graph", U, V, W)
    monkeypatch.chdir(tmp_path)
    forest = mstflow.minimum_spanning_forest("graph", scheduler=cluster, partitions=3)
    assert np.array_equal(forest.edge_ids, EXPECTED)
    opened = open_files(["graph"])
    (folder / "v.npy").unlink()
    message = "graph/v.npy: No such file"
    with pytest.raises(FileFormatError, match=message):
        mstflow.minimum_spanning_forest(opened, scheduler=cluster)


def tasks_of(client, strategy, **options):
    """Return the number of tasks of each name that the scheduler of a cluster received."""
    client.get_task_stream()  # which begins to be recorded
    start = len(client.get_task_stream())
    forest = mstflow.minimum_spanning_forest(
        scheduler=client, strategy=strategy, partitions=4, **options
    )
    keys = {str(task["key"]) for task in client.get_task_stream()[start:]}
    return forest, keys


def test_rounds_are_few_tasks_named_after_stages(cluster, new_york):
    forest, keys = tasks_of(cluster, "iterate", graph=new_york, algorithm="boruvka-edgelist")
    assert forest.total_weight == 261159288
    assert len(keys) <= 200
    names = Counter(key.partition("-")[0] for key in keys)
    assert not [name for name in names if "getitem" in name]
    assert names["find_min_edges"] == 4 * (len(forest.report.rounds) - 1)
    assert {key.split("-")[1] for key in keys} == {"iterate"}


def test_dashboards_show_the_stages_of_scans(cluster):
    forest, keys = tasks_of(cluster, "two-scan", graph=(U, V, W))
    assert np.array_equal(forest.edge_ids, EXPECTED)
    names = {key.partition("-")[0] for key in keys}
    assert {"scan_partition", "merge_forests", "collect_forest"} <= names
    stages = {stage.name for stage in mstflow.strategy("two-scan").stages()}
    assert names <= stages | {"merge_forests", "concatenation_of_sample_weights"}
    assert all("-scan-" in key for key in keys)


@pytest.mark.parametrize("strategy", ANY_ALGORITHM)
def test_chunks_of_any_size(strategy):
    for seed in range(20):
        random = np.random.default_rng(seed)
        count = int(random.integers(1, 30))
        columns = (*random.integers(0, 18, (2, count)), random.integers(0, 9, count))
        expected = mstflow.minimum_spanning_forest(columns, num_vertices=18).edge_ids
        for size in (3, 7):
            chunks = tuple(dask_array.from_array(column, chunks=size) for column in columns)
            found = mstflow.minimum_spanning_forest(chunks, num_vertices=18, strategy=strategy)
            assert found.edge_ids.tolist() == expected.tolist()


def test_weights_of_a_computed_chunk_are_sampled_like_those_of_its_columns():
    ids = np.arange(40_000)
    columns = ids, ids, ids / 2
    chunk = EdgeSource((Delayed(columns, stop=len(ids)),), weight_dtype=columns[2].dtype)
    expected = EdgeSource((ArraySegment(*columns),)).sample_weights(4)
    assert len(expected) == 16 * 512
    assert np.array_equal(chunk.sample_weights(4), expected)
