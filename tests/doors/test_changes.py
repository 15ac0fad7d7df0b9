"""A graph that changes between two scans is refused, and nothing is written."""

from __future__ import annotations

import os
import textwrap
from dataclasses import replace

import dask
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import mstflow
from command_errors import error_of
from graph_files import save_columns
from mstflow.doors.file_checks import FileState
from mstflow.doors.files import open_files
from mstflow.doors.read import open_graph
from mstflow.errors import FileFormatError, GraphError
from mstflow.graphs.segments import checksum
from processes import run_python

RNG = np.random.default_rng(0)
N, M = 500, 20_000
U, V = RNG.integers(0, N, (2, M))
W, OTHER = RNG.random((2, M))


def write(path, kind, u=U, v=V, w=W):
    """Write a graph in place, as other programs do, and return its path."""
    if kind == "npy":
        save_columns(path, u, v, w)
    elif kind == "parquet":
        parquet.write_table(pa.table({"u": u, "v": v, "weight": w}), path, row_group_size=4096)
    else:
        lines = [f"{a} {b} {c!r}\n" for a, b, c in zip(u, v, w.tolist(), strict=True)]
        path.write_text("".join(lines))
    return path


def opened(path):
    """Return a graph on files whose first scan is over."""
    return open_graph(path, num_vertices=N, is_streamed=True, memory=10**9).with_sizes()


@pytest.mark.parametrize("kind", ["npy", "parquet", "txt"])
@pytest.mark.parametrize("weights", [OTHER, W[::-1], W.astype(np.float32)])
def test_files_that_change_between_scans(tmp_path, kind, weights):
    graph = opened(write(tmp_path / f"graph.{kind}", kind))
    first = [read() for *_, read in graph.blocks()]
    assert np.array_equal(np.concatenate([weight for *_, weight in first]), W)
    write(tmp_path / f"graph.{kind}", kind, w=weights)
    with pytest.raises(
        FileFormatError, match=r"([uvw]\.npy|graph\.\w+) changed while it was being re"
    ):
        [read() for *_, read in graph.blocks()]


def test_a_text_that_changes_after_its_first_block(tmp_path):
    order = np.arange(100_000) % M  # some blocks
    path = write(tmp_path / "graph.txt", "txt", U[order], V[order], W[order])
    blocks = opened(path).blocks()
    next(blocks)
    write(path, "txt", U[order], V[order], OTHER[order])
    with pytest.raises(FileFormatError, match=r"graph\.txt changed while it was being read"):
        list(blocks)


@pytest.mark.parametrize("kind", ["npy", "parquet", "txt"])
def test_files_that_are_replaced_with_their_times_set_back(tmp_path, kind):
    path = write(tmp_path / f"graph.{kind}", kind)
    graph = opened(path)
    other = write(tmp_path / f"other.{kind}", kind, w=OTHER[::-1])
    files = [(path, other)] if kind != "npy" else [(path / "w.npy", other / "w.npy")]
    for file, new in files:
        status = file.stat()
        os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
        new.replace(file)
    with pytest.raises(FileFormatError, match="changed while it was being read"):
        graph.columns()


def test_a_header_that_changes(tmp_path):
    graph = opened(write(tmp_path / "graph", "npy", w=np.ones(M, np.int32)))
    np.save(tmp_path / "graph/w.npy", np.ones(M, np.float32))
    (segment,) = graph.segments
    columns = [replace(column, state=FileState.of(column.path)) for column in segment.columns]
    coarse = replace(graph, segments=(replace(segment, columns=tuple(columns)),))  # as its clock
    with pytest.raises(FileFormatError, match=r"w\.npy changed .*: its header differs"):
        coarse.columns()


@pytest.mark.parametrize("kind", ["npy", "parquet", "txt"])
def test_files_that_change_before_the_forest_is_saved(tmp_path, kind):
    path = write(tmp_path / f"graph.{kind}", kind)
    forest = mstflow.minimum_spanning_forest(path, num_vertices=N, memory="1GB")
    write(path, kind, w=OTHER)
    for late in (lambda: forest.save(tmp_path / "forest.csv"), lambda: forest.u):
        with pytest.raises(FileFormatError, match="changed while it was being read"):
            late()
    assert not (tmp_path / "forest.csv").exists()


def test_a_loaded_graph_does_not_depend_on_its_files(tmp_path):
    path = write(tmp_path / "graph", "npy")
    forest = mstflow.minimum_spanning_forest(path)
    write(path, "npy", w=OTHER)
    assert np.array_equal(forest.weight, W[forest.edge_ids])


class Scans:
    """Chunks that are different in each scan: `scans` has a list of chunks for each."""

    def __init__(self, *scans):
        self.scans = list(scans)

    def __iter__(self):
        return iter(self.scans.pop(0) if len(self.scans) > 1 else self.scans[0])


