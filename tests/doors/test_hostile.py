"""Decompression bombs and damaged files lead to one line of error, and use little memory."""

from __future__ import annotations

import functools
import gzip
import io
import itertools
import json
import re
import textwrap
import zipfile

import numpy as np
import psutil
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import csv, feather, parquet

import mstflow
from command_errors import error_of
from graph_files import COMPRESS, png_header, zipped
from mstflow.doors.files import open_files
from mstflow.doors.read import read
from mstflow.doors.size_checks import check_vertices
from mstflow.doors.write import write_columns
from mstflow.errors import FileFormatError, MemoryBoundError, OutOfMemoryError
from mstflow.graphs.source import EdgeSource
from processes import run_python

SIZE = 2 * 10**8  # bytes of a decompressed bomb
#: A text that is repeated endlessly after a beginning, by the suffix of its format.
ENDLESS = {
    ".graph": (b"9 90000000\n", b"1 1 1 1 "),
    ".metis": (b"% c\n", b"% comments" * 100 + b"\n"),
    ".gr": (b"p sp 9 30000000\n", b"a 1 1 1\n"),
    ".mtx": (b"%%MatrixMarket matrix coordinate integer general\n9 9 30000000\n", b"1 1 1\n"),
    ".csv": (b"u,v,weight\n", b"0,0,1\n"),
    ".txt": (b"", b"0 0\n"),
    ".tsv": (b"0\t1\n", b"# comment\n"),
    ".el": (b"0 0 ", b"1"),
}


def npy(shape, descr="<i8", data=b""):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + data


def npz(compression=zipfile.ZIP_STORED, **members):
    return zipped({f"{name}.npy": data for name, data in members.items()}, compression)


def rows(count):
    """Return a Parquet file of a graph of loops at vertex 0."""
    file = io.BytesIO()
    zeros = pa.array(np.zeros(count, np.int8))
    parquet.write_table(pa.table({"u": zeros, "v": zeros}), file, compression="zstd")
    return file.getvalue()


def batches(ids, kind=pa.ipc.new_stream, codec="zstd", note="", word=""):
    """Return an Arrow stream or file of a graph of loops, with compressed buffers."""
    strings = {"note": [note] * len(ids), "word": pa.array([word] * len(ids)).dictionary_encode()}
    strings = strings if note or word else {}
    table = pa.table({"u": ids, "v": ids, **strings})
    file = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with kind(file, table.schema, options=options) as writer:
        writer.write_table(table)
    return file.getvalue()


HUGE = 10**15
#: Small files that state far more than they hold.
STATED = {
    "edges.gr": f"p sp 3 {HUGE}\na 1 2 5\n".encode(),
    "vertices.gr": f"p sp {HUGE} 1\na 1 2 5\n".encode(),
    "pace.gr": f"p tw {HUGE} {HUGE}\n1 2\n".encode(),
    "edges.gr.gz": gzip.compress(f"p sp 3 {HUGE}\na 1 2 5\n".encode()),
    "edges.mtx": f"%%MatrixMarket matrix coordinate real general\n3 3 {HUGE}\n1 2 5\n".encode(),
    "rows.mtx": f"%%MatrixMarket matrix coordinate real general\n{HUGE} {HUGE} 1\n1 2 5\n".encode(),
    "vertices.graph": f"{HUGE} 1\n2\n1\n".encode(),
    "edges.graph": f"2 {HUGE}\n2\n1\n".encode(),
    "weights.graph": f"2 1 010 {HUGE}\n2\n1\n".encode(),
    "edges.txt": f"3\n{HUGE}\n0 1 5\n".encode(),
    "vertices.txt": f"{HUGE} 1\n0 1 5\n".encode(),
    "digits.txt": b"0 1 " + b"9" * 10**6 + b"\n",
    "columns.csv": b"u,v," + b"a," * 400_000 + b"weight\n0,1,5\n",
    "quote.csv": b'u,v,weight\n"' + b"0" * 10**7,
    "shape.npz": npz(u=npy((HUGE,)), v=npy((HUGE,))),
    "negative.npz": npz(u=npy((-1,)), v=npy((-1,))),
    "product.npz": npz(u=npy((2**32, 2**32)), v=npy((1,), data=bytes(8))),
    "zeros.npz": npz(zipfile.ZIP_DEFLATED, u=npy((10**7,), data=bytes(8 * 10**7))),
    "large.png": png_header(20_000, 20_000),
    "wide.png": png_header(2**31 - 1, 1),
    "many.png": png_header(13_000, 13_000),
    "rows.parquet": rows(3 * 10**7),
    "zeros.arrow": batches(np.zeros(10**7, np.int64)),
    "zeros.feather": batches(np.zeros(10**7, np.int64), pa.ipc.new_file, "lz4"),
    "column.arrow": batches(np.zeros(9, np.int64), note="a" * 10**7),
    "dictionary.feather": batches(np.zeros(9, np.int64), pa.ipc.new_file, word="b" * 10**7),
}


