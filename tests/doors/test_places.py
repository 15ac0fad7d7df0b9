"""Folders, patterns and URLs: which files are read, in which order, and what is refused."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import mstflow
from mstflow.__main__ import main
from mstflow.doors.files import open_files
from mstflow.doors.formats.text.text_file import DECOMPRESSORS
from mstflow.doors.places.folders import COMPRESSIONS, expanded
from mstflow.doors.places.url import Url, place_of
from mstflow.errors import FileFormatError, GraphError, MstflowError, OptionError
from mstflow.graphs.source import EdgeSource

TABLE = pa.table({"u": [0, 1, 2], "v": [1, 2, 0], "weight": [5, 3, 4]})
ENDS = TABLE.select(["u", "v"])
NULL = "__HIVE_DEFAULT_PARTITION__"


def written(path, table=TABLE):
    path.parent.mkdir(parents=True, exist_ok=True)
    suffixes = {".csv": write_csv, ".arrow": feather.write_feather}
    suffixes.get(path.suffix, parquet.write_table)(table, path)
    return path


def write_csv(table, path):
    rows = zip(*table.to_pydict().values(), strict=True)
    lines = [",".join(table.column_names), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")


def names(folder):
    return [part.place.name for part in expanded([place_of(folder)])]


def test_files_of_a_folder_are_in_natural_order(tmp_path):
    wanted = ["part.2.parquet", "part.010b.parquet", "part.10.parquet", "z.parquet"]
    for name in (*wanted, ".part.3.parquet", "_part.4.parquet"):
        written(tmp_path / name)
    written(tmp_path / "a/part.11.parquet")
    assert names(tmp_path) == ["part.11.parquet", *wanted]
    assert names(tmp_path / "part*") == wanted[:3]
    assert names(f"{tmp_path}/**") == ["part.11.parquet", *wanted]
    assert names(f"{tmp_path}/**/part.1*") == ["part.11.parquet", wanted[2]]


def test_compressed_text_has_one_list_of_suffixes():
    assert set(COMPRESSIONS) == set(DECOMPRESSORS)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
def test_a_fingerprint_depends_on_the_names_of_folders(tmp_path, suffix):
    prints = set()
    file = written(tmp_path / f"weight=0/0.{suffix}", ENDS)
    for weight in range(2):  # renaming a folder changes no file in it
        folder = file.parent.rename(tmp_path / f"weight={weight}")
        file = folder / file.name
        prints.add(open_files([tmp_path], is_bounded=True).fingerprint())
    assert len(prints) == 2


def test_a_file_whose_name_is_a_pattern(tmp_path):
    path = written(tmp_path / "edges[1].parquet")
    assert mstflow.read(path).num_edges == 3


def test_a_linked_folder_is_read(tmp_path):
    written(tmp_path / "real/a.parquet")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/b").symlink_to(tmp_path / "real")
    assert mstflow.read(tmp_path / "linked").num_edges == 3


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize("memory", [None, "1GB"])
def test_weights_in_the_names_of_folders(tmp_path, suffix, memory):
    for weight in (2, 10, 1):
        written(tmp_path / f"weight={weight}/0.{suffix}", ENDS.slice(weight % 3, 1))
    forest = mstflow.minimum_spanning_forest(tmp_path, memory=memory)
    graph = EdgeSource.of(forest.graph)
    assert np.concatenate([read()[2] for *_, read in graph.blocks()]).tolist() == [1, 2, 10]
    assert (forest.edge_ids.tolist(), forest.total_weight) == ([0, 1], 3)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
def test_ends_in_the_names_of_folders(tmp_path, suffix):
    for name in ("a%2Fb", "c", "7"):
        written(tmp_path / f"from={name}/x.{suffix}", TABLE.select(["v", "weight"]))
    graph = mstflow.read(tmp_path, ends=("from", "v")) if suffix == "csv" else None
    if graph is not None:
        assert list(graph.names)[:5] == ["7", "1", "2", "0", "a/b"]
        return
    with pytest.raises(GraphError, match="names must all be strings or all integers"):
        mstflow.read(tmp_path, ends=("from", "v"))


@pytest.mark.parametrize("memory", [None, "1GB"])
def test_integer_ends_in_the_names_of_folders(tmp_path, memory):
    for u in (0, 1):
        written(tmp_path / f"u={u}/0.parquet", TABLE.select(["v", "weight"]).slice(u, 1))
    assert mstflow.minimum_spanning_forest(tmp_path, memory=memory).edge_ids.tolist() == [0, 1]
    written(tmp_path / "csv/u=0/0.csv", TABLE.select(["v", "weight"]))
    with pytest.raises(OptionError, match="'u' is in the names of folders; read it as a name"):
        mstflow.read(tmp_path / "csv")


def test_empty_parts(tmp_path):
    written(tmp_path / "csv/0.csv")
    (tmp_path / "csv/1.csv").touch()  # as Spark writes a partition without rows
    assert mstflow.read(tmp_path / "csv").num_edges == 3
    written(tmp_path / "parquet/0.parquet")
    written(tmp_path / "parquet/1.parquet", TABLE.slice(0, 0))
    assert mstflow.read(tmp_path / "parquet").num_edges == 3
    (tmp_path / "parquet/2.parquet").touch()
    with pytest.raises(FileFormatError, match=r"2\.parquet: is damaged or has another format"):
        mstflow.read(tmp_path / "parquet")


def test_decimal_weights_in_the_names_of_folders(tmp_path):
    for weight in ("0.5", "1e-3", "-2"):
        written(tmp_path / f"weight={weight}/0.parquet", ENDS)
    assert set(mstflow.read(tmp_path).weight) == {0.5, 0.001, -2.0}


def test_columns_of_a_file_hide_those_of_its_folders(tmp_path):
    written(tmp_path / "weight=9/0.parquet")
    assert mstflow.read(tmp_path).weight.tolist() == [5, 3, 4]


def test_folders_above_the_given_one_are_no_columns(tmp_path):
    written(tmp_path / "weight=9/g/0.parquet", ENDS)
    assert mstflow.read(tmp_path / "weight=9/g").weight.tolist() == [1, 1, 1]
    assert mstflow.read(f"{tmp_path}/*/g").weight.tolist() == [9, 9, 9]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "the folder has no columns u.npy and v.npy, and no files such as .parquet"),
        (["_SUCCESS"], "the folder has no columns"),
        (["a.parquet", "README.md"], r"files of several kinds \(.md, .parquet\); pass a pattern"),
        (["a.parquet", "b/u.npy"], r"files of several kinds \(.npy, .parquet\)"),
        (["a.parquet", "_delta_log/0.json"], "is a Delta table; pass DeltaTable"),
        (["a.parquet", ".hoodie/x"], "is a Hudi table"),
        (
            ["x=1/a.parquet", "y=1/a.parquet"],
            "its folders have the columns y, but those above .* have the columns x",
        ),
        (
            ["x=1/a.parquet", "b/a.parquet"],
            "its folders have the columns x, but those above .* have no columns",
        ),
        ([f"weight={NULL}/a.parquet", "weight=1/a.parquet"], "edge 0: column 'weight' has no val"),
    ],
)
def test_folders_that_are_refused(tmp_path, files, message):
    for name in files:
        written(tmp_path / "g" / name, ENDS)
    (tmp_path / "g").mkdir(exist_ok=True)
    for call in (mstflow.read, lambda path: open_files([path], is_bounded=True).check()):
        with pytest.raises(FileFormatError, match=message):
            call(tmp_path / "g")


def test_files_of_several_dtypes(tmp_path):
    written(tmp_path / "0.parquet")
    written(tmp_path / "1.parquet", TABLE.set_column(2, "weight", pa.array([0.5, 1.5, 2.5])))
    assert mstflow.read(tmp_path).weight.tolist() == [5, 3, 4, 0.5, 1.5, 2.5]
    with pytest.raises(GraphError, match=r"int64 in .*0\.parquet and float64 in .*1\.parquet"):
        mstflow.minimum_spanning_forest(tmp_path, memory="1GB")


@pytest.mark.parametrize(
    ("url", "kind", "message"),
    [
        (__file__.replace("test_places.py", "_*"), FileFormatError, "no file matches"),
        ("nothing/*.parquet", FileFormatError, "nothing/.*: no file matches"),
        ("memory://nothing/*.parquet", FileFormatError, "memory://.*: no file matches"),
        ("memory://nothing.parquet", FileFormatError, "nothing.parquet: No such file or directory"),
        ("nothing://a.parquet", OptionError, "nothing://a.parquet: Protocol not known: nothing"),
    ],
)
def test_places_that_do_not_exist(url, kind, message):
    with pytest.raises(kind, match=message):
        mstflow.read(url)


def test_a_web_server_that_does_not_answer():
    with pytest.raises(FileFormatError, match=r"No such file or directory \(Cannot connect"):
        mstflow.read("http://127.0.0.1:9/g.parquet")


# URLs.


def put(name, data):
    fsspec.filesystem("memory").pipe(f"/places/{name}", data)
    return f"memory://places/{name}"


def parquet_bytes(table=TABLE, **options):
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, **options)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("name", ["g.parquet", "g.csv"])
def test_an_object_that_changes_between_scans(name):
    first, second = (
        (b"u,v,weight\n0,1,5\n", b"u,v,weight\n0,1,6\n")
        if name == "g.csv"
        else (parquet_bytes(), parquet_bytes(TABLE.slice(0, 2)))
    )
    graph = open_files([put(name, first)], is_bounded=True)
    graph.check()
    before = graph.fingerprint()
    put(name, second)
    with pytest.raises(FileFormatError, match=rf"{name} changed while it was being read"):
        graph.check()
    assert open_files([f"memory://places/{name}"], is_bounded=True).fingerprint() != before


def test_a_url_is_sent_to_workers_with_its_options():
    url = place_of(fsspec.open(put("g.parquet", parquet_bytes())))
    assert isinstance(url, Url)
    assert pickle.loads(pickle.dumps(url)) == url
    assert (url.name, url.stem, url.suffix, url.parent.name) == (
        "g.parquet",
        "g",
        ".parquet",
        "places",
    )
    assert place_of("file:///a/b%20c.csv") == Path("/a/b c.csv")
    assert place_of("~/b.csv") == Path.home() / "b.csv"
    assert place_of("a/b") == Path("a/b")


def test_only_the_chosen_columns_are_fetched(monkeypatch):
    random = np.random.default_rng(0).random(100_000)
    wide = {f"column{i}": random for i in range(20)}
    ids = np.arange(100_000)
    table = pa.table({"u": ids, "v": ids, **wide, "weight": random})
    url = put("wide.parquet", parquet_bytes(table, use_dictionary=False))
    fetched = []
    opened = Url.open

    def counting(self, *args, **options):
        file = opened(self, *args, **options)
        raw = file.raw
        read = raw.readinto
        monkeypatch.setattr(
            raw, "readinto", lambda buffer: fetched.append(read(buffer)) or fetched[-1]
        )
        return file

    monkeypatch.setattr(Url, "open", counting)
    assert mstflow.read(url).num_edges == 100_000
    assert 0 < sum(fetched) < 5_000_000 < fsspec.filesystem("memory").size("/places/wide.parquet")


def test_any_error_of_a_library_names_the_url(monkeypatch):
    url = put("g.csv", b"u,v\n0,1\n")

    def refuse(*_, **__):
        raise RuntimeError("token expired")

    monkeypatch.setattr(fsspec.get_filesystem_class("memory"), "_open", refuse)
    with pytest.raises(FileFormatError, match=r"memory://.*g\.csv: RuntimeError: token expired"):
        mstflow.read(url)


# Commands.


@pytest.fixture(params=["folder", "pattern", "url"])
def place(request, tmp_path):
    for number in range(3):
        written(tmp_path / f"g/part.{number}.parquet", TABLE.slice(number, 1))
    (tmp_path / "g/_SUCCESS").touch()
    if request.param == "url":
        return (tmp_path / "g").as_uri()
    return str(tmp_path / "g/part.*.parquet" if request.param == "pattern" else tmp_path / "g")


def ran(capsys, *arguments):
    assert main(list(map(str, arguments))) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("memory", [[], ["--memory", "100GB"]])
def test_commands_take_any_place(place, memory, tmp_path, capsys):
    out = tmp_path / "forest.parquet"
    ran(capsys, "solve", place, "-o", out, *memory)
    assert mstflow.read(out).num_edges == 2
    assert json.loads(ran(capsys, "verify", place, out, "--json"))["right"]
    assert json.loads(ran(capsys, "plan", place, "--json", *memory))["partitions"] == 1
    assert json.loads(ran(capsys, "info", place, "--json"))["num_edges"] == 3
    ran(capsys, "convert", place, "-o", tmp_path / "copy.csv")
    assert mstflow.read(tmp_path / "copy.csv").weight.tolist() == [5, 3, 4]
    named = ["--ends", "u", "v", "--at", "3", "--json", *memory]
    found = json.loads(ran(capsys, "clusters", place, *named))
    assert [each["clusters"] for each in found["thresholds"]] == [2]


def test_an_input_below_a_folder_is_not_overwritten(tmp_path, capsys):
    inside = written(tmp_path / "g/deep/0.parquet")
    for given in (tmp_path / "g", tmp_path / "g/*/*.parquet"):
        assert main(["solve", str(given), "-o", str(inside)]) == 2
        assert "would overwrite the input" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in blockcache
@pytest.mark.parametrize(
    ("cache", "target"),
    [*itertools.product(("filecache", "simplecache"), ("file", "memory")), ("blockcache", "file")],
)
def test_caches_of_fsspec(tmp_path, cache, target):
    text = "u,v,weight\n0,1,3\n" + "".join(f"{i},{i + 1},2\n" for i in range(9000))
    if target == "memory":
        with fsspec.open("memory://cached/a.csv", "w") as file:
            file.write(text)
        url = f"{cache}::memory://cached/a.csv"
    else:
        (tmp_path / "a.csv").write_text(text)
        url = f"{cache}::file://{tmp_path}/a.csv"
    graph = mstflow.read(url)
    assert (graph.num_edges, graph.weight[:2].tolist()) == (9001, [3, 2])


@pytest.mark.parametrize(
    "url",
    [
        "zip://a.csv::file:///missing.zip",
        "tar://a::file:///etc/passwd",
        "github://a",
        "dir://x",
        "reference://x",
        "generic://x",
        "jlab://x",
        "data://x",
        "simplecache::",
        "simplecache::filecache::file:///missing",
    ],
)
def test_urls_that_cannot_be_opened_are_named(url):
    with pytest.raises(MstflowError, match=rf"^({re.escape(url)}|/missing)|: "):
        mstflow.read(url)


def test_hidden_names_in_a_folder_are_not_opened(tmp_path):
    (tmp_path / "a.csv").write_text("u,v,weight\n0,1,3\n")
    (tmp_path / ".hidden").symlink_to("missing")
    (tmp_path / "_temporary").symlink_to("missing")
    (tmp_path / ".folder").mkdir()
    (tmp_path / ".folder" / "b.csv").symlink_to("missing")
    assert mstflow.read(tmp_path).num_edges == 1


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_cannot_be_read_in_a_folder_is_named(tmp_path, kind):
    (tmp_path / "a.csv").write_text("u,v,weight\n0,1,3\n")
    path = tmp_path / "b.csv"
    path.symlink_to("missing") if kind == "link" else os.mkfifo(path)
    message = "No such file or directory" if kind == "link" else "cannot read from a pipe"
    with pytest.raises(FileFormatError, match=f"^{path}: {message}"):
        mstflow.read(tmp_path)


@pytest.mark.parametrize("maximum", [False, True])
@pytest.mark.parametrize("memory", [None, "1GB"])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "arrow"])
@pytest.mark.parametrize(
    "keys",
    [
        ["9007199254740993000", "9007199254740993001"],
        ["-9007199254740993000", "-9007199254740993001"],
        ["18446744073709551614", "18446744073709551615"],
        ["00009223372036854775806", "9223372036854775807"],
        ["1", "18446744073709551615"],
    ],
)
def test_large_integers_in_the_names_of_folders(keys, suffix, memory, maximum, tmp_path):
    for key in keys:
        written(tmp_path / f"key={key}/0.{suffix}", ENDS.slice(0, 1))
    assert sorted(mstflow.read(tmp_path, weight="key").weight.tolist()) == sorted(map(int, keys))
    options = {"weight": "key", "memory": memory, "maximum": maximum}
    forest = mstflow.minimum_spanning_forest(tmp_path, **options)
    assert forest.total_weight == (max if maximum else min)(map(int, keys))


@pytest.mark.parametrize(
    "keys",
    [["1e400", "5"], ["-1e999", "0.5"], ["9007199254740993", "0.5"], ["-1", str(2**63)],
     [str(2**64), "1"], ["9" * 200, "1"], ["9" * 200, "0.5"]],
)  # fmt: skip
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_numbers_in_the_names_of_folders_that_have_no_dtype(keys, suffix, tmp_path):
    for key in keys:
        written(tmp_path / f"key={key}/0.{suffix}", TABLE)
    with pytest.raises(GraphError, match="key' must hold numbers, not string"):
        mstflow.read(tmp_path, weight="key")
    assert mstflow.read(tmp_path).num_edges == 6  # the column is not used


@pytest.mark.parametrize("null", ["", NULL])
def test_a_name_without_a_value_in_the_names_of_folders(null, tmp_path):
    for name in (null, "a"):
        written(tmp_path / f"from={name}/0.csv", TABLE.select(["v", "weight"]))
    with pytest.raises(GraphError, match="edge 0: column 'from' has no value"):
        mstflow.read(tmp_path, ends=("from", "v"))


def linked(folder):
    """Make a folder of two files that links reach in many ways."""
    written(folder / "a/e.csv", TABLE.slice(0, 1))
    written(folder / "b/f.csv", TABLE.slice(1, 1))
    (folder / "a/0").symlink_to("..")
    (folder / "b/to_a").symlink_to("../a")
    (folder / "a/to_b").symlink_to("../b")
    (folder / "a/itself").symlink_to(".")
    (folder / "b/0.csv").symlink_to("f.csv")
    return folder


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("", ["a/e.csv", "b/f.csv"]),
        ("**", ["a/e.csv", "b/f.csv"]),
        ("**/*.csv", ["a/e.csv", "b/f.csv"]),
        ("**/**/?.csv", ["a/e.csv", "b/f.csv"]),
        ("*/*.csv", ["a/e.csv", "b/f.csv"]),
        ("*/*/*/*.csv", ["a/0/a/e.csv", "a/0/b/0.csv"]),
        ("a/**/e.csv", ["a/e.csv"]),
        ("b/*.csv", ["b/f.csv"]),
        ("b/[0-9].csv", ["b/0.csv"]),
    ],
)
def test_a_file_that_links_repeat_counts_once(pattern, files, tmp_path):
    folder = linked(tmp_path / "g")
    found = [part.place for part in expanded([place_of(f"{folder}/{pattern}")])]
    assert [str(path.relative_to(folder)) for path in found] == files


def test_a_link_to_a_folder_above_the_given_one(tmp_path):
    linked(tmp_path / "g")
    for pattern in ("g/a", "g/a/**/*.csv"):
        found = [part.place for part in expanded([place_of(f"{tmp_path}/{pattern}")])]
        assert sorted(path.resolve().name for path in found) == ["e.csv", "f.csv"]


def test_hard_links_are_files_of_their_own(tmp_path):
    written(tmp_path / "key=1/0.csv", ENDS)
    (tmp_path / "key=2").mkdir()
    (tmp_path / "key=2/0.csv").hardlink_to(tmp_path / "key=1/0.csv")
    assert mstflow.read(tmp_path, weight="key").weight.tolist() == [1] * 3 + [2] * 3


#: Runs `mstflow info` on several paths in one process.
INFO = (
    "import sys; from mstflow.__main__ import main; [main(['info', path]) for path in sys.argv[1:]]"
)


@pytest.mark.parametrize("fault", ["unreadable", "gone"])
def test_a_pattern_does_not_skip_folders(fault, tmp_path):
    patterns = [f"{tmp_path}/g/{end}" for end in ("**/*.csv", "*/*.csv", "*/x/*.csv", "**", "")]
    written(tmp_path / "g/p.csv")
    written(tmp_path / "g/s/x/q.csv")
    if fault == "gone":
        (tmp_path / "g/s").rename(tmp_path / "s")
        (tmp_path / "g/s").symlink_to("nothing")
    else:
        (tmp_path / "g/s/x").chmod(0)
        (tmp_path / "g/s").chmod(0)
    # The user root may read all folders, unless it drops this right.
    shield = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    call = [*shield, sys.executable, "-c", INFO, *patterns]
    try:
        found = subprocess.run(call, capture_output=True, text=True, check=False).stderr
    finally:
        if fault == "unreadable":
            (tmp_path / "g/s").chmod(0o700)
    reason = "Permission denied" if fault == "unreadable" else "No such file or directory"
    assert found.count(f"{tmp_path}/g/s: {reason}\n") == len(patterns)
