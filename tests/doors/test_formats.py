"""CSV, Matrix Market, METIS, Arrow, pairs of integers and images are read."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from PIL import Image
from pyarrow import feather

import mstflow
from graph_files import png_header, save_columns
from graph_strategies import edge_lists
from mstflow import EdgeList
from mstflow.doors.column_names import Choice
from mstflow.doors.formats import FORMATS, format_names
from mstflow.doors.formats.text.row_parser import BLOCK_SIZE
from mstflow.doors.read import read
from mstflow.doors.write import write_graph
from mstflow.errors import FileFormatError, OptionError
from mstflow.graphs.source import EdgeSource
from processes import run_python
from text_readers import edges_of, read_csv, read_metis, read_mtx

BLOCK_SIZES = st.sampled_from([1, 16, BLOCK_SIZE])
IDS = st.integers(0, 9)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
DECIMALS = st.floats(allow_nan=False)


def lists_of_edges(weights, ids=IDS):
    return st.lists(st.tuples(ids, ids, weights), min_size=1, max_size=20)


ANY_EDGES = lists_of_edges(INTEGERS) | lists_of_edges(DECIMALS)


@given(ANY_EDGES, st.permutations(["source", "length", "target", "name"]), BLOCK_SIZES, st.data())
def test_csv_with_other_columns(tmp_path_factory, edges, names, block_size, data):
    delimiter = data.draw(st.sampled_from([",", ";", "\t"]))
    quote, gap = data.draw(st.sampled_from([("", ""), ('"', ""), ("", " ")]))
    newline = data.draw(st.sampled_from(["\n", "\r\n"]))
    lines = ["# made up", delimiter.join(names)]
    for u, v, weight in edges:
        text = "caf\u00e9" if gap else f'"caf\u00e9{delimiter}, ""x"""'
        numbers = {"source": u, "target": v, "length": weight}
        record = {name: f"{quote}{value}{quote}" for name, value in numbers.items()}
        lines += [""] * data.draw(st.integers(0, 1))
        lines.append((delimiter + gap).join((record | {"name": text})[name] for name in names))
    path = tmp_path_factory.mktemp("csv") / "edges.csv"
    path.write_bytes((newline.join(lines) + newline).encode())
    assert edges_of(read_csv(path, Choice("length"), block_size=block_size)) == edges
    assert read_csv(path, Choice(None), block_size=block_size).weight.tolist() == [1] * len(edges)


@given(ANY_EDGES, st.booleans(), st.sampled_from([",", ";", "\t", " "]), BLOCK_SIZES)
def test_csv_with_and_without_header(tmp_path_factory, edges, has_header, delimiter, block_size):
    # Without a header, this line may be one.
    assume(has_header or edges[0] != (0, 1, 2))
    lines = [delimiter.join(("u", "v", "weight"))] * has_header
    lines += [delimiter.join(map(str, edge)) for edge in edges]
    path = tmp_path_factory.mktemp("csv") / "edges"
    path.write_text("\n".join(lines))
    assert edges_of(read_csv(path, block_size=block_size)) == edges
    assert edges_of(read(path)) == edges  # found by content


