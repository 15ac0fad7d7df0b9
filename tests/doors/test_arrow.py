"""Arrow IPC files and streams are read by record batches."""

import fsspec
import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import mstflow
from mstflow.doors.column_names import Choice
from mstflow.doors.file_checks import FileState
from mstflow.doors.files import open_files
from mstflow.doors.formats.arrow import arrow_source, read_arrow
from mstflow.doors.places.url import places_of
from mstflow.errors import FileFormatError, MemoryBoundError
from waiting import wait_until

KINDS = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}
BATCHES = (3000, 1, 0, 2000, 4999)


def written(path, kind="file", codec=None, batches=BATCHES, **columns):
    """Write a graph of 50 vertices in record batches of these sizes; return its columns."""
    u, v, w = np.random.default_rng(0).integers(0, 50, (3, sum(batches)))
    rows = pa.record_batch({"u": u, **columns, "v": v, "weight": w / 8})
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with KINDS[kind](path, rows.schema, options=options) as file:
        for size in batches:
            file.write_batch(rows.slice(0, size))
            rows = rows.slice(size)
    return u, v, w / 8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_a_graph_is_read_by_record_batches(tmp_path, kind, codec):
    path = tmp_path / "g.arrow"
    columns = written(path, kind, codec)
    source = arrow_source(path)
    blocks = [(first, count) for first, count, _ in source.blocks(1)]
    assert blocks == [(0, 3000), (3000, 1), (3001, 2000), (5001, 4999)]
    assert [count for _, count, _ in source.slice(10, 6000).blocks(3100)] == [2991, 2000, 999]
    assert source.num_edges == 10_000
    assert source.weight_dtype == np.float64
    graph = read_arrow(path)
    for found in (source.with_sizes().columns(), (graph.u, graph.v, graph.weight)):
        for column, expected in zip(found, columns, strict=True):
            assert np.array_equal(column, expected)
    part = source.slice(2500, 6000).with_sizes().columns()
    assert np.array_equal(part[2], columns[2][2500:6000])


@pytest.mark.parametrize("kind", KINDS)
def test_only_chosen_columns_are_decoded(tmp_path, kind):
    notes = pa.array(["a note"] * 10_000).dictionary_encode()
    columns = written(tmp_path / "g.arrow", kind, "zstd", note=notes, other=np.zeros(10_000))
    choice = Choice("other", ("u", "v"))
    found = arrow_source(tmp_path / "g.arrow", choice).with_sizes().columns()
    assert np.array_equal(found[1], columns[1])
    assert not found[2].any()


def test_a_scan_of_a_folder_of_streams(tmp_path):
    folder = tmp_path / "graph"
    folder.mkdir()
    graphs = [written(folder / f"{kind}.arrow", kind) for kind in KINDS]
    whole = [np.concatenate(columns) for columns in zip(*graphs, strict=True)]
    found = mstflow.minimum_spanning_forest(folder, strategy="two-scan", backend="numpy")
    assert np.array_equal(found.edge_ids, mstflow.minimum_spanning_forest(tuple(whole)).edge_ids)


def test_a_bound_counts_one_record_batch(tmp_path):
    written(tmp_path / "blocks.arrow", batches=(50_000,) * 80)
    written(tmp_path / "whole.arrow", batches=(4_000_000,))
    options = {"backend": "numpy", "memory": "220MB"}
    found = mstflow.minimum_spanning_forest(tmp_path / "blocks.arrow", **options)
    assert len(found.edge_ids) == 49
    with pytest.raises(MemoryBoundError, match="cannot be read in small blocks"):
        mstflow.minimum_spanning_forest(tmp_path / "whole.arrow", **options)


