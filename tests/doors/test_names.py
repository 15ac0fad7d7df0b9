"""Vertices with names: all tables and files give the same numbers; results contain the names."""

from __future__ import annotations

import networkx
import numpy as np
import polars
import pyarrow as pa
import pytest
from dask import dataframe
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv as arrow_csv
from pyarrow import feather, parquet

import mstflow
from mstflow.doors.names.beyond_memory import Spill
from mstflow.doors.names.number import number_graph
from mstflow.doors.names.pairs import named_pairs
from mstflow.errors import FileFormatError, GraphError, OptionError, VerificationError

ENDS = ("record_l", "record_r")
TABLE = pa.table(
    {
        "record_l": ["b-1", "a, 2", "b-1", "zoé"],
        "record_r": ["a, 2", "zoé", "zoé", "007"],
        "score": [0.5, 0.25, 0.125, 1.0],
        "note": ["x", "y", "z", "w"],
    }
)
NAMES = ["b-1", "a, 2", "zoé", "007"]


def numbered(u, v):
    """Number the vertices in the order in which they first appear, as a loop."""
    numbers = {}
    ends = [
        numbers.setdefault(name, len(numbers)) for pair in zip(u, v, strict=True) for name in pair
    ]
    return list(numbers), ends[::2], ends[1::2]


def forms(folder):
    """Yield the table in every form in which it can be read."""
    yield TABLE
    yield TABLE.to_pandas()
    yield TABLE.to_pandas().astype({"record_l": "category"})
    yield [TABLE.slice(0, 1), TABLE.slice(1)]
    yield polars.from_arrow(TABLE)
    frame = dataframe.from_pandas(TABLE.to_pandas(), npartitions=2)
    yield frame
    yield frame.to_delayed()
    yield [frame.to_delayed()[:1], frame.to_delayed()[1]]
    parquet.write_table(TABLE, folder / "pairs.parquet", row_group_size=3)
    yield folder / "pairs.parquet"
    feather.write_feather(TABLE, folder / "pairs.arrow")
    yield str(folder / "pairs.arrow")
    arrow_csv.write_csv(TABLE, folder / "pairs.csv")
    yield folder / "pairs.csv"
    parquet.write_table(TABLE.slice(0, 2), folder / "first.parquet")
    arrow_csv.write_csv(TABLE.slice(2), folder / "second.csv")
    yield [folder / "first.parquet", folder / "second.csv"]


def test_every_form_of_a_table(tmp_path):
    for form in forms(tmp_path):
        forest = mstflow.minimum_spanning_forest(form, ends=ENDS, weight="score")
        assert list(forest.names) == NAMES
        assert forest.edge_ids.tolist() == [1, 2, 3]
        assert (forest.u.tolist(), forest.v.tolist()) == ([1, 0, 2], [2, 2, 3])
        assert forest.weight.tolist() == [0.25, 0.125, 1.0]


KINDS = (st.text(max_size=2), st.integers(-(2**63), 2**63 - 1), st.integers(2**63, 2**64 - 1))
LISTS = [
    st.lists(st.tuples(kind, kind), min_size=1, max_size=30) for kind in (*KINDS, st.integers(0, 9))
]


@given(st.one_of(LISTS), st.integers(1, 7))
def test_numbers_are_in_the_order_of_first_appearance(pairs, size):
    u, v = ([pair[end] for pair in pairs] for end in (0, 1))
    is_large = u[0] != str(u[0]) and max(*u, *v) >= 2**63
    table = pa.table(
        [pa.array(ends, pa.uint64() if is_large else None) for ends in (u, v)], ["u", "v"]
    )
    parts = [table.slice(start, size) for start in range(0, len(u), size)]
    graph = number_graph(parts, ("u", "v"), "weight")
    names, *ends = numbered(u, v)
    assert list(graph.names) == names
    assert [graph.u.tolist(), graph.v.tolist()] == ends
    assert graph.names.numbers(names).tolist() == list(range(len(names)))
    assert graph.names.take([0]).to_pylist() == names[:1]
    assert (graph.names[len(names) - 1], len(graph.names)) == (names[-1], len(names))


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("names", [NAMES, [-5, 2**62, 7, 0]])
def test_results_contain_the_names(tmp_path, suffix, names):
    number = {name: i for i, name in enumerate(NAMES)}
    columns = {end: [names[number[name]] for name in TABLE[end].to_pylist()] for end in ENDS}
    table = pa.table({**columns, "score": TABLE["score"]})
    graph = mstflow.read(write(tmp_path, table), ends=ENDS, weight="score")
    forest = mstflow.minimum_spanning_forest(graph, maximum=True)
    expected = {"edge_id": [0, 1, 3], "weight": [0.5, 0.25, 1.0]}
    for end, name in zip(("u", "v"), ENDS, strict=True):
        expected[end] = [columns[name][i] for i in (0, 1, 3)]
    assert forest.to_arrow().to_pydict() == expected
    assert forest.to_pandas().to_dict("list") == expected
    assert forest.to_polars().to_dict(as_series=False) == expected
    assert set(forest.to_networkx().nodes) == set(names)
    assert forest.to_igraph().vs["name"] == names
    assert forest.to_scipy().shape == (4, 4)
    path = tmp_path / f"forest{suffix}"
    forest.save(path)
    saved = parquet.read_table(path) if suffix == ".parquet" else arrow_csv.read_csv(path)
    assert saved["u"].to_pylist() == expected["u"]
    assert mstflow.verify(graph, path, maximum=True).compared == ("u", "v", "weight")
    again = mstflow.minimum_spanning_forest(mstflow.mutual_reachability(graph, min_samples=1))
    assert list(again.names) == names


