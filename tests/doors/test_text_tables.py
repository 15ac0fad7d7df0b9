"""Tables as text: names without a value, spaces around fields, headers, and matrices."""

from __future__ import annotations

import gzip

import numpy as np
import pandas
import pytest

import mstflow
from mstflow.__main__ import main
from mstflow.doors.names.beyond_memory import Spill
from mstflow.doors.names.number import number_graph
from mstflow.errors import FileFormatError, OptionError

BOTH = (("set_l", "id_l"), ("set_r", "id_r"))


def written(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if name.endswith(".gz") else data)
    return path


def forests(path, **options):
    """Yield the forest of named pairs that are numbered in memory, and on disk."""
    yield mstflow.minimum_spanning_forest(path, **options)
    ends, weight = options.pop("ends"), options.pop("weight", "weight")
    graph = number_graph(path, ends, weight, memory=2**29, spill=Spill(growth=10**9, parts=2))
    yield mstflow.minimum_spanning_forest(graph)


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.csv.gz"])
@pytest.mark.parametrize(
    ("text", "ends", "line", "column"),
    [
        ("left,right,weight\n,b1,0.9\n,c1,0.95\n", ("left", "right"), 2, "left"),
        ("left,right,weight\na,b,1\nb,,2\n", ("left", "right"), 3, "right"),
        ('left,right,weight\n\na,"b\nc",1\n"",b,2\n', ("left", "right"), 5, "left"),
        ("left;right;weight\na;b;1\nb;   ;2\n", ("left", "right"), 3, "right"),
        ("left\tright\tweight\na\tb\t1\n\tb\t2\n", ("left", "right"), 3, "left"),
        ("left right\na b\n\"\" c\n", ("left", "right"), 3, "left"),
        ("a,b,1\nb, ,2\n", (0, 1), 2, "v"),
        ("set_l,id_l,set_r,id_r,weight\ns,1,t,2,1\ns,1,,3,1\n", BOTH, 3, "set_r"),
        ("set_l,id_l,set_r,id_r,weight\ns,1,t,2,1\ns,,t,3,1\n", BOTH, 3, "id_l"),
    ],
)  # fmt: skip
def test_a_name_without_a_value_is_refused(name, text, ends, line, column, tmp_path):
    path = written(tmp_path, name, text)
    options = (
        {"weight": "weight" if "weight" in text else None} if ends != (0, 1) else {"weight": 2}
    )
    for call in (
        lambda: mstflow.read(path, ends=ends, **options),
        lambda: mstflow.minimum_spanning_forest([path], ends=ends, memory="1GB", **options),
        lambda: number_graph(path, ends, options["weight"], memory=2**29, spill=Spill(10**9)),
    ):
        message = rf"pairs\.csv\S*: line {line}: column '{column}' has no value"
        with pytest.raises(FileFormatError, match=message):
            call()


def test_clusters_refuse_a_name_without_a_value(tmp_path, capsys):
    path = written(tmp_path, "pairs.csv", "left,right,score\n,b1,0.9\n,c1,0.95\na1,d1,0.8\n")
    more = [
        "--ends",
        "left",
        "right",
        "--weight",
        "score",
        "--similarity",
        "--at",
        "0.5",
        "-o",
        "-",
    ]
    assert main(["clusters", str(path), *more]) == 2
    assert "line 2: column 'left' has no value" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("a.csv", "from, to, cost\nRome, Pisa, 3\nPisa, Siena, 1\n", ["Rome", "Pisa", "Siena"]),
        ("a.csv", "from ,to\t, cost \nRome ,Pisa\t,3 \n  Pisa,Siena,1\n",
         ["Rome", "Pisa", "Siena"]),
        ("a.csv", 'from, "to", cost\nRome, "Pisa", 3\n"Pisa" ,Siena, 1\n',
         ["Rome", "Pisa", "Siena"]),
        ("a.csv", 'from,to,cost\nRome, "Pisa, IT", 3\n"Pisa, IT",Siena,1\n',
         ["Rome", "Pisa, IT", "Siena"]),
        ("a.csv.gz", "from; to; cost\r\nRome; Pisa; 3\r\nPisa; Siena; 1\r\n",
         ["Rome", "Pisa", "Siena"]),
        ("a.tsv", "from\t to\tcost\nRome\t New York \t3\nNew York\tSiena\t1\n",
         ["Rome", "New York", "Siena"]),
        ("a.txt", 'from  to cost\nRome   "Pisa" 3\n Pisa\t"Siena"  1 \n',
         ["Rome", "Pisa", "Siena"]),
        ("a.csv", '"from","to","cost"\n" Rome","Rome","3"\n"Rome","a\n\n b ",1\n',
         [" Rome", "Rome", "a\n\n b "]),
        ("a.csv", 'from,to,cost\n5" pipe, 6" pipe,3\n6" pipe,x,1\n', ['5" pipe', '6" pipe', "x"]),
    ],
)  # fmt: skip
def test_spaces_around_names_and_columns(name, text, names, tmp_path):
    path = written(tmp_path, name, text)
    for forest in forests(path, ends=("from", "to"), weight="cost"):
        assert list(forest.names) == names
        assert forest.weight.tolist() == [3, 1]
        assert forest.num_components == 1


