"""Names that do not fit in memory: DuckDB gives the same numbers, and a checkpoint keeps them."""

from __future__ import annotations

import gc
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import mstflow
from graph_strategies import WEIGHT_DTYPES
from mstflow.__main__ import main
from mstflow.doors.names.beyond_memory import Spill, duckdb_errors
from mstflow.doors.names.number import number_graph
from mstflow.errors import GraphError, MemoryBoundError, OptionError
from mstflow.graphs.source import EdgeSource
from mstflow.progress import set_listener

ENDS = ("left", "right")
KEPT = ["complete.json", "edges", "names.parquet"]
NAMES = [f"n{i}" for i in range(50)]
RANDOM = np.random.default_rng(26)


#: Nothing fits in memory; few pairs make several parts and blocks.
SPILL = Spill(growth=2**40, parts=2)
BLOCKS = SPILL._replace(block_share=1000 / 10**9)
MEMORY = 2 * 10**9


@pytest.fixture(autouse=True)
def scratch(monkeypatch, tmp_path):
    """Put scratch folders where tests can see them; `tempfile` documents this variable."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()


def numbered(graph, weight="weight", spill=SPILL, memory=MEMORY, checkpoint=None):
    """Number the names of pairs on disk."""
    return number_graph(graph, ENDS, weight, memory=memory, checkpoint=checkpoint, spill=spill)


def check_same(graph, in_memory):
    """Check that a graph has the columns of one whose names fit in memory."""
    expected = in_memory.u, in_memory.v, in_memory.weight
    assert all(map(np.array_equal, graph.columns(), expected))


def random_pairs(names, dtype, count=300):
    """Return a table of random pairs of names."""
    left, right = (
        pa.array(names).take(pa.array(RANDOM.integers(0, len(names), count))) for _ in ENDS
    )
    weight = RANDOM.integers(0, 9, count).astype(dtype)
    return pa.table({"left": left, "right": right, "weight": weight})


#: Strings, and integers of 64 and of few bits.
KINDS = [[f"it's {i}, ü" for i in range(99)], [2**62 + 7 * i for i in range(99)], [-5, 3, 2**40]]


@pytest.mark.parametrize(("dtype", "names"), [*zip(WEIGHT_DTYPES, itertools.cycle(KINDS))])
def test_the_same_numbers_as_in_memory(dtype, names):
    table = random_pairs(names, dtype)
    parts = [table.slice(start, 64) for start in range(0, len(table), 64)]
    in_memory = mstflow.minimum_spanning_forest(parts, ends=ENDS, maximum=True)
    forest = mstflow.minimum_spanning_forest(numbered(parts), maximum=True, memory="2GB")
    assert isinstance(forest.graph, EdgeSource)
    assert forest.edge_ids.tolist() == in_memory.edge_ids.tolist()
    assert forest.to_arrow().equals(in_memory.to_arrow())
    assert forest.weight.dtype == np.dtype(dtype)
    assert list(forest.names) == list(in_memory.names)
    count = len(in_memory.names)
    assert [len(block) for block in forest.names.blocks(40)] == [40] * (count // 40) + [count % 40]
    assert forest.names.numbers(list(in_memory.names)).tolist() == list(range(count))
    assert forest.clusters(3).to_arrow().equals(in_memory.clusters(3).to_arrow())


def test_names_of_many_bytes(tmp_path):
    """Arrow cannot concatenate or gather more than 2^31 bytes of the type `string`."""
    table = random_pairs([f"ü {i}" for i in range(99)], "i4")
    in_memory = mstflow.minimum_spanning_forest(table, ends=ENDS)
    graph = numbered(table, spill=SPILL._replace(few_bytes=0))
    forest = mstflow.minimum_spanning_forest(graph, memory="2GB")
    assert forest.names.type == forest.to_arrow()["u"].type == pa.large_string()
    assert forest.to_pandas().equals(in_memory.to_pandas())
    assert forest.clusters(3).to_arrow()["name"].to_pylist() == list(in_memory.names)
    for name in ("forest.parquet", "forest.csv"):
        forest.save(tmp_path / name)
        mstflow.verify(forest.graph, tmp_path / name)
        mstflow.verify(in_memory.graph, tmp_path / name)


def test_scratch_folders_are_removed(tmp_path):
    table = random_pairs(["a", "b", "c"], "f8")
    forest = mstflow.minimum_spanning_forest(numbered(table, None), weight=None, memory="2GB")
    assert forest.weight.tolist() == [1, 1]
    assert list((tmp_path / "scratch").iterdir())
    del forest
    gc.collect()
    assert not list((tmp_path / "scratch").iterdir())
    mixed = [table, table.set_column(2, "weight", table["weight"].cast("float32"))]
    with pytest.raises(GraphError, match="edge 300: weights are float32 from here on and float64"):
        numbered(mixed)
    mixed = [table, table.drop_columns("weight")]
    with pytest.raises(GraphError, match="has no column of weights, unlike earlier tables"):
        numbered(mixed)
    mixed = [table, table.set_column(0, "left", [[7] * 300])]
    with pytest.raises(GraphError, match="names must all be strings or all integers"):
        numbered(mixed)
    gc.collect()
    assert not list((tmp_path / "scratch").iterdir())


def test_a_checkpoint_keeps_the_numbers(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = random_pairs(NAMES, "f4")
    parquet.write_table(table, "pairs.parquet", row_group_size=99)
    options = "clusters pairs.parquet --ends left right --at 1 2 5 --memory 4GB"
    assert main([*options.split(), "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)["thresholds"]
    numbered("pairs.parquet", checkpoint="kept")
    assert sorted(path.name for path in Path("kept/pairs").iterdir()) == KEPT
    monkeypatch.setitem(sys.modules, "duckdb", None)  # a missing package
    kept = [*options.split(), "--checkpoint", "kept", "-o", "out.parquet", "--json"]
    assert main(kept) == 0  # otherwise it would number again
    assert json.loads(capsys.readouterr().out)["thresholds"] == expected
    for folder in (None, "kept"):
        if folder:
            Path("kept/pairs/complete.json").write_text("[]")  # of other pairs
        with pytest.raises(OptionError, match=r"needs the package duckdb; install mstflow\[duckdb"):
            numbered("pairs.parquet", checkpoint=folder)


def test_a_killed_run_begins_anew(tmp_path):
    """Files of a run without `complete.json` may be incomplete."""
    path, folder = tmp_path / "pairs.parquet", tmp_path / "kept"
    parquet.write_table(random_pairs(NAMES, "f4", 210), path, row_group_size=99)
    in_memory = number_graph(path, ENDS, "weight")
    numbered(path, spill=BLOCKS, checkpoint=folder)
    (folder / "pairs" / "complete.json").write_text("[[")
    (folder / "pairs" / "names.parquet").write_bytes(b"PAR1")
    shutil.copytree(folder / "pairs" / "edges" / "00000000", folder / "pairs" / "edges" / "7")
    for name in ("names/block=00000000", "codes/part=1", "dictionaries", "spill"):
        (folder / "pairs" / name).mkdir(parents=True)
    graph = numbered(path, spill=BLOCKS, checkpoint=folder)
    check_same(graph, in_memory)
    assert list(graph.names) == list(in_memory.names)
    assert sorted(file.name for file in (folder / "pairs").iterdir()) == KEPT


def interrupt(step, done, total):
    """Interrupt when the columns are written, which is the last step."""
    if step == "number pairs":
        raise KeyboardInterrupt


def test_temporary_files_are_removed_after_an_interrupt(tmp_path):
    path, folder = tmp_path / "pairs.parquet", tmp_path / "kept"
    parquet.write_table(random_pairs(NAMES, "f4"), path)
    with pytest.raises(KeyboardInterrupt), set_listener(interrupt):
        numbered(path, checkpoint=folder)
    assert sorted(file.name for file in (folder / "pairs").iterdir()) == KEPT[1:]


@pytest.mark.parametrize("name", ["name=x", "place=7", "block=3", "part=1", "code=1", "first=0"])
def test_a_folder_that_looks_like_a_partition(tmp_path, name):
    """Libraries read columns of Parquet files from names of folders, unless told not to."""
    path = tmp_path / "pairs.parquet"
    parquet.write_table(random_pairs(NAMES, "f4"), path)
    in_memory = number_graph(path, ENDS, "weight")
    graph = numbered(path, checkpoint=tmp_path / name)
    check_same(graph, in_memory)
    assert graph.names.numbers(list(in_memory.names)).tolist() == list(range(len(in_memory.names)))
    assert graph.names.values.to_pylist() == list(in_memory.names)


@pytest.mark.parametrize("other", ["pairs/thesis.txt", "pairs/edges.csv", "identity.json"])
def test_other_files_are_not_removed(tmp_path, other):
    """The folder of a checkpoint may be a folder of the user, or of another run."""
    path, found = tmp_path / "pairs.parquet", tmp_path / "kept" / other
    parquet.write_table(random_pairs(["a", "b"], "f4"), path)
    kept = tmp_path / "kept" / "pairs" / "complete.json"
    kept.parent.mkdir(parents=True)
    for file in (found, kept):
        file.write_text("[]")
    with pytest.raises(OptionError, match=f"kept: .* other files such as '{found.name}'; choose"):
        numbered(path, checkpoint=tmp_path / "kept")
    assert found.exists()
    assert kept.exists()


def test_numbering_needs_memory(tmp_path):
    path = tmp_path / "pairs.parquet"
    parquet.write_table(random_pairs(["a", "b"], "f4"), path)
    with pytest.raises(MemoryBoundError, match="to number the names of vertices on disk"):
        numbered(path, memory=2**20, checkpoint=tmp_path / "kept")


def test_an_interrupt_while_duckdb_runs():
    """DuckDB raises RuntimeError in place of the exception that the signal handler raised."""
    query = "CREATE OR REPLACE TABLE t AS SELECT range FROM range(2000000) ORDER BY random();"

    def execute():
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        connection.execute(query * 1000)

    with duckdb.connect() as connection, pytest.raises(KeyboardInterrupt), duckdb_errors():
        execute()