def write(folder, table):
    parquet.write_table(table, folder / "pairs.parquet")
    return folder / "pairs.parquet"


def test_streaming_strategies_keep_names(tmp_path):
    path = write(tmp_path, TABLE)
    for options in ({"memory": "1GB"}, {"strategy": "fold"}, {"scheduler": "threads"}):
        forest = mstflow.minimum_spanning_forest(path, ends=ENDS, weight="score", **options)
        assert list(forest.names) == NAMES
        assert forest.edge_ids.tolist() == [1, 2, 3]


def test_a_forest_with_another_name_is_wrong(tmp_path):
    graph = mstflow.read(write(tmp_path, TABLE), ends=ENDS, weight="score")
    table = mstflow.minimum_spanning_forest(graph).to_arrow()
    parquet.write_table(table.set_column(1, "u", [["a, 2", "eve", "zoé"]]), tmp_path / "f.parquet")
    with pytest.raises(VerificationError, match="edge 2: u is eve in the forest, but b-1 in the"):
        mstflow.verify(graph, tmp_path / "f.parquet")


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"record_r": None}, {}, "expected one column each for record_l and record_r; found"),
        ({"score": None}, {}, "no column 'score' for the weights"),
        ({"record_r": ["a", None, "b", "c"]}, {}, "edge 1: column 'record_r' has no value"),
        ({"score": [1.0, 2.0, None, 3.0]}, {}, "edge 2: column 'score' has no value"),
        ({"score": [1.0, 2.0, np.nan, 3.0]}, {}, "edge 2: the weight is NaN"),
        ({"score": ["1"] * 4}, {}, "column 'score' must hold numbers, not string"),
        (
            {"record_r": [1.5] * 4},
            {},
            "edge 0: column 'record_r' is 1.5, but names are strings or integers",
        ),
        ({"record_r": [1, 2, 3, 4]}, {}, "names must all be strings or all integers"),
        (
            {},
            {"ends": "record_l"},
            "ends must be two columns, or a tuple of columns for each end",
        ),
        ({}, {"ends": ("record_l", "record_l")}, "ends must be two columns, or a tuple"),
        ({}, {"num_vertices": 9}, "with ends=, the names determine it"),
    ],
)
def test_bad_tables(changes, options, message):
    columns = {name: TABLE[name] for name in TABLE.column_names} | changes
    table = pa.table({name: column for name, column in columns.items() if column is not None})
    with pytest.raises((GraphError, OptionError), match=message):
        mstflow.minimum_spanning_forest(table, **{"ends": ENDS, "weight": "score", **options})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,b,1\nc,d,high\n", r"pairs.csv: line 3: 'high' is not a weight"),
        ("a,b,1\nc,d\n", "pairs.csv: line 3: expected 3 fields, found 2"),
        ("a,b,nan\n", "pairs.csv: line 2: the weight is NaN"),
    ],
)
def test_bad_text(tmp_path, rows, message):
    (tmp_path / "pairs.csv").write_text(f"record_l,record_r,score\n{rows}")
    with pytest.raises(FileFormatError, match=message):
        mstflow.read(tmp_path / "pairs.csv", ends=ENDS, weight="score")


def test_inputs_without_named_columns_are_refused(tmp_path):
    (tmp_path / "graph.gr").write_text("a 1 2 3\n")
    for graph, message in (
        (tmp_path / "graph.gr", r"graph.gr: format 'gr' has no names \(ends=\); text, CSV, Par"),
        (np.arange(2), "ends= needs a tuple of columns, a table of pandas, .*; found ndarray"),
        (7, "ends= needs a tuple of columns, a table of pandas, .*; found int"),
    ):
        with pytest.raises(OptionError, match=message):
            mstflow.minimum_spanning_forest(graph, ends=ENDS)
    with pytest.raises(GraphError, match="must hold numbers, not string; cast it"):
        mstflow.minimum_spanning_forest(TABLE.rename_columns(["u", "v", "weight", "note"]))


