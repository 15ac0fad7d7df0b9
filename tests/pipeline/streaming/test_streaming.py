"""Streamed graphs with every source, strategy and scheduler, by `minimum_spanning_forest`."""

import importlib
import json
import linecache
import os
import subprocess
import sys
import types
from contextlib import nullcontext
from typing import Any

import dask
import numpy as np
import pandas
import pyarrow as pa
import pytest
from dask import dataframe
from pyarrow import parquet

import mstflow
from covering import covering
from graph_files import save_columns
from mstflow import EdgeList
from mstflow.doors.files import open_files
from mstflow.errors import FileFormatError, GraphError, MemoryBoundError, OptionError
from mstflow.graphs.segments import ArraySegment, Chunks
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.catalogue.strategies import variant
from mstflow.pipeline.schedulers.opening import open_scheduler
from mstflow.primitives.vocabulary import ArrayModule
from mstflow.stages.fields import Edges, Number
from processes import run_python
from scanning import scan
from strategy_names import BOUNDED, SINGLE
from waiting import wait_until

RANDOM = np.random.default_rng(8)
N, M = 2000, 30_000
U, V = RANDOM.integers(0, N, (2, M), dtype=np.int32)
W = RANDOM.integers(0, 50, M).astype(np.float32)
EXPECTED = mstflow.minimum_spanning_forest((U, V, W), num_vertices=N).edge_ids


def save(folder, u=U, v=V, w=W):
    return save_columns(folder, u, v, w, N)


@pytest.fixture
def folder(tmp_path):
    return save(tmp_path / "graph")


@pytest.fixture(name="parquet")
def written_parquet(tmp_path):
    parts = []
    for part, rows in enumerate((slice(0, 11_000), slice(11_000, M))):
        table = pa.table({"u": U[rows], "v": V[rows], "weight": W[rows]})
        parquet.write_table(table, tmp_path / f"{part}.parquet", row_group_size=4_000)
        parts.append(tmp_path / f"{part}.parquet")
    return parts


def chunks(size=7_000):
    for start in range(0, M, size):
        rows = slice(start, start + size)
        yield U[rows], V[rows], W[rows]


class Again:
    """An iterable that can be iterated again."""

    def __iter__(self):
        return chunks()


def sources(folder, parquet):
    return {
        "npy": folder,
        "parquet": parquet,
        "list": list(chunks()),
        "again": Again(),
        "edge lists": [mstflow.EdgeList(*chunk) for chunk in chunks()],
        "one delayed": dask.delayed((U, V, W)),
        "delayed": [dask.delayed(chunk, pure=False) for chunk in map(dask.delayed, chunks())],
        "arrays": (U, V, W),
    }


@pytest.mark.parametrize("strategy", [*BOUNDED, "sweep"])
def test_every_source(folder, parquet, strategy):
    for name, graph in sources(folder, parquet).items():
        partitions = 1 if strategy in SINGLE else 5
        forest = mstflow.minimum_spanning_forest(
            graph, num_vertices=N, strategy=strategy, partitions=partitions
        )
        assert np.array_equal(forest.edge_ids, EXPECTED), name
        assert np.array_equal(forest.weight, W[EXPECTED]), name
        assert np.array_equal(forest.u, U[EXPECTED]), name
        assert forest.strategy == variant(strategy).strategy


def check_scheduler(graph, strategy, scheduler):
    forest = mstflow.minimum_spanning_forest(
        graph, num_vertices=N, strategy=strategy, partitions=6, scheduler=scheduler
    )
    assert np.array_equal(forest.edge_ids, EXPECTED)


@pytest.mark.parametrize(
    ("name", "strategy", "scheduler"),
    covering(
        ["npy", "parquet", "delayed", "arrays"],
        [name for name in BOUNDED if name not in SINGLE],
        ["threads", "distributed"],
    ),
)
def test_every_scheduler(folder, parquet, name, strategy, scheduler, request):
    where = request.getfixturevalue("cluster") if scheduler == "distributed" else scheduler
    check_scheduler(sources(folder, parquet)[name], strategy, where)


