"""Graph files of each format are read correctly with any block size."""

from __future__ import annotations

import collections
import gzip
import lzma
from functools import partial
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mstflow
from graph_files import COMPRESS, save_columns
from mstflow.doors.formats.text.row_parser import BLOCK_SIZE
from mstflow.doors.read import read
from mstflow.errors import FileFormatError, GraphError, GraphWarning, OptionError
from text_readers import edges_of, read_gr, read_txt

DATA = Path(__file__).parents[2].parent / "shared" / "data"

WEIGHTS = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "float64": st.floats(allow_nan=False),
}


@st.composite
def weighted_edges(draw):
    """Draw edges whose weights have one of the three dtypes of text."""
    dtype = draw(st.sampled_from(sorted(WEIGHTS)))
    ids = st.integers(0, 99) | st.integers(0, 2**63 - 2)
    edges = draw(st.lists(st.tuples(ids, ids, WEIGHTS[dtype]), min_size=1, max_size=30))
    if dtype == "uint64" and max(edge[2] for edge in edges) < 2**63:
        dtype = "int64"
    return edges, dtype


@settings(deadline=None)  # the first example loads pyarrow
@given(weighted_edges(), st.sampled_from([1, 7, 64, BLOCK_SIZE]), st.sampled_from(["\n", "\r\n"]))
def test_text_round_trip(tmp_path_factory, case, block_size, newline):
    edges, dtype = case
    path = tmp_path_factory.mktemp("text") / "edges.txt"
    lines = ["% comment", *(f"{u}\t{v} {w}" for u, v, w in edges)]
    path.write_bytes(newline.join(lines).encode())
    graph = read_txt(path, block_size=block_size)
    assert edges_of(graph) == edges
    assert graph.weight.dtype == dtype


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".gr", "c a comment\n\np sp 6 2\na 1 2 7\nc another\na 3 1 -8\n"),
        (".gr", "p tw 6 2\n1 2\n3 1\n"),
        (".gr", "a 0 1 7\na 2 0 -8"),
        (".txt", "0 1 7\n2 0 -8\n"),
        (".tsv", "# comment\n0\t1\t7\n2\t0\t-8"),
        (".edges", "6 2\n0 1 7\n2 0 -8\n"),
        (".el", "6\n2\n0 1 7\n2 0 -8\n"),
        (".edgelist", "6\n0 1\n2 0\n"),
    ],
)
def test_formats(tmp_path, suffix, text):
    path = tmp_path / f"graph{suffix}"
    path.write_text(text)
    weights = [7, -8] if "7" in text else [1, 1]
    graph = read(path)
    assert edges_of(graph) == [(0, 1, weights[0]), (2, 0, weights[1])]
    assert graph.num_vertices == (6 if "6" in text else 3)
    assert graph.weight.dtype == np.int64


UNTIDY = (
    "\ufeff# head\r\n\r\n  5 \t 3\r\n% between\r\n 0 1   0.5 \r\n\r\n\t3 4\t1e-3\r\n"
    "   \r\n   # caf\u00e9\x00  x\r\n\n4    0 inf   "
)


@pytest.mark.parametrize("block_size", [1, 2, 3, 5, 8, 64, BLOCK_SIZE])
def test_untidy_text(tmp_path, block_size):
    path = tmp_path / "untidy.txt"
    path.write_bytes(UNTIDY.encode())
    graph = read_txt(path, block_size=block_size)
    assert edges_of(graph) == [(0, 1, 0.5), (3, 4, 0.001), (4, 0, float("inf"))]
    assert graph.num_vertices == 5


@pytest.mark.parametrize("block_size", [1, 64, BLOCK_SIZE])
def test_malformed_line_is_named(tmp_path, block_size):
    path = tmp_path / "graph.gr"
    path.write_text("c x\np sp 9 99\n" + "a 1 2 3\n\nc  y\n" * 20 + "a 1 2 x\n")
    with pytest.raises(FileFormatError, match=r"graph\.gr: line 63: 'x' is not a weight"):
        read_gr(path, block_size=block_size)