def test_outputs_without_names(tmp_path):
    forest = mstflow.minimum_spanning_forest(TABLE, ends=ENDS, weight="score")
    for name in ("forest.npz", "forest", "forest.gr"):
        with pytest.raises(
            OptionError, match=r"names and clusters of vertices need \.csv or \.parquet"
        ):
            forest.save(tmp_path / name)
    with pytest.raises(OptionError, match="no vertex has the name 'eve'"):
        forest.names.numbers(["zoé", "eve"])
    with pytest.raises(OptionError, match="names of vertices must be of type string"):
        forest.names.numbers([3])
    with pytest.raises(GraphError, match="there are 4 names for 9 vertices"):
        forest.graph.on(9)


def test_blocks_of_text(tmp_path):
    (tmp_path / "pairs.csv").write_text(
        '# made up\nu\tv\tweight\n"a"\tb\t1\nb\tc\t18446744073709551615\n'
    )
    table = mstflow.read(tmp_path / "pairs.csv", ends=("u", "v"))
    assert list(table.names) == ["a", "b", "c"]
    assert table.weight.tolist() == [1, 2**64 - 1]
    (pairs,) = named_pairs(tmp_path / "pairs.csv", ("u", "v"), None)
    assert pairs.column_names == ["l", "r"]


LINKS = pa.table(
    {
        "source_dataset_l": ["a", "a", "b"],
        "unique_id_l": [1, 2, 2],
        "source_dataset_r": ["b", "b", "c"],
        "unique_id_r": [2, 3, 1],
        "weight": [0.5, 0.25, 0.75],
    }
)
BOTH = (("source_dataset_l", "unique_id_l"), ("source_dataset_r", "unique_id_r"))


@pytest.mark.parametrize("form", ["table", "parquet", "csv"])
@pytest.mark.parametrize("on_disk", [False, True])
def test_names_of_two_columns(form, on_disk, tmp_path):
    path = tmp_path / f"links.{form}"
    if form == "parquet":
        parquet.write_table(LINKS, path)
    elif form == "csv":
        arrow_csv.write_csv(LINKS, path)
    spill = Spill(growth=10**9 if on_disk else 4)
    given = LINKS if form == "table" else path
    graph = number_graph(given, BOTH, "weight", memory=2**29, spill=spill)
    names = [("a", 1), ("b", 2), ("a", 2), ("b", 3), ("c", 1)]
    if form == "csv":
        names = [(dataset, str(number)) for dataset, number in names]
    forest = mstflow.minimum_spanning_forest(graph)
    assert list(forest.names) == names
    assert forest.labels.tolist() == [0, 0, 1, 1, 0]
    assert forest.names[4] == names[4]
    assert forest.names.numbers(names[::-1]).tolist() == [4, 3, 2, 1, 0]
    with pytest.raises(OptionError, match=r"no vertex has the name \('x', 1\)"):
        forest.names.numbers([("x", 1)])
    frame = forest.to_pandas()
    fields = [f"{end}.{field}" for end in "uv" for field in ("source_dataset", "unique_id")]
    assert list(frame) == ["edge_id", *fields, "weight"]
    assert frame.iloc[2][fields].tolist() == [*names[1], *names[4]]
    assert set(forest.to_networkx()) == set(names)
    clusters = forest.clusters([0.5]).to_arrow()
    assert clusters.column_names == ["source_dataset", "unique_id", "cluster_0.5"]
    assert clusters["source_dataset"].to_pylist() == [dataset for dataset, _ in names]
    for suffix in ("csv", "parquet"):
        forest.save(tmp_path / f"forest.{suffix}")
        found = mstflow.verify(graph, tmp_path / f"forest.{suffix}")
        assert found.compared == (*fields, "weight")


def test_a_column_may_belong_to_both_ends(tmp_path):
    ends = (("source_dataset_l", "unique_id_l"), ("source_dataset_l", "unique_id_r"))
    parquet.write_table(LINKS, tmp_path / "links.parquet")
    for graph in (LINKS, LINKS.to_pandas(), tmp_path / "links.parquet", [LINKS[:1], LINKS[1:]]):
        forest = mstflow.minimum_spanning_forest(graph, ends=ends)
        assert list(forest.names) == [("a", 1), ("a", 2), ("a", 3), ("b", 2), ("b", 1)]
        assert forest.to_arrow().column_names[1] == "u.source_dataset_l"


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ((("a", "b"), "c"), "ends must be two columns, or a tuple of columns for each end"),
        (((), ()), "ends must be two columns"),
        ((BOTH[0], BOTH[0]), "ends must be two columns"),
        ((("source_dataset_l", "id_l"), BOTH[1]), "expected one column each for source_dataset"),
    ],
)  # fmt: skip
def test_bad_pairs_of_columns(ends, message):
    with pytest.raises((GraphError, OptionError), match=message):
        mstflow.minimum_spanning_forest(LINKS, ends=ends)