def test_a_saved_forest_keeps_spaces_in_names(tmp_path):
    pairs = pandas.DataFrame({"u": [" a", "a"], "v": ["a", "b\t"], "weight": [1, 2]})
    mstflow.minimum_spanning_forest(pairs, ends=("u", "v")).save(tmp_path / "forest.csv")
    again = mstflow.read(tmp_path / "forest.csv", ends=("u", "v"))
    assert list(again.names) == [" a", "a", "b\t"]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt.gz", "a"])
@pytest.mark.parametrize(
    ("rows", "options", "hint"),
    [
        (["left,right", "a,b", "b,c"], {"ends": (0, 1)}, {"ends": ("left", "right")}),
        (["source,target,note", "a,b,x"], {"ends": (0, 1), "weight": None},
         {"ends": ("source", "target"), "weight": None}),
        (["id_l,id_r,score", "a,b,3"], {"ends": (0, 1), "weight": 2},
         {"ends": ("id_l", "id_r"), "weight": "score"}),
        (["hat,coat,score", "a,b,3"], {"ends": (1, 0), "weight": None},
         {"ends": ("coat", "hat"), "weight": None}),
        (["set_l,id_l,set_r,id_r", "s,1,t,2", "s,2,t,3"],
         {"ends": ((0, 1), (2, 3)), "weight": None},
         {"ends": BOTH, "weight": None}),
        (["fromNode,toNode", "n,m"], {"ends": (0, 1)}, {"ends": ("fromNode", "toNode")}),
        (["from,to"], {"ends": (0, 1)}, None),
    ],
)  # fmt: skip
def test_a_header_is_not_an_edge_between_names(name, rows, options, hint, tmp_path):
    mark = "," if "csv" in name else "\t" if "tsv" in name else " "
    path = written(tmp_path, name, "\n".join(rows).replace(",", mark) + "\n")
    with pytest.raises(FileFormatError, match="line 1: looks like a header: name the columns") as e:
        mstflow.minimum_spanning_forest(path, **options)
    if hint is not None:
        assert f"ends={hint['ends']!r}" in str(e.value)
        assert mstflow.minimum_spanning_forest(path, **hint).graph.num_edges == len(rows) - 1
    # The other way out: the line is an edge.
    columns = mark.join(f"c{at}" for at in range(rows[0].count(",") + 1)) + "\n"
    path = written(tmp_path, name, columns + rows[0].replace(",", mark) + "\n")
    assert mstflow.read(path, ends=("c0", "c1"), weight=None).num_edges == 1


@pytest.mark.parametrize(
    ("text", "num_edges"),
    [
        ("node1 node2\nnode2 node3\n", 2),
        ("start,A\nA,end\nstart,end\n", 3),
        ("x7,12\n12,x8\n", 2),
        ("ann,bob\nbob,eve\n", 2),
    ],
)
def test_names_that_are_no_header(text, num_edges, tmp_path):
    path = written(tmp_path, "a.txt", text)
    assert mstflow.read(path, ends=(0, 1), weight=None).num_edges == num_edges


def test_a_header_may_have_numbers(tmp_path):
    path = written(tmp_path, "a.csv", "u,v,2019\na,b,5\nb,c,3\n")
    assert mstflow.read(path, ends=("u", "v"), weight="2019").weight.tolist() == [5, 3]
    path = written(tmp_path, "b.csv", "source;target;1\n0;1;5\n")
    assert mstflow.read(path, weight="1").weight.tolist() == [5]


@pytest.mark.parametrize("sep", [",", ";", "\t", " "])
@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "txt", "edges", "dat"])
def test_numbers_of_columns_are_not_an_edge(sep, index, suffix, tmp_path):
    frame = pandas.DataFrame(np.array([[0, 1, 5.5], [1, 2, 3.5]]))
    path = tmp_path / f"a.{suffix}"
    frame.astype({0: int, 1: int}).to_csv(path, index=index, sep=sep)
    columns = (1, 2, 3) if index else (0, 1, 2)
    for options in ({}, {"columns": columns}, {"columns": columns, "memory": "1GB"},
                    {"ends": columns[:2], "weight": columns[2]}):  # fmt: skip
        if index and sep == " ":  # the header has no first field
            continue
        with pytest.raises(
            FileFormatError, match=r"line 1: '[0-9,]*' may be a header of column num"
        ):
            mstflow.minimum_spanning_forest(path, **options)
    path.write_text(path.read_text().split("\n", 1)[1])
    assert mstflow.read(path, columns=columns).weight.tolist() == [5.5, 3.5]


def test_small_edges_are_edges(tmp_path):
    for text, num_edges in (
        ("0 1 2\n1 2 3\n", 2),
        ("0,1\n1,2\n", 2),
        ("0,1,2.5\n", 1),
        ("0 1\n", 1),
    ):
        assert mstflow.read(written(tmp_path, "a.txt", text)).num_edges == num_edges