@pytest.mark.parametrize("block_size", [1, BLOCK_SIZE])
@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ("1 0.5 3", [1.0, 0.5, 3.0]),
        ("0.1 5e-324 1.7976931348623157e308", [0.1, 5e-324, 1.7976931348623157e308]),
        ("-inf Infinity INF", [-np.inf, np.inf, np.inf]),
        ("9007199254740992 .5 5.", [2.0**53, 0.5, 5.0]),
        ("1e30 123456789012345678901234567890.0 2", [1e30, 123456789012345678901234567890.0, 2.0]),
        ("1 2 18446744073709551615", [1, 2, 2**64 - 1]),
        ("-9223372036854775808 0 007", [-(2**63), 0, 7]),
    ],
)
def test_weights_keep_their_value(tmp_path, block_size, weights, expected):
    path = tmp_path / "weights.txt"
    path.write_text("".join(f"0 1 {weight}\n" for weight in weights.split()))
    weight = read_txt(path, block_size=block_size).weight
    assert weight.tolist() == expected
    kind = "f" if isinstance(expected[0], float) else "u" if max(expected) >= 2**63 else "i"
    assert (weight.dtype.kind, weight.dtype.itemsize) == (kind, 8)


@pytest.mark.parametrize(
    ("name", "text", "num_vertices"),
    [
        ("none.gr", "p sp 5 0\n", 5),
        ("none.gr", "p tw 0 0", 0),
        ("none.txt", "5\n0\n", 5),
        ("none.txt", "# no edges\n5", 5),
        ("none.graph", "0 0\n\n", 0),
    ],
)
def test_graphs_without_edges(tmp_path, name, text, num_vertices):
    path = tmp_path / name
    path.write_text(text)
    graph = read(path)
    assert (graph.num_vertices, graph.num_edges) == (num_vertices, 0)


def test_leading_pair_is_an_edge(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("3 2\n# c\n0 1\n")
    assert edges_of(read(path)) == [(3, 2, 1), (0, 1, 1)]
    path.write_text("3 2")
    assert edges_of(read(path)) == [(3, 2, 1)]


@pytest.mark.parametrize("weight", ["w", "weight", None])
@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.uint64, ">i8"])
def test_arrays(tmp_path, weight, dtype):
    columns = {"u": np.array([0, 1], dtype), "v": np.array([2, 1], dtype)}
    if weight:
        columns[weight] = np.array([0.5, -1], np.float16)
    np.savez(tmp_path / "graph.npz", n=4, **columns)
    folder = save_columns(tmp_path / "graph", columns["u"], columns["v"], n=4)
    if weight:
        np.save(folder / f"{weight}.npy", columns[weight])
    for path in (tmp_path / "graph.npz", folder):
        graph = read(path)
        assert edges_of(graph) == [(0, 2, 0.5 if weight else 1), (1, 1, -1 if weight else 1)]
        assert graph.num_vertices == 4
        assert graph.u.dtype == np.dtype(dtype).newbyteorder("=")
    (folder / "n.txt").unlink()
    assert read(folder).num_vertices == 3


def test_columns_of_a_folder_are_read_only(tmp_path):
    graph = read(save_columns(tmp_path, *[np.arange(3)] * 3))
    with pytest.raises(ValueError, match="read-only"):
        graph.u[0] = 1


def test_folder_without_edges(tmp_path):
    assert read(save_columns(tmp_path, *[np.empty(0, np.int64)] * 2)).num_edges == 0