def test_csv_without_the_named_weights(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("u,v,weight\n0,1,5\n")
    with pytest.raises(OptionError, match="no column 'length' for the weights; found u, v, weight"):
        read(path, weight="length")
    (tmp_path / "edges.txt").write_text("0 1 5\n")
    with pytest.raises(OptionError, match="'length'; it has: 'weight'"):
        read(tmp_path / "edges.txt", weight="length")


@given(ANY_EDGES, st.sampled_from(["general", "symmetric", "skew-symmetric"]), BLOCK_SIZES)
def test_matrix_market(tmp_path_factory, edges, symmetry, block_size):
    field = "real" if isinstance(edges[0][2], float) else "integer"
    lines = [f"%%MatrixMarket matrix coordinate {field} {symmetry}", "% comment", ""]
    lines += [f"12 12 {len(edges)}", *(f" {u + 1}  {v + 1}\t{weight} " for u, v, weight in edges)]
    path = tmp_path_factory.mktemp("mtx") / "matrix"
    path.write_text("\n".join(lines))
    graph = read_mtx(path, block_size=block_size)
    assert (edges_of(graph), graph.num_vertices) == (edges, 12)
    assert edges_of(read(path)) == edges


def test_matrix_market_pattern(tmp_path):
    path = tmp_path / "pattern.mtx"
    path.write_text("%%MatrixMarket MATRIX Coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n")
    assert edges_of(read(path)) == [(1, 0, 1), (2, 2, 1)]


@given(lists_of_edges(st.integers(1, 2**53)), st.sampled_from(range(8)), BLOCK_SIZES, st.data())
def test_metis(tmp_path_factory, edges, kind, block_size, data):
    has_sizes, has_weights, weighted = (bool(kind & bit) for bit in (4, 2, 1))
    ncon = data.draw(st.integers(1, 3)) if has_weights else 1
    arcs = [[] for _ in range(11)]
    for u, v, weight in edges:
        arcs[u].append((u, v, weight))
        arcs[v].append((v, u, weight))
    head = f"11 {len(edges)} {kind:03b}" + f" {ncon}" * has_weights
    lines = ["% made up", head]
    for each in arcs:
        own = "7 " * (has_sizes + ncon * has_weights)
        lines.append(own + " ".join(f"{v + 1} {w}" if weighted else f"{v + 1}" for _, v, w in each))
        lines += ["% between"] * data.draw(st.integers(0, 1))
    lines += [""] * data.draw(st.integers(0, 2))
    path = tmp_path_factory.mktemp("metis") / "some.graph"
    path.write_text("\n".join(lines) + "\n")
    graph = read_metis(path, block_size=block_size)
    expected = [(u, v, w if weighted else 1) for each in arcs for u, v, w in each]
    assert (edges_of(graph), graph.num_vertices) == (expected, 11)
    assert edges_of(read(path)) == expected


@given(edge_lists(), st.sampled_from([pa.ipc.new_file, pa.ipc.new_stream]), st.integers(1, 50))
def test_arrow_round_trip(tmp_path_factory, graph, writer, size):
    path = tmp_path_factory.mktemp("arrow") / "graph.arrow"
    table = pa.table({"u": graph.u, "v": graph.v, "weight": graph.weight})
    with writer(path, table.schema) as file:
        file.write_table(table, max_chunksize=size)
    found = read(path)
    for name in ("u", "v", "weight"):
        np.testing.assert_array_equal(getattr(found, name), getattr(graph, name), strict=True)


def test_columns_of_arrow_are_views(tmp_path):
    table = pa.table({"u": [0, 1], "v": [1, 2], "length": [0.5, 1.5]})
    feather.write_feather(table, tmp_path / "g.feather", compression="uncompressed")
    graph = read(tmp_path / "g.feather", weight="length")
    assert (graph.weight.tolist(), graph.u.flags.writeable) == ([0.5, 1.5], False)
    (tmp_path / "g.feather").rename(tmp_path / "g")
    assert edges_of(read(tmp_path / "g", weight=None)) == [(0, 1, 1), (1, 2, 1)]


@pytest.mark.parametrize("content", [b"", b"0 1 5\n", b"ARROW1\0\0cut"])
def test_malformed_arrow(tmp_path, content):
    path = tmp_path / "bad.arrow"
    path.write_bytes(content)
    with pytest.raises(FileFormatError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}: ")


def test_pairs_without_header(tmp_path):
    path = tmp_path / "roads.gr.bin"
    np.array([[1, 2], [9, 1]], "<i4").tofile(path)
    graph = read(path)
    assert (edges_of(graph), graph.num_vertices) == ([(0, 1, 1), (8, 0, 1)], 9)
    np.array([[1, 2], [0, 1]], "<i4").tofile(path)
    with pytest.raises(FileFormatError, match=r"roads.gr.bin: edge 1: u is -1"):
        read(path)
    path.write_bytes(bytes(12))
    with pytest.raises(FileFormatError, match=r"roads.gr.bin: 12 bytes are not a whole number"):
        read(path)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "1", "I;16", "P"])
def test_images(tmp_path, mode):
    grey = Image.fromarray(np.array([[0, 7, 200], [255, 7, 9]], np.uint8))
    made = grey.convert("I").convert("I;16") if mode == "I;16" else grey.convert(mode)
    made.save(tmp_path / "some.png")
    pixels = np.asarray(made.convert("RGB") if mode == "P" else made).astype(int)
    pixels = pixels.reshape(6, -1).tolist()
    ends = [(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)]
    assert edges_of(read(tmp_path / "some.png")) == [
        (u, v, sum(abs(a - b) for a, b in zip(pixels[u], pixels[v], strict=True))) for u, v in ends
    ]


@pytest.mark.parametrize("block_size", [1, 40, 41, 42, 43, 2**19])
def test_quoted_line_ends(tmp_path, block_size):
    path = tmp_path / "some.csv"
    path.write_text('u,v,weight,name\n0,1,5,a\n1,2,6,"b\n7,8,9,c"\n2,3,7,"d\ne"\n3,4,8,f\n')
    graph = read_csv(path, block_size=block_size)
    assert (graph.u.tolist(), graph.weight.tolist()) == ([0, 1, 2, 3], [5, 6, 7, 8])