def test_wide_record_batches_of_a_stream_are_read_one_by_one(tmp_path):
    """A read loads all columns, so it would take much more memory than the columns of the graph."""
    note = pa.array(["a long note" * 50] * 10_000)
    written(tmp_path / "g.arrow", "stream", batches=(1000,) * 10, note=note)
    source = arrow_source(tmp_path / "g.arrow")
    num_bytes = (tmp_path / "g.arrow").stat().st_size
    edges_at_once = source.segments[0].edges_at_once
    assert num_bytes / 10 / 24 < edges_at_once < num_bytes / 5 / 24
    for joined in (1, 3):
        counts = [count for _, count, _ in source.blocks(joined * edges_at_once)]
        assert counts[0] == 1000 * joined


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(tmp_path, kind):
    path = tmp_path / "g.arrow"
    written(path, kind)
    data = path.read_bytes()
    for size in (4, 100, 2000, 100_000, len(data) - 9):
        path.write_bytes(data[:size])
        with pytest.raises(FileFormatError, match=str(path)):
            open_files([path], is_bounded=True)
    path.write_bytes(data)
    source = open_files([path]).with_sizes() if kind == "file" else arrow_source(path)
    path.write_bytes(data + b" ")
    with pytest.raises(FileFormatError, match="changed while it was being read"):
        source.columns()


@pytest.mark.parametrize("kind", [*KINDS, "parquet"])
@pytest.mark.parametrize("memory", [None, "1GB"])
def test_columns_by_position(tmp_path, kind, memory):
    table = pa.table({"w": [5, 6, 1], "a": [0, 1, 0], "b": [1, 2, 2], "other": [0, 0, 1]})
    path = tmp_path / f"g.{'parquet' if kind == 'parquet' else 'arrow'}"
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        with KINDS[kind](path, table.schema) as file:
            file.write_table(table)
    for weight, total in ((0, 6), (3, 0)):
        forest = mstflow.minimum_spanning_forest(path, columns=[1, 2, weight], memory=memory)
        assert forest.total_weight == total


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_other_content_in_the_same_state(suffix):
    """Some file systems state the same size and times; a new call reads the file again."""

    def write(num_vertices, weights, mode):
        table = pa.table({"u": [0, 1, 0], "v": [1, 2, 2], "weight": weights})
        table = table.replace_schema_metadata({"num_vertices": num_vertices})
        with fsspec.open(url, mode) as file:
            if suffix == "parquet":
                parquet.write_table(table, file, compression="none", use_dictionary=False)
            else:
                with pa.ipc.new_file(file, table.schema) as batches:
                    batches.write_table(table)

    url = f"memory://replaced/g.{suffix}"
    write("3", [1, 2, 3], "wb")
    assert mstflow.minimum_spanning_forest(url).edge_ids.tolist() == [0, 1]
    state = FileState.of(*places_of(url))
    write("9", [3, 2, 1], "r+b")
    assert FileState.of(*places_of(url)) == state
    forest = mstflow.minimum_spanning_forest(url)
    assert (forest.edge_ids.tolist(), forest.num_vertices) == ([1, 2], 9)


def test_a_file_that_was_read_is_closed(tmp_path):
    written(tmp_path / "g.arrow")
    source = arrow_source(tmp_path / "g.arrow").with_sizes()

    def is_open():
        return str(tmp_path / "g.arrow") in {each.path for each in psutil.Process().open_files()}

    assert is_open()
    del source
    wait_until(lambda: not is_open())  # a thread of pyarrow may hold the file a moment longer


def test_a_bound_counts_the_columns_of_a_batch(tmp_path):
    """Columns of 32 bits take half of the memory of those of 64 bits."""
    counts = []
    for dtype in (np.int32, np.int64):
        u, v, w = np.zeros((3, 1000), dtype)
        table = pa.table({"u": u, "v": v, "weight": w})
        for name, write in (("g.arrow", feather.write_feather), ("g.parquet", parquet.write_table)):
            write(table, tmp_path / name)
            counts.append(open_files([tmp_path / name]).segments[0].edges_at_once)
    assert counts == [500, 500, 1000, 1000]
