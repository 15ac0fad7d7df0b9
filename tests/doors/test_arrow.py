"""Arrow IPC files and streams are read by record batches."""

import numpy as np
import pyarrow as pa
import pytest

import mstflow
from mstflow.doors.files import open_files
from mstflow.doors.formats.arrow import arrow_source, read_arrow
from mstflow.errors import FileFormatError, MemoryBoundError

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
def test_record_batches_are_segments(tmp_path, kind, codec):
    path = tmp_path / "g.arrow"
    columns = written(path, kind, codec)
    source = arrow_source(path)
    assert [segment.num_edges for segment in source.segments] == list(BATCHES)
    assert [segment.origin[1] for segment in source.segments] == [0, 3000, 3001, 3001, 5001]
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
    found = arrow_source(tmp_path / "g.arrow", ("u", "v", "other")).with_sizes().columns()
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
    options = {"backend": "numpy", "memory": "200MB"}
    found = mstflow.minimum_spanning_forest(tmp_path / "blocks.arrow", **options)
    assert len(found.edge_ids) == 49
    with pytest.raises(MemoryBoundError, match="cannot be read in small blocks"):
        mstflow.minimum_spanning_forest(tmp_path / "whole.arrow", **options)


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