def test_unclosed_quote(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text('u,v,weight,name\n0,1,5,a"b\n1,2,6,c\n2,3,7,d\n3,4,8,e\n')
    assert read_csv(path, block_size=30).num_edges == 4


@pytest.mark.parametrize("name", ["text.png", "cut.png", "floats.tif", "bomb.png"])
def test_malformed_images(tmp_path, name):
    Image.fromarray(np.zeros((99, 99), np.float32)).save(tmp_path / "floats.tif")
    Image.fromarray(np.arange(9999, dtype=np.uint8).reshape(99, -1)).save(tmp_path / "cut.png")
    data = (tmp_path / "cut.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    (tmp_path / "text.png").write_text("0 1 5\n")
    (tmp_path / "bomb.png").write_bytes(png_header(20_000, 20_000))
    with pytest.raises(FileFormatError) as raised:
        read(tmp_path / name)
    assert str(raised.value).startswith(f"{tmp_path / name}: ")


@pytest.mark.parametrize(
    ("text", "num_edges"),
    [
        ("c roads\np sp 2 1\na 1 2 5\n", 1),
        ("a 0 1 5\na 1 2 5\n", 2),
        ("p tw 3 2\n1 2\n2 3\n", 2),
        ("# SNAP\n# Nodes: 2\n0\t1\n", 1),
        ("3 2\n0 1 .5\n1 2 .5\n", 2),
        ("u\tv\n0\t1\n", 1),
        ("source;target;weight\n0;1;5\n", 1),
    ],
)
@pytest.mark.parametrize("name", ["graph", "graph.dat", "graph.0.2"])
def test_format_is_found_by_content(tmp_path, text, num_edges, name):
    path = tmp_path / name
    path.write_text(text)
    assert read(path).num_edges == num_edges


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_columns_are_measured(dtype):
    graph = EdgeList([0, 1], [1, 2], np.array([1, 2], dtype))
    assert EdgeSource.of(graph).is_measured


def test_reading_does_not_import_pandas(tmp_path):
    """Importing pandas takes longer than solving a small graph."""
    graph = EdgeSource.of(EdgeList([0, 1], [1, 2], [1.5, 2]))
    for name in ("a.gr", "a.mtx", "a.csv", "a.parquet", "a.npz"):
        write_graph(tmp_path / name, graph)
    (tmp_path / "a.graph").write_text("3 2\n2\n1 3\n2\n")
    program = "import sys, mstflow; [mstflow.read(p) for p in sys.argv[1:]]; print(*sys.modules)"
    found = run_python("-c", program, *sorted(tmp_path.iterdir()), check=True).stdout.split()
    assert "pyarrow.parquet" in found
    assert "pandas" not in found


@pytest.mark.parametrize(
    "weight", [[2.0, 1.0], [1.0, 0.0], [2, 1], [1, 0], [True, False], [2**63, 1]]
)
def test_a_folder_knows_that_no_sign_bit_is_set(tmp_path, weight):
    for sign in (1, -1):
        graph = read(save_columns(tmp_path, [0, 1], [1, 0], np.array(weight) * sign))
        assert graph.unsigned == (not np.signbit(graph.weight * 1.0).any())
        lightest = int(np.argmin(graph.weight))  # the first of two equal weights
        assert mstflow.minimum_spanning_forest(graph).edge_ids.tolist() == [lightest]


def test_formats_can_be_pickled():
    kinds = [kind for kind in FORMATS if kind.name in format_names()]
    assert len(kinds) > 9
    assert pickle.loads(pickle.dumps(kinds)) == kinds


def test_a_streamed_forest_of_any_format_can_be_pickled(tmp_path):
    forest = mstflow.minimum_spanning_forest(([0, 1, 0], [1, 2, 2], [5, 3, 1]))
    for name in ("g.npz", "g.csv", "g.parquet", "g.gr", "g.mtx", "folder"):
        forest.save(tmp_path / name)
    feather.write_feather(forest.to_arrow(), tmp_path / "g.arrow")
    for path in list(tmp_path.iterdir()):
        for strategy in ("auto", "sweep"):
            streamed = mstflow.minimum_spanning_forest(path, memory="2GB", strategy=strategy)
            again = pickle.loads(pickle.dumps(streamed))
            assert (again.total_weight, again.u.tolist()) == (4, streamed.u.tolist())