def test_several_files(tmp_path):
    (tmp_path / "1.txt").write_text("0 1 5\n")
    (tmp_path / "2.gr").write_text("p sp 9 1\na 2 3 -6\n")
    graph = read([tmp_path / "1.txt", str(tmp_path / "2.gr")])
    assert edges_of(graph) == [(0, 1, 5), (1, 2, -6)]
    assert graph.num_vertices == 9
    assert read([tmp_path / "1.txt"], num_vertices=20).num_vertices == 20
    with pytest.raises(GraphError, match="edge 0"):
        read(tmp_path / "1.txt", num_vertices=1)


def test_format_by_name(tmp_path):
    (tmp_path / "graph.dat").write_text("0 1 5\n")
    assert edges_of(read(tmp_path / "graph.dat", format="txt")) == [(0, 1, 5)]
    with pytest.raises(OptionError, match="known: gr, txt, mtx, metis, npz"):
        read(tmp_path / "graph.dat", format="text")
    with pytest.raises(OptionError, match="format= is for files"):
        read(([0], [1]), format="txt")
    for nothing in (None, []):
        with pytest.raises(GraphError, match="expected a graph: an EdgeList"):
            read(nothing)


def test_reading_is_a_value():
    """A graph that was read with options is solved as if the solver had read it with them."""
    table = {"a": ["x", "y", "z"], "b": ["y", "z", "x"], "km": [3, 1, 2]}
    options = {"ends": ("a", "b"), "weight": "km"}
    frame = pandas.DataFrame(table)
    graph = read(frame, **options)
    assert isinstance(graph, mstflow.EdgeList)
    direct = mstflow.minimum_spanning_forest(frame, **options)
    assert mstflow.minimum_spanning_forest(graph).edge_ids.tolist() == direct.edge_ids.tolist()
    assert list(graph.names) == list(direct.names) == ["x", "y", "z"]
    with pytest.raises(GraphError, match="expected a graph"):
        read(iter([([0], [1])]))  # it would be streamed


def test_an_option_of_another_name_is_refused():
    pipeline, graph = mstflow.algorithm("kruskal"), ([0], [1])
    for call in (read, mstflow.minimum_spanning_forest, pipeline.run):
        with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
            call(graph, weights=None)
    with pytest.raises(TypeError, match=r"^verify\(\) got an unexpected keyword argument 'header'"):
        mstflow.verify(graph, [0], header=1)


# Vertices, records and the dtype of the weights, as shared/data/expected.json has them.
REAL = {
    "USA-road-d.NY.gr.gz": (264346, 733846, "int64"),
    "rome99.gr": (3353, 8870, "int64"),
    "fastpaths-bremen_dist.gr": (40461, 86475, "int64"),
    "pace16-NE.gr.xz": (1524453, 1934010, "int64"),
    "tinyEWG.txt": (8, 16, "float64"),
    "mediumEWG.txt": (250, 1273, "float64"),
    "10000EWG.txt": (10000, 61731, "float64"),
    "Email-Enron.txt": (36692, 367662, "int64"),
    "openflights-routes-metres.txt": (3214, 18858, "int64"),
    "pandapower-case6515rte-lines.txt": (6515, 7422, "int64"),
    "sgb-miles-100-10-0.txt": (100, 405, "int64"),
    "bcsstk13.mtx": (2003, 42943, "float64"),
}


@pytest.mark.parametrize("name", [name for name in REAL if (DATA / name).exists()])
def test_real_graphs(name):
    graph = read(DATA / name)
    assert (graph.num_vertices, graph.num_edges, str(graph.weight.dtype)) == REAL[name]
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(Path(name).suffix, open)
    with opener(DATA / name, "rt") as file:
        (last,) = collections.deque(filter(str.strip, file), maxlen=1)
    one_based = name[:3] in ("USA", "rom", "pac", "bcs")
    fields = last.removeprefix("a ").split()
    assert [graph.u[-1], graph.v[-1]] == [int(field) - one_based for field in fields[:2]]
    assert graph.weight[-1] == (float(fields[2]) if len(fields) == 3 else 1)