@pytest.mark.parametrize(
    ("name", "text", "options", "names"),
    [
        ("osm.txt", "4503599627370 4503599627371 5\n", {"ends": ("u", "v")}, None),
        ("words.txt", "a  b 5\n# c\n b\tc 3\n", {"ends": ("u", "v")}, ["a", "b", "c"]),
        ("bare.txt", "% c\na b\nb c\n", {"ends": (0, 1)}, ["a", "b", "c"]),
        ("wide.txt", "x a b 5\ny b c 3\n", {"ends": (1, 2), "weight": 3}, ["a", "b", "c"]),
        ("tabs.tsv", "New York\tBonn\t5\n", {"ends": (0, 1), "weight": 2}, ["New York", "Bonn"]),
        ("text.txt", "% c d\nx y\n# z\ny z\n", {"ends": (0, 1)}, ["x", "y", "z"]),
        ("comma.csv", "#a,b\nb,c\n", {"ends": (0, 1)}, ["b", "c"]),
    ],
)
def test_names_in_text_without_a_header(name, text, options, names, tmp_path):
    (tmp_path / name).write_text(text)
    forest = mstflow.minimum_spanning_forest(tmp_path / name, **options)
    assert list(forest.names) == (names or ["4503599627370", "4503599627371"])
    assert forest.edge_ids.tolist() == list(range(len(forest.names) - 1))


def test_errors_of_text_name_the_line(tmp_path):
    (tmp_path / "a.txt").write_text("# c\na b 5\n\n# d\nb c x\n")
    with pytest.raises(FileFormatError, match=r"a\.txt: line 5: 'x' is not a weight"):
        mstflow.read(tmp_path / "a.txt", ends=("u", "v"))
    (tmp_path / "b.csv").write_bytes("u,v,weight\na,b,5\nZürich,Genève,3\n".encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"b\.csv: line 3: the text is not UTF-8"):
        mstflow.read(tmp_path / "b.csv", ends=("u", "v"))
    graph = mstflow.read(tmp_path / "b.csv", ends=("u", "v"), encoding="latin-1")
    assert list(graph.names) == ["a", "b", "Zürich", "Genève"]
    with pytest.raises(OptionError, match="unknown encoding 'klingon'"):
        mstflow.read(tmp_path / "b.csv", ends=("u", "v"), encoding="klingon")
    parquet.write_table(TABLE, tmp_path / "pairs.parquet")
    with pytest.raises(OptionError, match="encoding= is for text, not for format 'parquet'"):
        mstflow.read(tmp_path / "pairs.parquet", ends=ENDS, weight="score", encoding="latin-1")


def test_columns_of_names():
    for columns in ((["a", "b"], ["b", "c"], [1, 2]), (np.array(["a", "b"]), np.array(["b", "c"]))):
        with pytest.raises(
            GraphError,
            match=r"such as ends=\('u', 'v'\)",
        ):
            mstflow.minimum_spanning_forest(columns)
        forest = mstflow.minimum_spanning_forest(columns, ends=("u", "v"))
        assert list(forest.names) == ["a", "b", "c"]


def test_add_takes_names():
    first = pa.table({"l": ["A", "B"], "r": ["B", "C"], "weight": [5, 4]})
    forest = mstflow.minimum_spanning_forest(first, ends=("l", "r"))
    more = pa.table({"u": ["C", "D"], "v": ["A", "B"], "weight": [3, 1]})
    for added in (
        forest.add(more),
        forest.add(more.rename_columns(["l", "r", "weight"]), ends=("l", "r")),
        forest.add(networkx.from_pandas_edgelist(more.to_pandas(), "u", "v", "weight")),
    ):
        assert list(added.names) == ["A", "B", "C", "D"]
        assert added.edge_ids.tolist() == [1, 2, 3]
        assert added.to_pandas()["u"].tolist()[0] == "B"
        mstflow.verify(added.graph, added)
    assert forest.add(([0], [2], [1])).edge_ids.tolist() == [1, 2]  # by number
    with pytest.raises(GraphError, match="names are of type int64, but those of the graph of type"):
        forest.add(pa.table({"u": [0], "v": [1]}))
    with pytest.raises(
        GraphError, match="without names, pass the numbers of vertices, from 0 to 2;"
    ):
        forest.add(([0], [7], [1]))
    graph = networkx.Graph([(10, 20), (20, 30)])
    again = mstflow.minimum_spanning_forest(graph).add(networkx.Graph([(0, 1), (1, 10)]))
    assert list(again.names) == [10, 20, 30, 0, 1]
    assert again.num_components == 1