def chunks(w=W, order=(0, 1, 2, 3), size=M // 4):
    cut = [slice(size * place, size * (place + 1)) for place in order]
    return [(U[each], V[each], w[each]) for each in cut]


ONE_VALUE = W.copy()
ONE_VALUE[-1] = 0
SWAPPED = W.copy()
SWAPPED[[7, 8]] = W[[8, 7]]


@pytest.mark.parametrize(
    ("later", "chunk"),
    [
        (chunks(OTHER), 0),
        (chunks(ONE_VALUE), 3),
        (chunks(SWAPPED), 0),
        (chunks(W.astype(np.float32)), 0),
        (chunks(order=(0, 2, 1, 3)), 1),
        (chunks(size=M // 5), 0),
    ],
)
@pytest.mark.parametrize("options", [{"strategy": "fold"}, {"partitions": 3}, {"memory": "1GB"}])
def test_chunks_that_change_between_scans(later, chunk, options):
    graph = Scans(chunks(), later)
    with pytest.raises(GraphError, match=f"chunk {chunk} changed between two scans"):
        mstflow.minimum_spanning_forest(graph, **options)


@pytest.mark.parametrize("size", [0, 10])
@pytest.mark.parametrize("options", [{"strategy": "fold"}, {"partitions": 3}, {"memory": "1GB"}])
def test_chunks_that_are_added_between_scans(size, options):
    graph = Scans(chunks(), [*chunks(), (U[:size], V[:size], W[:size])])
    with pytest.raises(GraphError, match="chunk 4 changed between two scans: it was not in the fi"):
        mstflow.minimum_spanning_forest(graph, **options)


def test_delayed_chunks_that_change_between_scans():
    weights = [W, OTHER]

    def load(place):
        return U, V, weights.pop(0) if len(weights) > 1 else weights[0]

    delayed = [dask.delayed(load, pure=False)(0)]
    with pytest.raises(GraphError, match=r"chunk load-.* changed between two scans: its values"):
        mstflow.minimum_spanning_forest(delayed, strategy="fold")


def test_chunks_that_stay_are_accepted():
    graph = Scans(chunks())
    forest = mstflow.minimum_spanning_forest(graph, partitions=3)
    expected = mstflow.minimum_spanning_forest((U, V, W))
    assert np.array_equal(forest.edge_ids, expected.edge_ids)
    assert forest.total_weight == expected.total_weight


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.int64])
@pytest.mark.parametrize("length", [1, 1021, 9000])
def test_checksums_depend_on_values_places_and_dtypes(dtype, length):
    values = RNG.integers(0, 100, length).astype(dtype)
    changed, swapped = values.copy(), values.copy()
    changed[-1] += 1
    swapped[[0, -1]] = values[[-1, 0]]
    others = [changed, values.view(f"V{values.itemsize}"), values[:-1]]
    if values[0] != values[-1]:
        others.append(swapped)
    assert len({checksum([each]) for each in [values, *others]}) == 1 + len(others)
    assert checksum([values[::-1]]) == checksum([values[::-1].copy()])


def test_a_fingerprint_depends_on_every_time(tmp_path):
    path = write(tmp_path / "graph", "npy")
    before = opened(path).fingerprint()
    assert opened(path).fingerprint() == before
    status = (path / "w.npy").stat()
    values = W.copy()
    values[5000:6000] = OTHER[5000:6000]
    np.save(path / "w.npy", values)
    os.utime(path / "w.npy", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert opened(path).fingerprint() != before


def test_a_fingerprint_depends_on_the_format(tmp_path):
    path = tmp_path / "graph"
    path.write_text("0 1 5\n1 2 3\n")
    found = (open_files([path], format=name, is_bounded=True) for name in ("txt", "csv"))
    assert len({source.fingerprint() for source in found}) == 2


TRUNCATING = """
    import os, pathlib, sys, threading, time
    import numpy as np
    import mstflow

    folder, rng = pathlib.Path(sys.argv[1]), np.random.default_rng(0)

    def truncate(seconds):
        for _ in range(12):
            time.sleep(rng.random() * seconds)
            for name in "uvw":
                os.truncate(folder / f"{name}.npy", int(rng.integers(0, 400_000)))
            time.sleep(rng.random() * seconds)
            for name in "uvw":
                os.truncate(folder / f"{name}.npy", 400_128)

    for options in ({}, {"strategy": "fold"}, {"memory": "1GB"}, {"algorithm": "kruskal"}):
        for name in "uvw":
            dtype = np.float32 if name == "w" else np.int32
            np.save(folder / f"{name}.npy", rng.integers(0, 20_000, 100_000).astype(dtype))
        mstflow.minimum_spanning_forest(folder, **options)  # kernels are loaded
        started = time.perf_counter()
        mstflow.minimum_spanning_forest(folder, **options)
        thread = threading.Thread(target=truncate, args=(time.perf_counter() - started,))
        thread.start()
        while thread.is_alive():
            try:
                mstflow.minimum_spanning_forest(folder, num_vertices=20_000, **options).total_weight
            except mstflow.errors.FileFormatError as error:
                assert str(folder) in str(error), error
"""


def test_a_file_that_is_truncated_never_ends_the_process(tmp_path):
    """A read of a mapped file that was truncated would end it by SIGBUS."""
    done = run_python("-c", textwrap.dedent(TRUNCATING), tmp_path, timeout=400)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "command", ["solve {0}/graph -o {0}/out.csv", "convert {0}/graph -o {0}/out.csv"]
)
def test_a_short_column_is_named_with_its_bytes(tmp_path, capsys, command):
    write(tmp_path / "graph", "npy")
    os.truncate(tmp_path / "graph/v.npy", 1000)
    error = error_of(capsys, tmp_path, command.format(tmp_path).split())
    expected = f"v.npy: has 1,000 bytes, expected {128 + 8 * M:,} for {M:,} edges"
    assert error.endswith(f"{expected}\n")


def test_weights_of_a_forest_graph_may_become_negative():
    u, v = RNG.integers(0, N, (2, 2**20))
    weight = RNG.random(len(u))
    graph = mstflow.minimum_spanning_forest((u, v, weight)).graph
    weight -= 0.5
    found = mstflow.minimum_spanning_forest(graph).edge_ids
    expected = mstflow.minimum_spanning_forest(mstflow.EdgeList(u, v, weight)).edge_ids
    np.testing.assert_array_equal(found, expected)
