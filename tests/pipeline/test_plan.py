"""Plans: a solve follows the plan that `mstflow plan` prints for the same options."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather

import mstflow
from covering import covering
from graph_files import save_columns
from mstflow import Pipeline
from mstflow.__main__ import main
from mstflow.commands import plan as command
from mstflow.commands.shared import terminal
from mstflow.doors.files import open_files
from mstflow.doors.write import write_graph
from mstflow.errors import MemoryBoundError, OptionError
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.catalogue.names import request_for
from mstflow.pipeline.planning.plan import plan
from mstflow.pipeline.planning.situation import Situation
from mstflow.pipeline.request import Request
from mstflow.pipeline.schedulers.scheduler import Workers
from mstflow.pipeline.streaming.buffer import EdgeBuffer
from mstflow.pipeline.streaming.facts import GraphFacts
from mstflow.pipeline.streaming.solver import Solver
from mstflow.primitives import Backend
from mstflow.primitives.vocabulary import ArrayModule
from mstflow.runtime.host import show_bytes
from mstflow.runtime.sizes import tuned
from mstflow.stages.fields import Chosen, Count
from strategy_names import BOUNDED, SINGLE

SEVERAL = [name for name in BOUNDED if name not in SINGLE]
CASES = [
    *covering(["auto", *SEVERAL], ["inline", "threads"], [None, 1, 8]),
    *covering([name for name in BOUNDED if name in SINGLE], ["inline", "threads"], [None, 1]),
    ("two-scan", "processes", 8),
    ("sweep", "inline", None),
]

#: Kernels are loaded after a number of calls, which earlier tests may have nearly reached.
WITHOUT_KERNELS = tuned(
    kernels_used_from=2**40, kernels_loaded_from=2**40, kernels_compiled_from=2**40
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    columns = np.random.default_rng(4).integers(0, 900, (3, 20_000)).astype(np.int32)
    return save_columns(tmp_path_factory.mktemp("graph"), *columns)


def set_held_bytes(monkeypatch, count):
    """Let commands find that this process holds this number of bytes."""
    for module in (command, terminal):
        monkeypatch.setattr(module, "rss_bytes", lambda: count)


@pytest.mark.parametrize(("strategy", "scheduler", "partitions"), CASES)
@WITHOUT_KERNELS
def test_plan_and_solve_agree(folder, strategy, scheduler, partitions, monkeypatch, capsys):
    set_held_bytes(monkeypatch, 0)
    options = ["--strategy", strategy, "--scheduler", scheduler, "--threads", "2"]
    options += [] if partitions is None else ["--partitions", str(partitions)]

    def planned(memory):
        assert main(["plan", str(folder), *options, "--json", "--memory", str(memory)]) == 0
        return json.loads(capsys.readouterr().out)

    def solve(memory):
        return mstflow.minimum_spanning_forest(
            folder,
            strategy=strategy,
            scheduler=scheduler,
            threads=2,
            partitions=partitions,
            memory=memory,
        )

    found = planned("10GB")
    with pytest.raises(MemoryBoundError) as refusal:
        solve(found["least"] - 1)
    assert refusal.value.needed == found["least"]
    assert main(["plan", str(folder), *options, "--memory", str(found["least"] - 1)]) == 2
    capsys.readouterr()
    tight = planned(found["least"])
    assert tight["peak"] == tight["least"] == found["least"] <= found["peak"]
    if scheduler != "processes":  # which takes seconds to start
        done = solve(found["least"]).report.plan
        facts = (done.strategy, done.partitions, done.memory, done.reason)
        assert facts == tuple(tight[name] for name in ("strategy", "partitions", "peak", "reason"))


@WITHOUT_KERNELS
def test_the_memory_of_every_process_counts(folder, monkeypatch, capsys):
    set_held_bytes(monkeypatch, 0)

    def least(scheduler, threads):
        options = ["--scheduler", scheduler, "--threads", str(threads), "--partitions", "1"]
        assert main(["plan", str(folder), *options, "--memory", "10GB", "--json"]) == 0
        return json.loads(capsys.readouterr().out)["least"]

    assert least("processes", 3) == 3 * least("processes", 1)
    assert least("threads", 3) == least("threads", 1) > least("inline", 1)


FORMATS = ["npz", "parquet", "arrow", "csv", "txt", "gr", "mtx", "bin", "folder"]


@pytest.mark.parametrize("end", FORMATS)
@WITHOUT_KERNELS
def test_the_least_memory_of_a_plan_is_enough(end, folder, tmp_path, monkeypatch, capsys):
    columns = [np.load(folder / f"{name}.npy") for name in "uvw"]
    path = tmp_path / "graph" if end == "folder" else tmp_path / f"graph.{end}"
    if end == "bin":
        np.arange(1, 60_001, dtype="<i4").tofile(path)
    elif end == "arrow":
        feather.write_feather(pa.table(columns, ["u", "v", "weight"]), path)
    elif end == "txt":
        np.savetxt(path, np.stack(columns, axis=1), "%d")
    else:
        write_graph(path, EdgeSource.of(mstflow.EdgeList(*columns)))
    set_held_bytes(monkeypatch, 0)
    assert main(["plan", str(path), "--memory", "10GB", "--json"]) == 0
    least = json.loads(capsys.readouterr().out)["least"]
    assert main(["solve", str(path), "--memory", str(least), "--json"]) == 0
    assert main(["solve", str(path), "--memory", str(least * 99 // 100)]) == 2
    _, error = capsys.readouterr()
    assert f"it must be at least {show_bytes(least)}" in error or "and maybe more" in error


@pytest.mark.parametrize("options", [[], ["--strategy", "whole"], ["--scheduler", "threads"]])
@WITHOUT_KERNELS
def test_plan_and_solve_load_the_same_graphs(options, folder, capsys):
    facts = []
    for name in ("plan", "solve"):
        assert main([name, str(folder), "--json", *options]) == 0
        facts.append(json.loads(capsys.readouterr().out))
    for name in ("strategy", "partitions", "algorithm", "backend", "scheduler"):
        assert facts[0][name] == facts[1][name]


@WITHOUT_KERNELS
def test_plans_of_graphs_with_names(tmp_path, monkeypatch, capsys):
    """The process holds the numbered graph before a solve begins."""
    path, ends = tmp_path / "pairs.csv", ("left", "right")
    path.write_text("left,right,weight\na,b,3\nb,c,1\na,c,2\n")
    set_held_bytes(monkeypatch, 10**9)
    assert main(["plan", str(path), "--ends", *ends, "--json", "--memory", "10GB"]) == 0
    least = json.loads(capsys.readouterr().out)["least"] - terminal.with_slack(10**9)
    graph = mstflow.read(path, ends=ends)
    done = mstflow.minimum_spanning_forest(graph, memory=least)
    assert done.report.plan.least_memory == least
    message = "^memory=.* is too small; .* vertices, including .* of the numbered graph"
    with pytest.raises(MemoryBoundError, match=message) as refusal:
        mstflow.minimum_spanning_forest(path, ends=ends, memory=least + graph.nbytes - 1)
    assert refusal.value.needed == least + graph.nbytes
    mstflow.minimum_spanning_forest(path, ends=ends, memory=least + graph.nbytes)


@pytest.mark.parametrize("threads", [None, 3])
@WITHOUT_KERNELS
def test_threads_count_for_each_task_on_a_cluster(folder, cluster, threads, monkeypatch, capsys):
    set_held_bytes(monkeypatch, 0)
    options = ["--scheduler", "tcp://host:8786", "--workers", "2", "--memory", "10GB"]
    options += [] if threads is None else ["--threads", str(threads)]
    assert main(["plan", str(folder), *options, "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert main(["plan", str(folder), *options]) == 0
    line = f"least memory  {show_bytes(planned['least'])} for each task (the smallest --memory)"
    assert line in capsys.readouterr().out.splitlines()

    @mstflow.stage(writes=("forest", "used"))
    def count_threads(ops: ArrayModule) -> tuple[Chosen, Count]:
        return ops.empty(0, "i8"), ops._team.size

    use = {"scheduler": cluster, "threads": threads, "memory": "10GB"}
    done = mstflow.minimum_spanning_forest(folder, **use).report.plan
    assert (done.memory, done.least_memory) == (planned["peak"], planned["least"])
    use = {"scheduler": cluster, "threads": threads, "backend": "numba"}
    fields, _ = Pipeline("threads", count_threads).run(folder, result=("forest", "used"), **use)
    assert fields["used"] == planned["threads"] == (threads or 1)


def test_workers_memory_reduces_graphs_that_do_not_fit():
    graph = GraphFacts(10**6, 10**9)
    roomy = Workers("distributed", 4, 1, is_cluster=True, eager=False, worker_memory=4 * 10**12)
    tight = replace(roomy, worker_memory=4 * 10**9)
    kruskal = mstflow.algorithm("kruskal")

    def reduces_first(workers, pipeline=kruskal, **options):
        options = {"strategy": "iterate", "partitions": 4, **options}
        request = Request(pipeline=pipeline, **options)
        return plan(Situation(request, graph, workers, "numpy")).holds_forests

    assert not reduces_first(roomy)
    assert reduces_first(tight)
    # Something other than a forest must not be taken from forests.
    assert not reduces_first(tight, is_custom=True)
    assert not reduces_first(tight, Pipeline("p", result=("num_edges",)))


@pytest.mark.parametrize(
    ("vertices", "edges", "options", "strategy"),
    [
        (2**23, 2**27, {}, "iterate"),
        (2**23, 2**24, {}, "whole"),  # all edges would be sent to one worker
        (2**10, 2**14, {}, "whole"),  # tasks would take longer
        (2**23, 2**24, {"partitions": 2}, "iterate"),
        (2**29, 2**30, {}, "iterate"),  # one worker cannot hold it
    ],
)
def test_one_worker_solves_a_graph_that_others_would_not_solve_faster(
    vertices, edges, options, strategy
):
    workers = Workers("distributed", 4, 1, is_cluster=True, eager=False, worker_memory=10**11)
    request = request_for(**options)
    found = plan(Situation(request, GraphFacts(vertices, edges), workers, "numba"))
    assert (found.strategy, found.partitions > 1) == (strategy, strategy == "iterate")


@pytest.mark.parametrize(("free", "strategy"), [(10**10, "whole"), (10**10 - 1, "scan")])
def test_a_graph_larger_than_the_memory_of_a_device_is_scanned(free, strategy):
    graph = GraphFacts(10**7, 10**8, is_in_memory=True)
    found = plan(Situation(request_for(), graph, Workers(), "cupy", free, 10**10))
    assert found.strategy == strategy
    assert ("larger than the device's memory" in found.reason) == (strategy == "scan")
    assert strategy == "whole" or found.memory <= free


def test_a_strategy_that_merges_forests_gives_nothing_else(folder):
    pipeline = mstflow.algorithm("boruvka-edgelist")
    with pytest.raises(OptionError, match="'scan' gives only the field 'forest'; choose whole or"):
        pipeline.run(folder, result=("edges", "forest"), strategy="tree")
    fields, report = pipeline.run(folder, result=("edges", "forest"), partitions=3)
    assert report.plan.strategy == "iterate"
    assert len(fields["edges"].u) == 0
    assert np.array_equal(fields["forest"], mstflow.minimum_spanning_forest(folder).edge_ids)


def test_tiles_give_nothing_but_the_forest():
    """Other fields would be wrong: `num_vertices` would be the number of fragments."""
    pipeline, grid = mstflow.algorithm("kruskal"), mstflow.grid(np.eye(9))
    with pytest.raises(OptionError, match="'tiles' gives only the field 'forest'"):
        pipeline.run(grid, result="num_vertices", strategy="tiles")
    assert pipeline.run(grid, result="num_vertices").fields == {"num_vertices": 81}


def test_sizes_of_files_are_enough_for_a_plan(folder):
    graph = GraphFacts.of(open_files([folder]).with_sizes())
    found = plan(Situation(request_for(), graph, Workers(), "numpy"))
    assert (found.strategy, found.partitions) == ("scan", 1)
    assert (found.algorithm, found.backend, found.scheduler) == (
        "filter-kruskal",
        "numpy",
        "inline",
    )
    assert found.estimate.scans == 2
    assert "scan: the graph is streamed" in str(found)


@pytest.mark.parametrize("end", ["csv", "parquet", "arrow", "folder"])
def test_an_estimate_states_the_bytes_of_the_files(end, tmp_path):
    u, v = np.random.default_rng(5).integers(0, 2**62, (2, 20_000)) % 900
    path = tmp_path / "graph" if end == "folder" else tmp_path / f"graph.{end}"
    if end == "arrow":
        columns = [u, v, np.sqrt(u), np.ones(len(u))]
        feather.write_feather(pa.table(columns, ["u", "v", "weight", "x"]), path, "uncompressed")
    else:
        write_graph(path, EdgeSource.of(mstflow.EdgeList(u, v, np.sqrt(u))))
    files = path.glob("*.npy") if end == "folder" else [path]
    size = sum(file.stat().st_size for file in files) * (3 / 4 if end == "arrow" else 1)
    graph = GraphFacts.of(open_files([path], is_bounded=True).with_sizes())
    estimate = plan(Situation(request_for(), graph, Workers(), "numpy")).estimate
    assert estimate.read == pytest.approx(estimate.scans * size, rel=0.05)


def test_formats_that_take_longer_to_read():
    def seconds(name):
        graph = GraphFacts(10**6, 10**8, format_name=name)
        return plan(Situation(request_for(), graph, Workers(), "numba")).estimate.seconds

    assert seconds("npy") < seconds("parquet") < seconds("csv") / 2


@pytest.mark.parametrize("num_vertices", [10, 2**33])
@pytest.mark.parametrize("weight", ["u1", "f4", "f8"])
def test_bytes_of_a_held_edge(num_vertices, weight):
    solver, dtype = Solver(mstflow.algorithm("kruskal"), Backend("numpy"), False), np.dtype(weight)
    buffer = EdgeBuffer(solver, num_vertices, 8, dtype, folds=True, drops=False)
    held = sum(column.itemsize for column in buffer.columns)
    assert GraphFacts(num_vertices, 9, dtype.itemsize).edge_bytes == held