def endless(suffix, compression):
    """Return a bomb of many compressed streams: tools append them, and readers read all."""
    start, again = ENDLESS[suffix]
    part, compress = again * (2**20 // len(again)), COMPRESS[compression]
    return compress(start) + compress(part) * (SIZE // len(part))


#: Runs the command line on files in this process, and prints each outcome and the peak memory.
RUN = """
    import contextlib, io, json, sys
    from mstflow.__main__ import main

    outcomes = []
    for line in sys.stdin:
        error = io.StringIO()
        with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
            code = main(json.loads(line))
        outcomes.append((code, error.getvalue()))
    with open("/proc/self/status") as status:  # getrusage counts the parent of the process, too
        peak = 1024 * int(status.read().split("VmHWM:")[1].split()[0])
    json.dump({"outcomes": outcomes, "peak": peak}, sys.stdout)
"""


def run(commands):
    """Run commands in one process; return their exit codes and errors, and the peak memory."""
    text = "".join(json.dumps(list(map(str, command))) + "\n" for command in commands)
    done = run_python("-c", textwrap.dedent(RUN), input=text, timeout=500)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    return found["outcomes"], found["peak"]


def check_refused(path, code, error):
    assert code == 2, (path, error)
    assert error.startswith((f"error: {path}", "error: --memory 450 MB is too small")), error
    assert error.count("\n") == 1
    assert len(error) < 1000


def test_stated_sizes(tmp_path):
    for name, content in STATED.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    for name in "uv":
        (tmp_path / f"folder/{name}.npy").write_bytes(npy((HUGE,)))
    paths = [tmp_path / name for name in (*STATED, "folder")]
    commands = [("solve", path, *more) for path in paths for more in ((), ("--memory", "280MB"))]
    outcomes, peak = run(commands)
    for command, (code, error) in zip(commands, outcomes, strict=True):
        check_refused(command[1], code, error)
    assert peak < 300e6


@pytest.mark.parametrize("suffix", ENDLESS)
def test_compressed_bombs(tmp_path, suffix):
    """Every second format meets each compression with a bound, the others without one."""
    commands, bounds = [], [(), ("--memory", "290MB")]
    for place, compression in enumerate((".gz", ".zst"), list(ENDLESS).index(suffix)):
        path = tmp_path / f"bomb{suffix}{compression}"
        path.write_bytes(endless(suffix, compression))
        commands.append(("solve", path, *bounds[place % 2]))
    outcomes, peak = run(commands)
    for command, (code, error) in zip(commands, outcomes, strict=True):
        check_refused(command[1], code, error)
    assert peak < 300e6


@pytest.mark.parametrize("compression", [".xz", ".bz2"])
def test_other_compressions_are_bounded(tmp_path, compression):
    path = tmp_path / f"bomb.txt{compression}"
    path.write_bytes(COMPRESS[compression](b"0 0\n" * 2**17) * 16)
    with pytest.raises(FileFormatError, match="decompresses to more than"):
        read(path)


@functools.cache
def regular(suffix):
    """Return the text of a graph of 20,000 edges that compresses well."""
    number = np.arange(1, 20_001)
    columns = np.stack([number, number + 1, number % 7], axis=1).tolist()
    delimiter = "," if suffix == ".csv" else " "
    lines = [delimiter.join(map(str, row)) for row in columns]
    head = {
        ".gr": "p sp 20001 20000",
        ".mtx": "%%MatrixMarket matrix coordinate integer general\n20001 20001 20000",
        ".csv": "u,v,weight",
    }
    if suffix == ".gr":
        lines = [f"a {line}" for line in lines]
    if suffix in (".graph", ".metis"):
        head[suffix], lines = "20000 10000", [f"{i + 1 - 2 * (i % 2 == 0)}" for i in number]
    return "\n".join([*([head[suffix]] if suffix in head else []), *lines]) + "\n"


@pytest.mark.parametrize(("suffix", "compression"), list(itertools.product(ENDLESS, COMPRESS)))
def test_large_graphs_that_compress_well_are_read(tmp_path, suffix, compression):
    path = tmp_path / f"graph{suffix}{compression}"
    path.write_bytes(COMPRESS[compression](regular(suffix).encode()))
    assert read(path).num_edges == 20_000


def test_text_is_streamed_within_its_bound(tmp_path):
    u, v, w = np.random.default_rng(0).integers(0, 10_000, (3, 3_000_000))
    path, options = tmp_path / "graph.txt", csv.WriteOptions(include_header=False, delimiter=" ")
    csv.write_csv(pa.table({"u": u, "v": v, "w": w}), path, options)
    ((code, error),), peak = run([("solve", path, "--memory", "490MB", "-o", tmp_path / "f.csv")])
    assert (code, error) == (0, "")
    assert peak < 490e6
    expected = mstflow.minimum_spanning_forest((u, v, w))
    assert np.array_equal(mstflow.read(tmp_path / "f.csv").weight, expected.weight)


@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        (["1", "2"], "int64"),
        (["1", str(2**63)], "uint64"),
        (["1", "2.5"], "float64"),
        (["1", str(2**53 + 1), "2.5"], "edge 1: weight 9007199254740993 is not exact as float64"),
        (["1", "-1", str(2**63)], "edge 1: weight -1 is not exact as uint64"),
    ],
)
def test_streamed_text_has_one_dtype(tmp_path, weights, dtype):
    path = tmp_path / "graph.txt"
    comment = f"# {'x' * 600_000}\n"  # so that each edge is in a block of its own
    path.write_text("".join(f"0 1 {weight}\n{comment}" for weight in weights))
    source = open_files([path], is_bounded=True).with_sizes()
    if dtype.startswith("edge"):
        with pytest.raises(FileFormatError, match=dtype):
            source.columns()
    else:
        assert source.columns()[2].tolist() == [float(weight) for weight in weights]
        assert source.columns()[2].dtype == dtype
        assert source.num_edges == len(weights)