def test_processes(parquet):
    """These processes take seconds to start; others are those of `test_every_scheduler`."""
    check_scheduler(parquet, "two-scan", "processes")


def test_columns_of_parquet_hold_numbers(parquet):
    pandas.DataFrame({"u": U, "v": V, "weight": W.astype(str)}).to_parquet(parquet[1])
    with pytest.raises(FileFormatError, match=r"1.parquet: column 'weight' must hold numbers"):
        mstflow.minimum_spanning_forest(parquet, memory="1GB")


@pytest.mark.parametrize("strategy", ["auto", "scan", "fold", "tree", "two-scan"])
def test_an_iterator_is_folded(strategy):
    forest = mstflow.minimum_spanning_forest(chunks(), num_vertices=N, strategy=strategy)
    assert np.array_equal(forest.edge_ids, EXPECTED)
    assert forest.strategy == "scan"
    assert np.array_equal(forest.v, V[EXPECTED])  # though it cannot be read again


def test_an_iterator_needs_one_scan():
    for options, message in (
        ({}, "needs num_vertices="),
        (
            {"num_vertices": N, "strategy": "iterate"},
            'can be read only once needs strategy="scan" with one partition',
        ),
        (
            {"num_vertices": N, "partitions": 2},
            'can be read only once needs strategy="scan" with one partition',
        ),
    ):
        with pytest.raises(ValueError, match=message):
            mstflow.minimum_spanning_forest(chunks(), **options)
    kruskal = mstflow.algorithm("kruskal")
    with pytest.raises(ValueError, match="read only once gives only the field 'forest'; pass its"):
        kruskal.run(chunks(), num_vertices=N, result="color", scheduler="threads")


@pytest.mark.parametrize("scheduler", ["inline", "threads"])
def test_an_iterator_that_fails_is_an_error(scheduler):
    def broken():
        yield next(chunks())
        raise OSError("connection lost")

    with pytest.raises(GraphError, match="chunk 1: OSError: connection lost") as caught:
        mstflow.minimum_spanning_forest(broken(), num_vertices=N, scheduler=scheduler)
    assert isinstance(caught.value.__cause__, OSError)


def test_ids_may_start_anywhere():
    source = EdgeSource((Chunks(Again()),), N, first_id=2**40)
    for strategy in ("fold", "two-scan", "iterate"):
        forest = mstflow.minimum_spanning_forest(source, strategy=strategy)
        assert np.array_equal(forest.edge_ids, EXPECTED + 2**40)
        mstflow.verify(source, forest)


def test_dask_dataframes_and_names():
    table = pandas.DataFrame({"source": U, "target": V, "length": W})
    frame = dataframe.from_pandas(table, npartitions=4)
    forest = mstflow.minimum_spanning_forest(frame, weight="length", strategy="two-scan")
    assert np.array_equal(forest.edge_ids, EXPECTED)
    parts = [frame.partitions[place] for place in range(4)]
    forest = mstflow.minimum_spanning_forest(parts, weight="length", num_vertices=N)
    assert np.array_equal(forest.edge_ids, EXPECTED)
    assert mstflow.minimum_spanning_forest(frame, weight=None).weight.dtype == np.int64


def test_memory_bounds_are_sufficient_or_refused(folder):
    with pytest.raises(MemoryBoundError, match="too small; it must be at least") as refusal:
        mstflow.minimum_spanning_forest(folder, memory="3MB")
    needed = refusal.value.needed
    with pytest.raises(MemoryBoundError):
        mstflow.minimum_spanning_forest(folder, memory=needed - 1)
    forest = mstflow.minimum_spanning_forest(folder, memory=needed)
    assert np.array_equal(forest.edge_ids, EXPECTED)
    assert forest.strategy == "scan"
    assert "memory is bounded" in str(forest.report)


