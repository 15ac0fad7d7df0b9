"""Names that do not fit in memory: DuckDB gives the same numbers, and a killed run resumes."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import mstflow
from graph_strategies import WEIGHT_DTYPES
from mstflow.__main__ import main
from mstflow.errors import GraphError, MemoryBoundError, OptionError
from mstflow.graphs.names import beyond_memory, number, vertex_names
from mstflow.graphs.source import EdgeSource

pytest.importorskip("duckdb")
ENDS = ("left", "right")
KEPT = ["complete.json", "edges", "names.parquet"]
RANDOM = np.random.default_rng(26)


@pytest.fixture(autouse=True)
def nothing_fits(monkeypatch, tmp_path):
    """Number on disk whenever there is a bound; put scratch folders where tests can see them."""
    monkeypatch.setattr(number, "_GROWTH", 2**40)
    monkeypatch.setattr(beyond_memory, "_PARTS", 2)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()


def made(names, dtype, count=300):
    """Return a table of random pairs of names."""
    left, right = (
        pa.array(names).take(pa.array(RANDOM.integers(0, len(names), count))) for _ in ENDS
    )
    weight = RANDOM.integers(0, 9, count).astype(dtype)
    return pa.table({"left": left, "right": right, "weight": weight})


@pytest.mark.parametrize("dtype", WEIGHT_DTYPES)
def test_the_same_numbers_as_in_memory(dtype):
    strings = [f"it's {i}, ü" for i in range(99)]
    for names in (strings, [2**62 + 7 * i for i in range(99)], [-5, 3, 2**40]):
        table = made(names, dtype)
        parts = [table.slice(start, 64) for start in range(0, len(table), 64)]
        held = mstflow.minimum_spanning_forest(parts, ends=ENDS, maximum=True)
        forest = mstflow.minimum_spanning_forest(parts, ends=ENDS, maximum=True, memory="2GB")
        assert isinstance(forest.graph, EdgeSource)
        assert forest.edge_ids.tolist() == held.edge_ids.tolist()
        assert forest.to_arrow().equals(held.to_arrow())
        assert forest.weight.dtype == np.dtype(dtype)
        assert list(forest.names) == list(held.names)
        count = len(held.names)
        sizes = [40] * (count // 40) + [count % 40]
        assert [len(block) for block in forest.names.blocks(40)] == sizes
        assert forest.names.numbers(list(held.names)).tolist() == list(range(count))
        assert forest.clusters(3).to_arrow().equals(held.clusters(3).to_arrow())


def test_names_of_many_bytes(monkeypatch, tmp_path):
    """Arrow cannot concatenate or gather more than 2^31 bytes of the type `string`."""
    monkeypatch.setattr(vertex_names, "_FEW_BYTES", 0)
    table = made([f"ü {i}" for i in range(99)], "i4")
    held = mstflow.minimum_spanning_forest(table, ends=ENDS)
    forest = mstflow.minimum_spanning_forest(table, ends=ENDS, memory="2GB")
    assert forest.names.type == forest.to_arrow()["u"].type == pa.large_string()
    assert forest.to_pandas().equals(held.to_pandas())
    assert forest.clusters(3).to_arrow()["name"].to_pylist() == list(held.names)
    for name in ("forest.parquet", "forest.csv"):
        forest.save(tmp_path / name)
        mstflow.verify(forest.graph, tmp_path / name)
        mstflow.verify(held.graph, tmp_path / name)


def test_scratch_folders_are_removed(tmp_path):
    table = made(["a", "b", "c"], "f8")
    options = {"ends": ENDS, "memory": "2GB"}
    forest = mstflow.minimum_spanning_forest(table, weight=None, **options)
    assert forest.weight.tolist() == [1, 1]
    assert list((tmp_path / "scratch").iterdir())
    del forest
    gc.collect()
    assert not list((tmp_path / "scratch").iterdir())
    mixed = [table, table.set_column(2, "weight", table["weight"].cast("float32"))]
    with pytest.raises(GraphError, match="edge 300: weights are float32 from here on and float64"):
        mstflow.minimum_spanning_forest(mixed, **options)
    mixed = [table, table.drop_columns("weight")]
    with pytest.raises(GraphError, match="edge 300: some tables have a column of weights"):
        mstflow.minimum_spanning_forest(mixed, **options)
    mixed = [table, table.set_column(0, "left", [[7] * 300])]
    with pytest.raises(GraphError, match="names must all be strings or all integers"):
        mstflow.minimum_spanning_forest(mixed, **options)
    gc.collect()
    assert not list((tmp_path / "scratch").iterdir())


def test_a_checkpoint_keeps_the_numbers(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parquet.write_table(
        made([f"n{i}" for i in range(50)], "f4"), "pairs.parquet", row_group_size=99
    )
    options = "clusters pairs.parquet --ends left right --at 1 2 5 --memory 4GB --checkpoint kept"
    counts = []
    for _ in range(2):
        assert main([*options.split(), "-o", "out.parquet", "--json"]) == 0
        counts.append(json.loads(capsys.readouterr().out)["thresholds"])
        found = sorted(path.name for path in Path("kept/pairs").iterdir())
        assert found == KEPT
        # Another run would number again, and fail without DuckDB.
        monkeypatch.setitem(sys.modules, "duckdb", None)
    assert counts[0] == counts[1]
    with pytest.raises(OptionError, match=r"needs the package duckdb; install mstflow\[duckdb\]"):
        mstflow.minimum_spanning_forest("pairs.parquet", ends=ENDS, memory="4GB")
    Path("kept/pairs/complete.json").write_text("[]")  # of other pairs
    assert main(options.split()) == 2
    assert "needs the package duckdb" in capsys.readouterr().err


class Killed(BaseException):
    pass


def stopping(after, done):
    """Return `beyond_memory._replacing`, which fails instead of the rename number `after`."""
    replacing = beyond_memory._replacing

    @contextlib.contextmanager
    def stop(target):
        with replacing(target) as draft:
            yield draft
            if len(done) == after:
                raise Killed
            done.append(target.name)

    return stop


def test_a_killed_run_resumes_at_its_last_file(tmp_path, monkeypatch):
    path, folder = tmp_path / "pairs.parquet", tmp_path / "kept"
    parquet.write_table(made([f"n{i}" for i in range(50)], "f4"), path, row_group_size=99)
    monkeypatch.setattr(beyond_memory, "_BLOCK_SHARE", 1500 / 10**9)
    held = number.number_graph(path, ENDS, "weight")

    def numbered(after, done):
        with monkeypatch.context() as patch:
            patch.setattr(beyond_memory, "_replacing", stopping(after, done))
            return number.number_graph(path, ENDS, "weight", memory=2 * 10**9, checkpoint=folder)

    numbered(None, every := [])
    assert {"block=00000002", "part=1", "names.parquet", "v.npy"} < set(every)
    for after in range(len(every)):
        shutil.rmtree(folder)
        with pytest.raises(Killed):
            numbered(after, done := [])
        graph = numbered(None, rest := [])
        assert done == every[:after]
        assert len(rest) <= len(every) - after + 2  # one block or part is begun anew
        columns = zip(graph.columns(), (held.u, held.v, held.weight), strict=True)
        assert all(np.array_equal(*pair) for pair in columns)
        assert list(graph.names) == list(held.names)
        assert sorted(file.name for file in (folder / "pairs").iterdir()) == KEPT


@pytest.mark.parametrize("name", ["name=x", "place=7", "block=3", "part=1", "code=1", "first=0"])
def test_a_folder_that_looks_like_a_partition(tmp_path, name):
    """Libraries read columns of Parquet files from names of folders, unless told not to."""
    path = tmp_path / "pairs.parquet"
    parquet.write_table(made([f"n{i}" for i in range(50)], "f4"), path)
    held = number.number_graph(path, ENDS, "weight")
    graph = number.number_graph(path, ENDS, "weight", memory=10**9, checkpoint=tmp_path / name)
    columns = zip(graph.columns(), (held.u, held.v, held.weight), strict=True)
    assert all(np.array_equal(*pair) for pair in columns)
    assert graph.names.numbers(list(held.names)).tolist() == list(range(len(held.names)))
    assert graph.names.values.to_pylist() == list(held.names)


@pytest.mark.parametrize("after", [15, None])
def test_a_run_killed_while_it_removes_files_of_other_pairs(tmp_path, monkeypatch, after):
    paths, folder = [tmp_path / "one.parquet", tmp_path / "two.parquet"], tmp_path / "kept"
    for path in paths:
        parquet.write_table(made([f"n{i}" for i in range(50)], "f4"), path, row_group_size=99)
    monkeypatch.setattr(beyond_memory, "_BLOCK_SHARE", 1500 / 10**9)

    def numbered(path):
        return number.number_graph(path, ENDS, "weight", memory=2 * 10**9, checkpoint=folder)

    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(beyond_memory, "_replacing", stopping(after, []))
        numbered(paths[0])
    removed = tmp_path / "removed"

    def remove_one(pairs, **_):
        next((pairs / "edges").iterdir()).rename(removed)
        raise Killed

    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(shutil, "rmtree", remove_one)
        numbered(paths[1])
    assert removed.exists()
    held = number.number_graph(paths[0], ENDS, "weight")
    columns = zip(numbered(paths[0]).columns(), (held.u, held.v, held.weight), strict=True)
    assert all(np.array_equal(*pair) for pair in columns)


@pytest.mark.parametrize("other", ["pairs/thesis.txt", "pairs/edges.csv", "identity.json"])
def test_other_files_are_not_removed(tmp_path, other):
    """The folder of a checkpoint may be a folder of the user, or of another run."""
    path, found = tmp_path / "pairs.parquet", tmp_path / "kept" / other
    parquet.write_table(made(["a", "b"], "f4"), path)
    kept = tmp_path / "kept" / "pairs" / "complete.json"
    kept.parent.mkdir(parents=True)
    for file in (found, kept):
        file.write_text("[]")
    with pytest.raises(OptionError, match=f"kept: .* other files such as '{found.name}'; choose"):
        number.number_graph(path, ENDS, "weight", memory=10**9, checkpoint=tmp_path / "kept")
    assert found.exists()
    assert kept.exists()


def test_a_resumed_run_needs_memory_too(tmp_path, monkeypatch):
    path = tmp_path / "pairs.parquet"
    parquet.write_table(made(["a", "b"], "f4"), path)
    options = {"ends": ENDS, "weight": "weight", "checkpoint": tmp_path / "kept"}
    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(beyond_memory, "_replacing", stopping(4, []))
        number.number_graph(path, memory=2**30, **options)
    with pytest.raises(MemoryBoundError, match="to number the names of vertices on disk"):
        number.number_graph(path, memory=2**20, **options)


def test_an_interrupt_while_duckdb_runs(monkeypatch, tmp_path, capsys):
    """DuckDB raises RuntimeError in place of the exception that the signal handler raised."""
    query = "CREATE TABLE names AS SELECT range AS name FROM range(2000000) ORDER BY random();"
    monkeypatch.setattr(beyond_memory, "_CODE", f"{query} DROP TABLE names;" * 1000)
    parquet.write_table(made(["a", "b"], "int64"), tmp_path / "pairs.parquet")
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    inputs = [str(tmp_path / "pairs.parquet"), "--ends", *ENDS, "--memory", "2GB"]
    assert main(["solve", *inputs]) == 130
    assert capsys.readouterr().err == "error: interrupted\n"
    assert not list((tmp_path / "scratch").iterdir())