def test_weights_of_several_files_are_exact(tmp_path):
    def saved(name, w, ids="i8"):
        np.savez(tmp_path / name, u=np.array([0], ids), v=np.array([1], ids), w=w)
        return tmp_path / f"{name}.npz"

    large, small = saved("large", np.array([2**64 - 1], "u8"), "u8"), saved("small", [7])
    joined = read([small, large])
    assert (joined.weight.tolist(), joined.u.dtype) == ([7, 2**64 - 1], np.int64)
    for dtype in ("i1", "i2", "i4", "i8"):
        with pytest.raises(GraphError, match="edge 1: weight -1 is not exact as uint64"):
            read([large, saved("negative", np.array([-1], dtype))])


def read_text(folder, name, text, **options):
    (folder / name).write_bytes(text.encode())
    return read(folder / name, **options)


@pytest.mark.parametrize(
    ("name", "text", "edges"),
    [
        ("a.col", "c x\np edge 4 3\nn 1 2\ne 1 2\ne 3 4\n", [(0, 1, 1), (2, 3, 1)]),
        ("a.gr", "p col 4 1\ne 1 4\n", [(0, 3, 1)]),
        ("a.mtx", "%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n1 2 7\n",
         [(0, 1, 7)]),
        ("a.graph", "3 1\n2\n1", [(0, 1, 1), (1, 0, 1)]),
        ("b.graph", "2 1 1\n2 0.5\n1 0.5\n", [(0, 1, 0.5), (1, 0, 0.5)]),
        ("c.graph", "2 1\r\n2\r\n1\r\n", [(0, 1, 1), (1, 0, 1)]),
        ("b.txt", "0 +1 +5\n1 2 -3\n", [(0, 1, 5), (1, 2, -3)]),
        ("c.txt", "0.0 1.0 5\n1.0 2e0 3\n", [(0, 1, 5), (1, 2, 3)]),
        ("a.csv", "u,v,weight\n0,1.000,+2.5\n", [(0, 1, 2.5)]),
    ],
)  # fmt: skip
def test_unusual_text(name, text, edges, tmp_path):
    assert edges_of(read_text(tmp_path, name, text)) == edges


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "0 9007199254740993.0 5\n", "is not a vertex id"),
        ("a.graph", "3 2\n2\n3\n\n", "line 1: states 2 edges, so 4 neighbours, .* list 2, of 3"),
        ("a.graph", "2 1 1\n2.5 1\n1 1\n", "line 2: '2.5' is not an integer"),
        ("a.gml", "graph [\n]\n", "mstflow does not read GML; read it with networkx or igraph"),
        ("a.graphml", "<?xml?>", "mstflow does not read GraphML"),
        ("a.txt", "<gexf>\n", "mstflow does not read GEXF"),
        ("a", "*Vertices 3\n", "mstflow does not read Pajek"),
        ("a", '{"nodes": []}', r"mstflow does not read JSON; .*node_link_graph"),
        ("a.gv", "digraph {\n}", "mstflow does not read DOT"),
        ("a", "NAME: berlin52\nTYPE: TSP\n", "mstflow does not read TSPLIB; pass mstflow.points"),
        ("a.lgf", "@nodes\n", "mstflow does not read LGF; pass a table"),
    ],
)  # fmt: skip
def test_text_that_is_refused(name, text, message, tmp_path):
    with pytest.raises(FileFormatError, match=message):
        read_text(tmp_path, name, text)


KONECT = "% sym weighted\n1 2 5 1082040961\n2 3 3 1082155839\n"


@pytest.mark.parametrize(
    ("columns", "weights"),
    [((0, 1, 2), [5, 3]), ((0, 1, 3), [1082040961, 1082155839]), ((0, 1), [1, 1])],
)
@pytest.mark.parametrize("text", [KONECT, KONECT.replace("% sym weighted\n", "").replace(" ", ",")])
def test_columns_by_position(columns, weights, text, tmp_path):
    name = "a.csv" if "," in text else "out.konect"
    graph = read_text(tmp_path, name, text, columns=columns, first_id=1)
    assert edges_of(graph) == [(0, 1, weights[0]), (1, 2, weights[1])]
    options = {"columns": columns, "first_id": 1, "memory": "1GB"}
    forest = mstflow.minimum_spanning_forest(tmp_path / name, **options)
    assert (forest.weight.tolist(), forest.num_vertices) == (weights, 3)