DISTANCES = np.array([[0, 2, 5, 1.5], [2, 0, 4, 3], [5, 4, 0, 6], [1.5, 3, 6, 0]])


@pytest.mark.parametrize("size", [3, 4])
@pytest.mark.parametrize("sep", [",", ";", "\t"])
@pytest.mark.parametrize("labels", ["ABCD", range(4), None])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "edges"])
def test_the_hint_for_a_matrix_of_distances(size, sep, labels, suffix, tmp_path):
    matrix, path = DISTANCES[:size, :size], tmp_path / f"d.{suffix}"
    names = None if labels is None else list(labels)[:size]
    frame = pandas.DataFrame(matrix, index=names, columns=names)
    frame.to_csv(path, sep=sep, index=names is not None, header=names is not None)
    for options in ({}, {"columns": (0, 1, 2)}, {"ends": (0, 1)}):
        with pytest.raises(FileFormatError, match="the text is a matrix of distances") as caught:
            mstflow.minimum_spanning_forest(path, **options)
    recipe = str(caught.value).rpartition("with d = ")[2]
    values, pairs = recipe.split(" and i, j = ")
    space = {"pandas": pandas, "numpy": np, "path": path}
    space["d"] = eval(values, space)
    i, j = eval(pairs, space)
    forest = mstflow.minimum_spanning_forest((i, j, space["d"][i, j]))
    assert forest.total_weight == (6 if size == 3 else 7.5)


TEXTS = {
    "a.csv": "u,v,weight\n0,1,5\n1,2,3\n",
    "a.txt": "# Zürich\n0 1 5\n1 2 3\n",
    "a.gr": "c é\np sp 3 2\na 1 2 5\na 2 3 3\n",
    "a.mtx": "%%MatrixMarket matrix coordinate integer general\n% é\n3 3 2\n1 2 5\n2 3 3\n",
    "a": "u;v;weight\n0;1;5\n1;2;3\n",
}


@pytest.mark.parametrize("memory", [None, "1GB"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig"])
@pytest.mark.parametrize("name", TEXTS)
def test_text_of_every_encoding(name, encoding, compress, memory, tmp_path):
    path = tmp_path / (name if compress is bytes else f"{name}.gz")
    path.write_bytes(compress(TEXTS[name].encode(encoding)))
    has_mark = encoding in ("utf-16", "utf-32", "utf-8-sig")
    for options in ({"encoding": encoding}, *([{}] if has_mark else [])):
        forest = mstflow.minimum_spanning_forest(path, memory=memory, **options)
        assert (forest.weight.tolist(), forest.num_vertices) == ([5, 3], 3)
    for unknown in ("klingon", "hex"):
        with pytest.raises(OptionError, match=f"unknown encoding '{unknown}'"):
            mstflow.minimum_spanning_forest(path, memory=memory, encoding=unknown)


def test_text_that_has_not_the_encoding_names_the_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("u,v,note\n0,1,x\n1,2,Zürich\n".encode("latin-1"))
    for options in ({"weight": None}, {"ends": ("u", "v"), "weight": None}):
        with pytest.raises(FileFormatError, match="line 3: the text is not ascii: 'ascii' codec"):
            mstflow.read(path, encoding="ascii", **options)
    np.savez(tmp_path / "a.npz", u=[0], v=[1])
    with pytest.raises(OptionError, match="encoding= is for text, not for format 'npz'"):
        mstflow.read(tmp_path / "a.npz", encoding="latin-1")


def test_names_in_utf_16(tmp_path, capsys):
    path = tmp_path / "pairs.txt"
    path.write_bytes("Zürich\tGenève\t3\nGenève\tਊ\t4\n".encode("utf-16"))
    for forest in forests(path, ends=(0, 1), weight=2):
        assert list(forest.names) == ["Zürich", "Genève", "ਊ"]
    assert main(["solve", str(path), "--ends", "0", "1", "--weight", "2", "--encoding", "x"]) == 2
    assert "unknown encoding 'x'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ('"a,b"\tc\t1', ["a,b", "c"]),
        (' "a;b" ; "c,d" ;1', ["a;b", "c,d"]),
        ('"a"",;"\t"b;c"\t1', ['a",;', "b;c"]),
        ('"a b" "c,d" 1', ["a b", "c,d"]),
        ('3" pipe,4" pipe,1', ['3" pipe', '4" pipe']),
        ('"a\nb,";c;1', ["a\nb,", "c"]),
    ],
)
def test_a_delimiter_within_quotes_does_not_count(line, names, tmp_path):
    path = written(tmp_path, "pairs.csv", line + "\n")
    graph = mstflow.read(path, ends=(0, 1), weight=2)
    assert graph.names.take([0, 1]).to_pylist() == names
    assert graph.weight.tolist() == [1]


@pytest.mark.parametrize("line", ["a", "a,b", "a,b,2"])
def test_a_position_beyond_the_first_line(line, tmp_path):
    path = written(tmp_path, "pairs.csv", line + "\nc,d,1\n")
    with pytest.raises(FileFormatError, match="line 1: no column at position 3"):
        mstflow.read(path, ends=(0, 3), weight=None)