def whole_files(folder, size):
    """Write a graph with `size` edges in each format that is not read in blocks."""
    u, v, w = np.random.default_rng(0).integers(0, 1000, (3, size))
    graph = {"u": u, "v": v, "weight": w}
    np.savez(folder / "graph.npz", **graph)
    np.savez_compressed(folder / "compressed.npz", **graph)
    feather.write_feather(pa.table(graph), folder / "graph.feather", chunksize=size)
    with pa.ipc.new_stream(folder / "graph.arrow", pa.table(graph).schema) as file:
        file.write_table(pa.table(graph))
    parquet.write_table(pa.table(graph), folder / "graph.parquet", row_group_size=size)
    pixels = w[: size // 2].astype(np.uint8).reshape(-1, 100)
    Image.fromarray(pixels).save(folder / "graph.png")
    return sorted(folder.iterdir())


def test_a_file_that_exceeds_the_bound_is_not_read(tmp_path):
    process = psutil.Process()
    for path in whole_files(tmp_path, 300_000):
        for _ in range(2):  # the first call imports what the format needs
            before = process.io_counters().read_chars
            with pytest.raises(MemoryBoundError, match=f"to read {path}, which cannot be") as e:
                mstflow.minimum_spanning_forest(path, memory="40MB")
        assert 60e6 < e.value.needed < 80e6
        assert process.io_counters().read_chars - before < 2**17 < path.stat().st_size


def test_files_give_the_same_forest_within_a_bound(tmp_path):
    np.arange(1, 60_001, dtype="<i4").tofile(tmp_path / "graph.bin")
    for path in whole_files(tmp_path, 30_000):
        bounded = mstflow.minimum_spanning_forest(path, memory="1GB", partitions=2)
        forest = mstflow.minimum_spanning_forest(path)
        assert np.array_equal(bounded.edge_ids, forest.edge_ids)
        assert bounded.weight.dtype == forest.weight.dtype
        assert bounded.num_vertices == forest.num_vertices


def test_pairs_are_read_in_blocks(tmp_path):
    np.arange(1, 2_000_001, dtype="<i4").tofile(tmp_path / "graph.bin")
    source = open_files([tmp_path / "graph.bin"], is_bounded=True).with_sizes()
    assert (source.num_edges, source.num_vertices) == (10**6, 2 * 10**6)
    assert source.segments[0].edges_at_once == 0
    u, v, _ = source.columns()
    assert np.array_equal(np.stack([u, v], axis=1).ravel(), np.arange(2 * 10**6))


# Vertex ids that need more memory than there is.

LARGE = 2**33


def with_a_large_id(folder):
    """Write a graph with one large id, at row 2, in each format that holds 64-bit ids."""
    u, v, w = np.array([0, 1, 2, 0]), np.array([1, 2, LARGE, 1]), np.ones(4)
    graph = {"u": u, "v": v, "weight": w}
    (folder / "a.txt").write_text(f"0 1 1\n1 2 1\n2 {LARGE} 1\n0 1 1\n")
    for name in ("a.csv", "a.npz", "a.parquet", "folder"):
        write_columns(folder / name, graph, num_vertices=LARGE + 1)
    (folder / "folder/n.txt").unlink()
    feather.write_feather(pa.table(graph), folder / "a.feather")
    return sorted(folder.iterdir())


def test_large_ids_are_refused_before_arrays_are_made(tmp_path):
    paths = with_a_large_id(tmp_path)
    commands = [(*line, path) for path in paths for line in LINES]
    outcomes, peak = run(commands)
    for command, (code, error) in zip(commands, outcomes, strict=True):
        assert code == 2, (command, error)
        assert error.startswith(f"error: {command[-1]}: edge 2: vertex id {LARGE}: not enough memo")
        assert "renumber them from 0, or take them as names by --ends" in error
        assert error.count("\n") == 1
    assert peak < 300e6


LINES = [["solve"], ["solve", "--strategy", "fold"], ["info"]]


def test_a_large_id_in_the_second_file_is_found(tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    paths[0].write_text("0 1 5\n1 2 5\n")
    paths[1].write_text(f"0 1 5\n{LARGE} 2 5\n")
    for options in ({}, {"strategy": "fold"}):
        with pytest.raises(OutOfMemoryError, match=rf"^{paths[1]}: edge 1: vertex id {LARGE}: "):
            mstflow.minimum_spanning_forest(paths, **options)
    with pytest.raises(OutOfMemoryError, match=rf"^{paths[1]}: edge 1: vertex id {LARGE}: "):
        mstflow.verify(paths, [0, 1])


def test_an_archive_with_two_arrays_of_one_name(tmp_path):
    np.savez(tmp_path / "a.npz", u=[0, 1], v=[1, 2])
    twice = pytest.warns(UserWarning, match="Duplicate name")
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive, twice:
        archive.writestr("u.npy", npy((2,), data=bytes(16)))
    with pytest.raises(FileFormatError, match=r"a\.npz: two arrays have the same name"):
        read(tmp_path / "a.npz")


@pytest.mark.parametrize("strategy", ["auto", "fold"])
@pytest.mark.parametrize("name", ["a.npz", "a"])
def test_a_stated_number_of_vertices_that_memory_cannot_hold(tmp_path, name, strategy):
    """The error names the file that states the number; a number of the caller has no file."""
    first, second, third = (tmp_path / folder / name for folder in "123")
    for path, count in ((first, 50), (second, 10**15), (third, None)):
        path.parent.mkdir()
        graph = {"u": U, "v": V, "weight": W}
        write_columns(path, graph, num_vertices=count)
    what = "not enough memory for 1,000,000,000,000,000 vert"
    for paths in (second, [first, second], [second, third, first]):
        with pytest.raises(OutOfMemoryError, match=f"^{re.escape(str(second))}: {what}"):
            mstflow.minimum_spanning_forest(paths, strategy=strategy)
        with pytest.raises(OutOfMemoryError, match=f"^{re.escape(str(second))}: {what}"):
            mstflow.verify(paths, [0])
    with pytest.raises(OutOfMemoryError, match=f"^{what}"):
        mstflow.minimum_spanning_forest(first, num_vertices=10**15)
    with pytest.raises(OutOfMemoryError, match=f"^{what}"):
        mstflow.minimum_spanning_forest(mstflow.EdgeList(U, V, num_vertices=10**15))


def test_a_large_vertex_id_of_little_memory():
    columns = [0, 1], [1, 200_000]
    source = EdgeSource.of(mstflow.EdgeList(*columns))
    with pytest.raises(OutOfMemoryError, match=r"^edge 1: vertex id 200000: not enough memory"):
        check_vertices(source, negligible=0, available=10**6)
    check_vertices(source, negligible=0, available=10**8)
    check_vertices(source, available=10**6)
    with pytest.raises(OutOfMemoryError, match=r"^edge 1: vertex id 200000: not enough memory"):
        check_vertices(source, negligible=0, available=10**6, is_wanted=True)
    check_vertices(source, negligible=0, available=3 * 10**6, is_wanted=True)
    forest = mstflow.minimum_spanning_forest(columns, num_vertices=200_001)
    assert forest.edge_ids.tolist() == [0, 1]


# Damaged files.

U, V, W = np.random.default_rng(0).integers(0, 40, (3, 60))


def written(folder):
    """Write a graph in each format that is read, and return the files."""
    graph = {"u": U, "v": V, "weight": W}
    for name in ("a.gr", "a.mtx", "a.npz", "a.csv", "a.parquet"):
        write_columns(folder / name, graph, num_vertices=40)
    write_columns(folder / "folder", graph, num_vertices=40)
    (folder / "a.txt").write_text("".join(f"{u} {v} {w}\n" for u, v, w in zip(U, V, W)))  # noqa: B905
    neighbours = [np.append(V[vertex == U], U[vertex == V]) + 1 for vertex in range(40)]
    lines = [" ".join(map(str, each)) for each in neighbours]
    (folder / "a.graph").write_text("\n".join(["40 60", *lines]) + "\n")
    (np.stack([U, V], axis=1) + 1).astype("<i4").tofile(folder / "a.bin")
    feather.write_feather(pa.table(graph), folder / "a.feather", compression="zstd")
    feather.write_feather(pa.table(graph), folder / "b.feather", compression="uncompressed")
    pixels = Image.fromarray(W.reshape(6, 10).astype(np.uint8))
    for suffix in ("png", "pgm", "tif"):
        pixels.save(folder / f"a.{suffix}")
    for compression, compress in COMPRESS.items():
        (folder / f"a.gr{compression}").write_bytes(compress((folder / "a.gr").read_bytes()))
    return sorted(path for path in folder.rglob("*") if path.is_file())


def damaged(data, rng):
    """Damage a file: cut, flip, swap, enlarge numbers, or use another encoding."""
    kind = rng.integers(7)
    place = int(rng.integers(len(data)))
    if kind == 0:
        return data[:place]
    if kind == 1:
        flipped = bytearray(data)
        for at in rng.integers(0, len(data), int(rng.integers(1, 9))):
            flipped[at] ^= 1 << int(rng.integers(8))
        return bytes(flipped)
    if kind == 2:
        other = int(rng.integers(len(data)))
        low, high = sorted((place, other))
        return data[:low] + data[high:] + data[low:high]
    if kind == 3:
        digits = str(rng.choice([10**9, 10**15, 2**63, 10**40])).encode()
        return data[:place] + digits + data[place + 1 :]
    if kind == 4:
        return data.decode("latin-1").encode(str(rng.choice(["utf-16", "utf-32", "utf-7"])))
    if kind == 5:
        fields = data.split(b" ")
        rng.shuffle(fields)
        return b" ".join(fields)
    return data[:place] + rng.bytes(int(rng.integers(1, 40))) + data[place:]


def test_damaged_files(tmp_path):
    commands, rng = [], np.random.default_rng(20261123)
    (tmp_path / "whole").mkdir()
    files = written(tmp_path / "whole")
    for number in range(520):
        file = files[number % len(files)]
        folder = tmp_path / str(number)
        inside = file.parent.name == "folder"
        folder.mkdir()
        if inside:
            for other in file.parent.iterdir():
                (folder / other.name).write_bytes(other.read_bytes())
        (folder / file.name).write_bytes(damaged(file.read_bytes(), rng))
        graph = folder if inside else folder / file.name
        commands.append(("solve", graph, "--memory", "450MB"))  # ids may have become large
    outcomes, peak = run(commands)
    refused = 0
    for command, (code, error) in zip(commands, outcomes, strict=True):
        if code == 0:  # damage that leaves a graph
            assert error == ""
        else:
            check_refused(command[1], code, error)
            refused += 1
    assert refused > 300
    assert peak < 450e6


def test_warnings_of_libraries_are_not_shown(tmp_path, capsys):
    """A shown warning would be a second line of error, and would fail this test."""
    path = tmp_path / "large.png"
    Image.new("1", (11_000, 9_000)).save(path)  # warns of a bomb
    path.write_bytes(path.read_bytes()[:-200])
    data = npy("(1L,)", data=bytes(8))  # as Python 2 writes it
    (tmp_path / "python2.npz").write_bytes(npz(u=data))
    (tmp_path / "python2").mkdir()
    (tmp_path / "python2/u.npy").write_bytes(data)
    for name in ("large.png", "python2.npz", "python2"):
        error_of(capsys, tmp_path, ["solve", tmp_path / name])