def test_counts_before_pairs_are_not_an_edge(tmp_path):
    text = "5 4\n0 1\n1 2\n2 3\n0 2\n"
    with pytest.raises(FileFormatError, match="line 1: '5 4' may state the numbers of vertices"):
        read_text(tmp_path, "a.txt", text)
    assert read_text(tmp_path, "a.txt", text, columns=(0, 1)).num_edges == 5
    for other in (text + "0 3\n", text.replace("5", "2"), "0 1\n1 2\n"):
        assert read_text(tmp_path, "a.txt", other).num_edges == other.count("\n")


@pytest.mark.parametrize("memory", [None, "1GB"])
@pytest.mark.parametrize(
    "text", ["3 2\n1 2 5\n2 3 4\n", "1 2 5\n2 3 4\n", "u,v,weight\n1,2,5\n2,3,4\n"]
)
def test_ids_from_one(text, memory, tmp_path):
    path = tmp_path / ("a.csv" if "," in text else "a.txt")
    path.write_text(text)
    solve = partial(mstflow.minimum_spanning_forest, path, memory=memory)
    if memory is None:
        with pytest.warns(GraphWarning, match="vertex ids start at 1"):
            assert solve().num_vertices == 4
    assert (solve().num_vertices, solve().num_components) == (4, 2)
    assert (solve(first_id=1).num_vertices, solve(first_id=1).num_components) == (3, 1)
    assert solve(first_id=1).u.tolist() == [0, 1]


def test_ids_from_zero_beyond_the_stated_number(tmp_path):
    with pytest.raises(FileFormatError, match="line 1: states 3 vertices, but ids are from 0 to 3"):
        read_text(tmp_path, "a.txt", "3 2\n0 2 5\n2 3 4\n")
    with pytest.raises(FileFormatError, match="line 2: vertex id 4 is not in 0 to"):
        read_text(tmp_path, "a.txt", "3 1\n0 4 5\n")


@pytest.mark.parametrize("memory", [None, "1GB"])
@pytest.mark.parametrize("names", [("a.csv", "b.csv"), ("b.txt", "a.txt")])
def test_a_file_without_weights_among_others(names, memory, tmp_path):
    texts = {
        "a.csv": "u,v,weight\n0,1,5\n",
        "b.csv": "u,v\n1,2\n",
        "a.txt": "0 1 5\n",
        "b.txt": "1 2\n",
    }
    paths = [tmp_path / name for name in names]
    for path in paths:
        path.write_text(texts[path.name])
    solve = partial(mstflow.minimum_spanning_forest, memory=memory)
    with pytest.raises(FileFormatError, match=r"b\.\w+: has no weights, but .*a\.\w+ has"):
        solve(paths)
    with pytest.raises(FileFormatError, match="column of weights, unlike earlier tables"):
        solve(paths, ends=("u", "v"))
    assert solve(paths, weight=None).weight.tolist() == [1, 1]
    chunks = [([0], [1], [5]), ([1], [2])]
    with pytest.raises(GraphError, match="edge 1: there are no weights from here on"):
        solve([tuple(map(np.array, chunk)) for chunk in chunks])


@pytest.mark.parametrize("name", ["A.TXT", "a.txt.GZ"])
def test_suffixes_in_capitals(tmp_path, name):
    compress = COMPRESS.get(Path(name).suffix.lower(), bytes)
    (tmp_path / name).write_bytes(compress(b"0 1 5\n"))
    assert read(tmp_path / name).num_edges == 1