@pytest.mark.parametrize("scheduler", ["inline", "threads", "distributed"])
def test_rounds_in_little_memory_run_over_forests(folder, scheduler, request):
    source = open_files([folder]).with_sizes()
    options = {"capacity": 2 * N, "can_rescan": False, "strategy": "iterate"}
    where = request.getfixturevalue("cluster") if scheduler == "distributed" else scheduler
    with open_scheduler(where, None) if scheduler != "inline" else nullcontext() as opened:
        for partitions in (1, 3, 20):
            cuts = [M * place // partitions for place in range(1, partitions)]
            found, report = scan(source, cuts, scheduler=opened, **options)
            assert np.array_equal(found, EXPECTED)
            assert report.final["num_edges"] < min(M, partitions * N)


@pytest.mark.parametrize("strategy", BOUNDED)
def test_invalid_files(tmp_path, folder, strategy):
    def solve(path):
        mstflow.minimum_spanning_forest(path, strategy=strategy)

    w = W.copy()
    w[23_456] = np.nan
    with pytest.raises(GraphError, match="edge 23456: the weight is NaN"):
        solve(save(tmp_path / "nan", w=w))
    v = V.copy()
    v[23_456] = N
    with pytest.raises(GraphError, match=f"edge 23456: joins .* and {N}, but there are {N}"):
        solve(save(tmp_path / "far", v=v))
    with pytest.raises(FileFormatError, match=r"real/u.npy: must hold integers, not float32"):
        solve(save(tmp_path / "real", u=W))
    with pytest.raises(FileFormatError, match=r"text/w.npy: must hold numbers, not <U"):
        solve(save(tmp_path / "text", w=W.astype(str)))
    with pytest.raises(FileFormatError, match="columns differ in length"):
        solve(save(tmp_path / "short", v=V[:-1]))
    os.truncate(folder / "v.npy", (folder / "v.npy").stat().st_size - 4)
    with pytest.raises(FileFormatError, match=r"v.npy: has 120,124 bytes, expected 120,128 for"):
        solve(folder)


@pytest.mark.parametrize("harm", ["cut", "gone"])
def test_files_that_change_while_they_are_read(folder, harm):
    opened = open_files([folder])
    file = folder / "v.npy"
    if harm == "gone":
        file.unlink()
    else:
        os.truncate(file, file.stat().st_size // 2)
    message = "No such file" if harm == "gone" else "v.npy changed while it was being read: it had"
    with pytest.raises(FileFormatError, match=message):
        mstflow.minimum_spanning_forest(opened)


@pytest.mark.parametrize("dtype", ["float32", "float64"])  # which equals None, says NumPy
@pytest.mark.parametrize("again", [list, iter])
def test_weights_of_two_dtypes_are_errors(dtype, again):
    mixed = [(U[:10], V[:10], W[:10].astype(dtype)), (U[10:], V[10:], W[10:].astype(np.int64))]
    with pytest.raises(GraphError, match=f"edge 10: weights are int64 from here on and {dtype}"):
        mstflow.minimum_spanning_forest(again(mixed), num_vertices=N, strategy="fold")


def test_only_the_first_scan_checks_files(folder, parquet):
    for paths in ([folder], parquet):
        assert open_files(paths).after_scan().is_checked
    chunks = EdgeSource((Chunks([(np.zeros(3, int), np.ones(3, int))]),), 2)
    assert not chunks.after_scan().is_checked


def test_the_first_scan_checks_all_edges(tmp_path):
    """Later scans do not, although the first one has soon found edges of the least weight."""
    u, v, w = np.zeros(60_000, int), np.ones(60_000, int), np.zeros(60_000, np.uint8)
    v[-1] = N  # not in the sample of the weights
    with pytest.raises(FileFormatError, match=f"edge 59999: joins 0 and {N}"):
        scan(open_files([save(tmp_path / "g", u, v, w)]), capacity=400, can_rescan=True)


def test_weights_in_foreign_byte_order(tmp_path):
    folder = save(tmp_path / "swapped", U.astype(">i4"), V.astype(">i4"), W.astype(">f4"))
    for options in ({"memory": "1GB"}, {"partitions": 3}, {}):
        forest = mstflow.minimum_spanning_forest(folder, **options)
        assert np.array_equal(forest.edge_ids, EXPECTED)
    mstflow.verify(folder, forest)


@pytest.mark.parametrize("options", [{}, {"strategy": "fold"}, {"memory": "1GB"}])
def test_chunks_without_edges(options, tmp_path):
    none = np.empty(0, int)
    found = mstflow.minimum_spanning_forest([(none, none, none)], num_vertices=3, **options)
    assert (len(found.edge_ids), found.num_components) == (0, 3)
    (tmp_path / "none.gr").write_text("p sp 5 0\n")
    (tmp_path / "two.txt").write_text("0 1 3\n1 2 1\n")
    files = [tmp_path / name for name in ("none.gr", "two.txt", "none.gr")]
    assert mstflow.minimum_spanning_forest(files, **options).edge_ids.tolist() == [0, 1]
    assert mstflow.minimum_spanning_forest(files[0], **options).num_components == 5
    (tmp_path / "none").mkdir()
    for name in "uv":
        np.save(tmp_path / "none" / f"{name}.npy", [])  # float64, says NumPy
    assert len(mstflow.minimum_spanning_forest(tmp_path / "none", **options).edge_ids) == 0


@pytest.mark.parametrize(
    ("chunk", "message"),
    [
        ((U, V, np.ma.array(W, mask=W > 3)), "chunk 0: weight must not be a masked array"),
        (([0, 0], [1, 1], [2**53 + 1, 0.5]), "chunk 0: edge 0: weight is 9007199254740993, which"),
        ((U[:2], V[:3]), "chunk 0: columns must have one length, found lengths 2, 3"),
        ("graph.csv", "chunk 0: expected columns, found a path"),
        (3, "chunk 0: expected a graph: an EdgeList"),
    ],
)
def test_invalid_chunks(chunk, message):
    with pytest.raises(GraphError, match=message):
        mstflow.minimum_spanning_forest(iter([chunk]), num_vertices=N)


def test_chunks_of_columns_have_no_names():
    with pytest.raises(OptionError, match="chunk 0 has no weights called 'length'"):
        mstflow.minimum_spanning_forest(chunks(), num_vertices=N, weight="length")


def test_isolated_vertices_are_kept(tmp_path):
    edge = EdgeList([0], [1], [1.0], num_vertices=10)
    for chunks in ([edge, edge], [dask.delayed(edge)] * 2):
        assert mstflow.minimum_spanning_forest(chunks).num_vertices == 10
    assert mstflow.minimum_spanning_forest([edge, ([3], [12], [1.0])]).num_vertices == 13
    paths = [tmp_path / "stated.parquet", tmp_path / "unstated.parquet"]
    table = pa.table({"u": [0], "v": [1]}, metadata={"num_vertices": "100"})
    parquet.write_table(table, paths[0])
    parquet.write_table(pa.table({"u": [0], "v": [2]}), paths[1])
    for options in ({}, {"strategy": "fold"}, {"memory": "1GB"}):
        assert mstflow.minimum_spanning_forest(paths, **options).num_vertices == 100
    parquet.write_table(pa.table({"u": [0], "v": [200]}), paths[1])
    for options in ({}, {"strategy": "fold"}):
        assert mstflow.minimum_spanning_forest(paths, **options).num_vertices == 201


@pytest.mark.parametrize("again", [list, iter])
def test_num_vertices_can_be_any_integer_type(again):
    chunk = U, V, W
    forest = mstflow.minimum_spanning_forest(again([chunk]), num_vertices=np.int64(N))
    assert np.array_equal(forest.edge_ids, EXPECTED)
    for wrong in ("5", 5.0, True, -1):
        with pytest.raises(GraphError, match="num_vertices must be an integer"):
            mstflow.minimum_spanning_forest(again([chunk]), num_vertices=wrong)


def test_no_more_partitions_than_edges():
    forest = mstflow.minimum_spanning_forest(([0, 1], [1, 2]), strategy="tree", partitions=10**20)
    assert (forest.partitions, forest.edge_ids.tolist()) == (2, [0, 1])


def test_an_iterator_cannot_be_sent_to_processes():
    with pytest.raises(OptionError, match="can be read only once cannot be sent to tasks of 'proc"):
        mstflow.minimum_spanning_forest(chunks(), num_vertices=N, scheduler="processes")
    with pytest.raises(GraphError, match="reads the graph several times"):
        mstflow.verify(chunks(), EXPECTED, num_vertices=N)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_checkpoint_belongs_to_its_weights(suffix, tmp_path):
    table = pandas.DataFrame({"u": U, "v": V, "length": W, "width": -W})
    getattr(table, f"to_{suffix[1:]}")(path := tmp_path / f"graph{suffix}", index=False)
    options = {"memory": "1GB", "checkpoint": tmp_path / "kept"}
    mstflow.minimum_spanning_forest(path, weight="length", **options)
    with pytest.raises(OptionError, match="of another run: input differ"):
        mstflow.minimum_spanning_forest(path, weight="width", **options)


def test_checkpoints_belong_to_one_input_and_choice(tmp_path, folder):
    kept = tmp_path / "kept"
    options = {"partitions": 4, "strategy": "tree", "checkpoint": kept}
    first = mstflow.minimum_spanning_forest(folder, **options)
    again = mstflow.minimum_spanning_forest(folder, **options)
    assert np.array_equal(first.edge_ids, EXPECTED)
    assert np.array_equal(again.edge_ids, EXPECTED)
    with pytest.raises(OptionError, match="of another run: partitions differ"):
        mstflow.minimum_spanning_forest(folder, **{**options, "partitions": 3})
    with pytest.raises(OptionError, match="of another run: split_every differ"):
        mstflow.minimum_spanning_forest(folder, split_every=2, **options)
    with pytest.raises(OptionError, match="of another run: maximum differ"):
        mstflow.minimum_spanning_forest(folder, maximum=True, **options)
    np.save(folder / "w.npy", W[::-1])
    with pytest.raises(OptionError, match="of another run: input differ"):
        mstflow.minimum_spanning_forest(folder, **options)
    with pytest.raises(OptionError, match="the folder is not empty, and is not a checkpoint"):
        mstflow.minimum_spanning_forest(folder, **{**options, "checkpoint": folder})
    with pytest.raises(OptionError, match="does not exist"):
        mstflow.minimum_spanning_forest(folder, **{**options, "checkpoint": kept / "a" / "b"})
    (kept / "identity.json").write_text("null")
    with pytest.raises(OptionError, match="cannot create a checkpoint"):
        mstflow.minimum_spanning_forest(folder, **options)
    with pytest.raises(GraphError, match="a checkpoint needs a graph that can be read again"):
        mstflow.minimum_spanning_forest(chunks(), num_vertices=N, checkpoint=tmp_path / "c")


def test_a_checkpoint_notices_a_file_written_in_place(tmp_path):
    weight = np.random.default_rng(3).random(400_000)
    folder = save(
        tmp_path / "large", *np.random.default_rng(3).integers(0, N, (2, 400_000)), weight
    )
    options = {"strategy": "tree", "checkpoint": tmp_path / "kept"}
    mstflow.minimum_spanning_forest(folder, **options)
    before = os.stat(folder / "w.npy")
    np.load(folder / "w.npy", mmap_mode="r+")[5000:6000] = -1
    os.utime(folder / "w.npy", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(OptionError, match="of another run: input differ"):
        mstflow.minimum_spanning_forest(folder, **options)


@pytest.mark.parametrize(
    ("kind", "scheduler"),
    [("list", "inline"), ("iterable", "threads"), ("delayed", "threads"), ("delayed", "cluster")],
)
def test_a_checkpoint_depends_on_its_chunks(kind, scheduler, tmp_path, request):
    where = request.getfixturevalue("cluster") if scheduler == "cluster" else scheduler

    def graph(weights):
        parts = [(U[:7000], V[:7000], weights[:7000]), (U[7000:], V[7000:], weights[7000:])]
        return {
            "list": parts,
            "iterable": type("Parts", (), {"__iter__": lambda _: iter(parts)})(),
            "delayed": [dask.delayed(part, pure=False) for part in parts],
        }[kind]

    options = {"strategy": "tree", "checkpoint": tmp_path / "kept", "scheduler": where}
    for _ in range(2):
        forest = mstflow.minimum_spanning_forest(graph(W), num_vertices=N, **options)
        assert np.array_equal(forest.edge_ids, EXPECTED)
    changed = W.copy()
    changed[5000] -= 1
    with pytest.raises(OptionError, match="of another run: input differ"):
        mstflow.minimum_spanning_forest(graph(changed), num_vertices=N, **options)


def test_a_checkpoint_belongs_to_the_modules_that_a_stage_uses(tmp_path, folder, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    compiled = types.ModuleType("compiled")  # it has no source
    compiled.__file__ = str(tmp_path / "site-packages" / "compiled.so")  # of the user
    monkeypatch.setitem(sys.modules, "compiled", compiled)
    (tmp_path / "capping_stage.py").write_text(
        "import mstflow, capping_helper, compiled\nfrom mstflow.stages.fields import Edges\n"
        "@mstflow.stage(writes='edges')\n"
        "def cap(ops, edges: Edges, weight_order) -> Edges:\n"
        "    kept = weight_order.within(edges.key, capping_helper.limit())\n"
        "    return Edges(*ops.compact(kept, *edges))\n"
    )
    options = {"strategy": "fold", "checkpoint": tmp_path / "kept"}
    for limit in (3, 3, 40):
        (tmp_path / "capping_helper.py").write_text(f"def limit():\n    return {limit}\n")
        for name in ("capping_stage", "capping_helper"):
            sys.modules.pop(name, None)
        linecache.clearcache()
        importlib.invalidate_caches()
        cap = importlib.import_module("capping_stage").cap
        algorithm = mstflow.algorithm("kruskal").insert_before("concatenate_edges", cap)
        if limit == 3:
            mstflow.minimum_spanning_forest(folder, algorithm=algorithm, **options)
    with pytest.raises(OptionError, match="of another run: pipeline differ"):
        mstflow.minimum_spanning_forest(folder, algorithm=algorithm, **options)


@mstflow.stage(writes="edges")
def drop_heavy_edges(ops: ArrayModule, edges: Edges, limit: Number, weight_order: Any) -> Edges:
    return Edges(*ops.compact(weight_order.within(edges.key, limit), *edges))


def test_a_checkpoint_belongs_to_its_pipeline_and_values(tmp_path, folder):
    capped = mstflow.algorithm("boruvka-edgelist").insert_before("drop_loops", drop_heavy_edges)
    expected = {limit: len(solve_up_to(limit)) for limit in (3, 7.5)}
    assert len(set(expected.values())) == 2
    options = {"strategy": "tree", "partitions": 4}
    for limit, count in expected.items():
        own = {**options, "checkpoint": tmp_path / f"kept{limit}"}
        for _ in range(2):  # the second takes up what the first one left
            forest = mstflow.minimum_spanning_forest(
                folder, algorithm=capped.given(limit=limit), **own
            )
            assert len(forest.edge_ids) == count
    for algorithm in (capped.given(limit=7.5), capped.given(limit=3).remove("count_edges"), "auto"):
        with pytest.raises(OptionError, match="of another run: pipeline differ"):
            mstflow.minimum_spanning_forest(
                folder, algorithm=algorithm, **options, checkpoint=tmp_path / "kept3"
            )


def solve_up_to(limit):
    kept = np.flatnonzero(limit >= W)
    return mstflow.minimum_spanning_forest((U[kept], V[kept], W[kept]), num_vertices=N).edge_ids


def test_a_checkpoint_removes_no_file_of_others(tmp_path, folder):
    drafts = [tmp_path / name for name in ("chapter.draft", f"level1-0-{'0' * 32}.draft")]
    for draft in drafts:
        draft.write_text("mine")
    with pytest.raises(OptionError, match="the folder is not empty, and is not a checkpoint"):
        mstflow.minimum_spanning_forest(folder, strategy="tree", checkpoint=tmp_path)
    assert [draft.read_text() for draft in drafts] == ["mine", "mine"]


def test_drafts_of_a_killed_run_are_removed(tmp_path, folder):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "identity.json.draft").write_text("{")
    mstflow.minimum_spanning_forest(folder, strategy="tree", checkpoint=kept)
    draft = kept / f"level1-0-{'0' * 32}.draft"
    draft.write_text("")
    mstflow.minimum_spanning_forest(folder, strategy="tree", checkpoint=kept)
    assert not list(kept.glob("*.draft"))


def kill_after_a_record(command, kept):
    """Start a process, and kill it when it has added a record to a checkpoint, or has ended."""
    before, process = set(kept.glob("*.npz")), subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_until(lambda: process.poll() is not None or set(kept.glob("*.npz")) - before)
    process.kill()
    process.wait()


def test_a_killed_command_resumes(tmp_path, folder):
    command = ["-m", "mstflow", "solve", str(folder), "--json", "--checkpoint"]
    command += [str(tmp_path / "kept"), "--strategy", "two-scan", "--partitions", "40"]
    for _ in range(3):
        kill_after_a_record([sys.executable, *command], tmp_path / "kept")
    done = run_python(*command, "-o", tmp_path / "forest.npz")
    assert json.loads(done.stdout)["strategy"] == "scan", done.stderr
    assert np.array_equal(np.load(tmp_path / "forest.npz")["edge_id"], EXPECTED)
    assert not list(tmp_path.glob("kept/*.draft"))


def test_text_files_are_streamed_if_memory_is_bounded(tmp_path):
    paths = []
    for part, (u, v, w) in enumerate(chunks()):
        paths.append(tmp_path / f"{part}.gr")
        lines = [f"a {a + 1} {b + 1} {c:g}\n" for a, b, c in zip(u, v, w, strict=True)]
        paths[-1].write_text(f"p sp {N + part} {len(u)}\n" + "".join(lines))
    forest = mstflow.minimum_spanning_forest(paths, memory="1GB")
    assert np.array_equal(forest.edge_ids, EXPECTED)
    assert forest.num_vertices == N + len(paths) - 1  # as the files say
    with pytest.raises(MemoryBoundError):
        mstflow.minimum_spanning_forest(paths, memory="30MB")


@pytest.mark.parametrize("strategy", BOUNDED)
def test_two_dtypes_of_weights_are_errors_in_any_selection(strategy):
    """Keys of two dtypes cannot be compared; lighter edges would be skipped silently."""
    random = np.random.default_rng(4)
    u, v = random.integers(0, 50, (2, 4000))
    w = random.permutation(4000)
    segments = ArraySegment(u, v, (w + 1e6).astype(np.float32)), ArraySegment(u, v, w)
    source = EdgeSource(segments, 50)
    with pytest.raises(GraphError, match="edge 4000: weights are int64 from here on and float32"):
        mstflow.minimum_spanning_forest(source, strategy=strategy)


@pytest.mark.parametrize("strategy", BOUNDED)
def test_ids_of_two_dtypes_remain_integers(strategy):
    half = M // 2
    segments = (
        ArraySegment(U[:half].astype(np.int64), V[:half].astype(np.uint16), W[:half]),
        ArraySegment(U[half:].astype(np.uint64), V[half:].astype(np.int8) & 127, W[half:]),
    )
    v = np.concatenate([V[:half], V[half:].astype(np.int8) & 127])
    expected = mstflow.minimum_spanning_forest((U, v, W), num_vertices=N)
    forest = mstflow.minimum_spanning_forest(EdgeSource(segments, N), strategy=strategy)
    assert np.array_equal(forest.edge_ids, expected.edge_ids)
    assert forest.u.dtype.kind in "iu"
    assert np.array_equal(forest.u, expected.u)
