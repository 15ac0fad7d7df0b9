"""Whole runs on CuPy, whose kernels are interpreted: see `tests/support/interpreted_gpu.py`."""

import re
import sys
import types
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interpreted_gpu
import mstflow
from entry_points import forget_plugins, register
from graph_strategies import edge_lists, union_of_many
from local_clusters import workers_with_backends
from mstflow import EdgeList, primitives
from mstflow.__main__ import main
from mstflow.errors import (
    GraphError,
    KernelError,
    MemoryBoundError,
    MstflowError,
    OptionError,
    OutOfMemoryError,
    PipelineError,
)
from mstflow.graphs.source import EdgeSource
from mstflow.pipeline.streaming.facts import device_bytes
from mstflow.primitives.cuda.arrays import CudaArrays
from mstflow.runtime.device import device_array
from mstflow.runtime.sizes import tuned
from mstflow.testing import EVERY_STAGE
from oracle import components, kruskal
from scanning import scan
from strategy_names import ANY_ALGORITHM, BOUNDED, PARTITIONS

pytestmark = pytest.mark.on_gpu("all")
#: Of tests that also count copies.
results_only = pytest.mark.on_gpu("results")

THROUGH_ALL = mstflow.algorithm("filter-boruvka").given(**EVERY_STAGE)
RANDOM = np.random.default_rng(6)
GRAPH = EdgeList(*RANDOM.integers(0, 200, (2, 3000)), RANDOM.integers(0, 60, 3000).astype("f4"))


@pytest.fixture(autouse=True, scope="module")
def _gpu(interpreter):
    """Skip all tests if CuPy cannot run."""


@pytest.fixture(autouse=True)
def _small_blocks():
    """Scan in small blocks, because a scan allocates a whole block even for a small graph."""
    with tuned(block_edges=500):
        yield


def on_device(graph):
    columns = map(device_array, (graph.u, graph.v, graph.weight))
    return EdgeList(*columns, num_vertices=graph.num_vertices)


def is_on_device(values):
    import cupy

    return type(values) is cupy.ndarray


def solve(graph, strategy="auto", **options):
    partitions = PARTITIONS.get(strategy)
    return mstflow.minimum_spanning_forest(
        graph, strategy=strategy, partitions=partitions, **options
    )


@results_only
@given(
    graph=edge_lists(),
    strategy=st.sampled_from(ANY_ALGORITHM),
    name=st.sampled_from([THROUGH_ALL, *mstflow.algorithms()]),
    maximum=st.booleans(),
)
def test_equals_oracle(graph, strategy, name, maximum):
    check(graph, strategy, algorithm=name, maximum=maximum)


@results_only
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("strategy", ANY_ALGORITHM)
def test_schedulers_equal_oracle(scheduler, strategy, examples):
    check(union_of_many(examples, "f4"), strategy, scheduler=scheduler, threads=2)


def check(graph, strategy, **options):
    """Solve a graph from the host and from the device; at most two numbers at once are copied."""
    expected = kruskal(graph, options.get("maximum", False)).tolist()
    forest = solve(graph, strategy, backend="cupy", **options)
    assert (type(forest.edge_ids), forest.edge_ids.dtype) == (np.ndarray, np.int64)
    assert forest.edge_ids.tolist() == expected
    device = on_device(graph)
    interpreted_gpu.counts()
    forest = solve(device, strategy, **options)
    if options.get("algorithm") != "prim":  # runs on the host
        assert interpreted_gpu.counts().largest_out <= 16
    assert is_on_device(forest.edge_ids)
    assert forest.edge_ids.dtype == np.int64
    assert forest.backend == "cupy"
    assert forest.edge_ids.tolist() == expected


def test_the_plan_advises_a_gpu_from_a_number_of_edges():
    with tuned(device_from=GRAPH.num_edges, device_bytes=2**40):  # no GPU has room for the graph
        forest = solve(GRAPH)
        assert forest.backend != "cupy"
        advice = 'on a GPU, backend="cupy" is faster from 3,000 edges on'
        assert str(forest.report.plan).endswith(f"; {advice}")
        columns = GRAPH.u[1:], GRAPH.v[1:], GRAPH.weight[1:]
        assert solve(columns).report.plan.advice == ""
        assert solve(on_device(GRAPH)).report.plan.advice == ""


def test_auto_uses_a_gpu_from_a_number_of_edges():
    """The process must have loaded CuPy, and the default must be asked for."""
    expected = solve(GRAPH, backend="numpy").edge_ids.tolist()
    with tuned(device_from=GRAPH.num_edges):
        forest = solve(GRAPH)
    assert (forest.backend, forest.report.plan.advice) == ("cupy", "")
    assert forest.edge_ids.tolist() == expected
    columns = GRAPH.u[1:], GRAPH.v[1:], GRAPH.weight[1:]
    for graph, strategy, options in [
        (columns, "auto", {}),
        (GRAPH, "tree", {}),
        (GRAPH, "auto", {"algorithm": "boruvka-csr"}),
        (GRAPH, "auto", {"memory": "2GB"}),
        (GRAPH, "auto", {"scheduler": "threads"}),
    ]:
        with tuned(device_from=GRAPH.num_edges):
            assert solve(graph, strategy, **options).backend != "cupy"


@given(graph=edge_lists(), capacity=st.integers(2, 40), cut=st.integers(0, 40))
def test_scans_equal_oracle(graph, capacity, cut):
    source = EdgeSource.of(on_device(graph)).with_sizes()
    edge_ids, _ = scan(source, [cut], capacity=capacity, can_rescan=True, backend="cupy")
    assert np.array_equal(edge_ids, kruskal(graph))


@given(graph=edge_lists(), k=st.integers(0, 12), distance=st.integers(-300, 2**64))
def test_results_derived_from_edge_ids(graph, k, distance):
    host, device = mstflow.minimum_spanning_forest(graph), solve(on_device(graph))
    k = min(max(k, host.num_components), host.num_vertices)
    found = [
        *((getattr(host, name), getattr(device, name)) for name in ("u", "v", "weight", "labels")),
        (host.cut(k=k), device.cut(k=k)),
        (host.cut(distance=distance), device.cut(distance=distance)),
    ]
    for ours, theirs in found:
        assert is_on_device(theirs)
        assert theirs.dtype == ours.dtype
        assert theirs.tolist() == ours.tolist()
    assert device.labels.tolist() == components(graph).tolist()
    np.testing.assert_equal(device.total_weight, host.total_weight)
    assert repr(device) == repr(host)


@given(graph=edge_lists())
def test_queries_of_a_forest(graph):
    host, device = mstflow.minimum_spanning_forest(graph), solve(on_device(graph))
    pairs = np.divmod(np.arange(graph.num_vertices**2), max(1, graph.num_vertices))
    for ours, theirs in (
        *zip(host.bottleneck(*pairs), device.bottleneck(*pairs), strict=True),
        (host.replacement_edges(), device.replacement_edges()),
        (host.replacement_edges(), device.replacement_edges(strategy="fold")),
    ):
        assert (type(theirs), theirs.dtype) == (np.ndarray, ours.dtype)
        assert theirs.tolist() == ours.tolist()
    ours, theirs = host.add(graph), device.add(on_device(graph))
    assert is_on_device(theirs.edge_ids)
    assert is_on_device(theirs.weight)
    assert theirs.edge_ids.tolist() == ours.edge_ids.tolist()


def test_results_of_a_graph_on_the_host():
    forest = solve(GRAPH, backend="cupy")
    assert type(forest.labels) is type(forest.cut(k=3)) is np.ndarray
    assert forest.labels.tolist() == components(GRAPH).tolist()


@results_only
@pytest.mark.parametrize("values", [np.arange(9), np.arange(18)[::2], np.broadcast_to(7, 9)])
@pytest.mark.parametrize("dtype", [None, "f4"])
def test_large_columns_are_copied_in_chunks(values, dtype):
    interpreted_gpu.counts()
    with tuned(copied_to_device=16):
        found = primitives.array_module("cupy").asarray(values, dtype)
    pieces = 0 if values.strides == (0,) else len(values) // (16 // values.itemsize)
    assert interpreted_gpu.counts().copies_in >= pieces
    assert found.flags.c_contiguous
    assert found.dtype == (dtype or values.dtype)
    assert np.array_equal(found.get(), values)


def test_info_lists_the_devices(capsys):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"cuda +driver \d+\.\d, runtime \d+\.\d, NVRTC \d+\.\d", out)
    assert re.search(r"device +.+, \d+\.\d GB, compute capability \d+\.\d", out)


def test_columns_on_the_device_need_no_further_memory():
    host, device = (EdgeSource.of(graph) for graph in (GRAPH, on_device(GRAPH)))
    columns = GRAPH.u.nbytes + GRAPH.v.nbytes + GRAPH.weight.nbytes
    assert device_bytes(host) - device_bytes(device) == columns


def test_copies_to_the_host(tmp_path):
    host, device = mstflow.minimum_spanning_forest(GRAPH), solve(on_device(GRAPH))
    assert np.array_equal(device.linkage(), host.linkage())
    assert np.array_equal(device.hdbscan(), host.hdbscan())
    for forest, name in ((host, "host.npz"), (device, "device.npz")):
        forest.save(tmp_path / name)
    saved = [np.load(tmp_path / name) for name in ("host.npz", "device.npz")]
    assert all(np.array_equal(saved[0][name], saved[1][name]) for name in saved[0].files)
    assert type(device.to_host().edge_ids) is np.ndarray
    assert device.to_host().to_host().report is device.report
    assert mstflow.verify(on_device(GRAPH), device).num_edges == GRAPH.num_edges
    assert mstflow.verify(GRAPH, device.edge_ids).num_edges == GRAPH.num_edges


@pytest.mark.parametrize("library", ["scipy", "networkx", "pandas"])
def test_other_libraries_have_host_arrays(library):
    found = getattr(solve(on_device(GRAPH)), f"to_{library}")()
    assert (found.shape[0] if library != "networkx" else len(found)) > 0


def test_plots_use_host_arrays():
    matplotlib.use("agg")
    places = RANDOM.random((GRAPH.num_vertices, 2))
    forest = solve(on_device(GRAPH))
    assert forest.plot(places, color=forest.cut(k=3)).collections


def test_reachability_stays_on_the_device():
    for graph in (GRAPH, EdgeList(GRAPH.u, GRAPH.v, GRAPH.weight > 7)):
        expected = mstflow.mutual_reachability(graph).weight.tolist()
        device = mstflow.mutual_reachability(on_device(graph))
        assert is_on_device(device.weight)
        assert device.weight.tolist() == expected
        assert mstflow.mutual_reachability(graph, backend="cupy").weight.tolist() == expected


def test_stages_keep_what_they_declare_on_the_device():
    assert "cupy" in mstflow.backends()
    for stage in THROUGH_ALL.stages():
        if stage.name in ("select_light_edges", "sample_keys"):
            mstflow.testing.check_stage(stage, THROUGH_ALL)


def test_columns_on_the_device_are_not_copied():
    u, v, w = map(device_array, (GRAPH.u, GRAPH.v, GRAPH.weight))
    # Columns of another library.
    others = [
        types.SimpleNamespace(__cuda_array_interface__=column.__cuda_array_interface__)
        for column in (u, v, w)
    ]
    graph = EdgeList(*others)
    assert graph.u.data.ptr == u.data.ptr
    expected = kruskal(GRAPH).tolist()
    for columns in (others, (u, v, w), [u, v, w]):
        assert solve(tuple(columns)).edge_ids.tolist() == expected
    wide = device_array(np.stack([GRAPH.u, GRAPH.v]).T.copy())
    assert solve((wide[:, 0], wide[:, 1], w)).edge_ids.tolist() == expected
    by_source = solve(EdgeSource.of(graph))
    assert by_source.u.tolist() == solve(graph).u.tolist() == solve(GRAPH).u.tolist()
    unweighted = EdgeList(GRAPH.u, GRAPH.v)
    assert solve((u, v)).edge_ids.tolist() == kruskal(unweighted).tolist()
    assert solve((u, v, w), weight=None).edge_ids.tolist() == kruskal(unweighted).tolist()


@pytest.mark.parametrize(
    ("strategy", "u", "v"),
    [
        ("whole", "i8", "i4"),
        ("fold", "i4", "i8"),
        ("tree", "u4", "i8"),
        ("two-scan", "i8", "u1"),
        ("iterate", "i8", "i4"),
    ],
)
def test_ends_of_two_widths(strategy, u, v):
    columns = (GRAPH.u.astype(u), GRAPH.v.astype(v), GRAPH.weight)
    for graph in (EdgeList(*columns), on_device(EdgeList(*columns))):
        forest = solve(graph, strategy, backend="cupy", algorithm=THROUGH_ALL)
        assert forest.edge_ids.tolist() == kruskal(GRAPH).tolist()


IDS = np.arange(6)
BAD = {
    "negative": ([0, 1, -3], [1, 2, 0], None, None),
    "negative, 8 bits": (np.array([0, -1], "i1"), np.array([1, 2], "i1"), None, None),
    "beyond": ([0, 5, 1], [1, 2, 7], None, 5),
    "beyond in v": (np.array([0, 1], "i1"), np.array([9, 200], "u1"), None, 150),
    "too large": (np.array([2**64 - 1], "u8"), np.array([0]), None, None),
    "not a number": (IDS, IDS, np.array([1, np.nan, 2, np.nan, 0, 0], "f2"), None),
    "lengths": (IDS, IDS[:5], None, None),
    "weights": (IDS, IDS, np.ones(5), None),
    "floats": (IDS * 1.0, IDS, None, None),
    "complex": (IDS, IDS, IDS * 1j, None),
    "two-dimensional": (IDS.reshape(2, 3), IDS, None, None),
    "vertices": (IDS, IDS, None, -1),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_columns(name):
    *columns, num_vertices = BAD[name]
    columns = [np.asarray(column) for column in columns if column is not None]
    with pytest.raises(GraphError) as host:
        EdgeList(*columns, num_vertices=num_vertices)
    with pytest.raises(GraphError) as device:
        EdgeList(*map(device_array, columns), num_vertices=num_vertices)
    assert str(device.value) == str(host.value)


def test_refused_calls():
    device = on_device(GRAPH)
    columns = (device.u, device.v, device.weight)
    for backend in ("numpy", "numba"):
        with pytest.raises(OptionError, match=f"'{backend}' does not support arrays on a GPU"):
            solve(device, backend=backend)
    with pytest.raises(GraphError, match="u is on the GPU, v on the host, weight on the GPU"):
        solve((device.u, GRAPH.v, device.weight))
    with pytest.raises(OptionError, match="'processes' cannot read arrays on the GPU"):
        solve(device, scheduler="processes")
    for chunk in (columns, device):
        with pytest.raises(GraphError, match="chunk 1 is on a GPU; copy it"):
            solve([(GRAPH.u, GRAPH.v, GRAPH.weight), chunk])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", None)
        with pytest.raises(OptionError, match="need the package cupy"):
            EdgeList(device.u, device.v)


@pytest.mark.parametrize("where", ["host", "device"])
def test_checkpoints(where, tmp_path):
    graph = GRAPH if where == "host" else on_device(GRAPH)
    folder = tmp_path / "checkpoint"
    for _ in range(2):  # the second run resumes the first
        forest = solve(graph, "two-scan", backend="cupy", checkpoint=folder)
        assert forest.edge_ids.tolist() == kruskal(GRAPH).tolist()


def test_a_failure_names_its_stage(monkeypatch):
    def fail(*_):
        message = "cudaErrorIllegalAddress: an illegal memory access was encountered"
        raise RuntimeError(message)

    monkeypatch.setattr(CudaArrays, "scatter_min_pairs", fail)
    with pytest.raises(MstflowError, match=r"stage 'find_min_edges' failed on .*IllegalAddress"):
        solve(on_device(GRAPH), algorithm="boruvka-edgelist")


@pytest.mark.parametrize(
    ("primitive", "strategy", "expected"),
    [
        ("arange", "whole", "stage 'load_partition' failed on .*: CUDAError: illegal access"),
        ("compact_pairs", "two-scan", "stage 'scan_partition' failed on .*: CUDAError: illegal"),
        ("concat", "tree", "stage 'merge_forests' failed on parts: .*CUDAError: illegal"),
    ],
)
def test_a_failure_names_its_task(primitive, strategy, expected, monkeypatch):
    def fail_with(base, module):
        def fail(*_, **__):
            raise error("illegal access")

        error = type("CUDAError", (base,), {"__module__": module})
        monkeypatch.setattr(CudaArrays, primitive, fail)
        return error

    fail_with(Exception, "cuda.core")
    with pytest.raises(PipelineError, match=expected):
        solve(on_device(GRAPH), strategy)
    fail_with(MemoryError, "cupy.cuda.memory")
    with pytest.raises(
        OutOfMemoryError, match="not enough memory for 200 vertices and 3,000 edges"
    ):
        solve(on_device(GRAPH), strategy)


def test_a_failure_outside_stages_names_its_task(monkeypatch):
    @mstflow.stage(writes="forest")
    def take(marks):
        return marks

    def fail(_, values, *args, **options):
        if values is marks:
            raise type("CUDAError", (Exception,), {"__module__": "cuda.core"})("illegal access")
        return whole(_, values, *args, **options)

    marks, whole = np.arange(3), CudaArrays.asarray
    monkeypatch.setattr(CudaArrays, "asarray", fail)
    pipeline = mstflow.Pipeline("p", take).given(marks=marks)
    with pytest.raises(KernelError, match="the GPU failed in task 'take': CUDAError: illegal"):
        solve(GRAPH, "iterate", backend="cupy", algorithm=pipeline)


@pytest.mark.parametrize("strategy", BOUNDED)
def test_chunks_of_the_host_are_streamed(strategy):
    half = GRAPH.num_edges // 2
    columns = (GRAPH.u, GRAPH.v, GRAPH.weight)
    chunks = [[column[rows] for column in columns] for rows in (slice(half), slice(half, None))]
    forest = solve(chunks, strategy, backend="cupy")
    assert forest.edge_ids.tolist() == kruskal(GRAPH).tolist()
    once = mstflow.minimum_spanning_forest(iter(chunks), num_vertices=200, backend="cupy")
    assert type(once.u) is np.ndarray
    assert once.edge_ids.tolist() == kruskal(GRAPH).tolist()


def test_workers_with_and_without_a_device():
    with workers_with_backends("cupy", "numpy") as client:
        for strategy in ("tree", "two-scan", "iterate"):
            forest = mstflow.minimum_spanning_forest(
                GRAPH, scheduler=client, strategy=strategy, partitions=6
            )
            assert type(forest.edge_ids) is np.ndarray
            assert forest.edge_ids.tolist() == kruskal(GRAPH).tolist()


@pytest.fixture
def _plugin(tmp_path):
    """Register the array module as a plugin, so that other processes find it."""
    points = {"mstflow.backends": {"double": "interpreted_gpu:InterpretedArrays"}}
    register(tmp_path, "double", "1", points)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        forget_plugins()
        yield
    forget_plugins()


@pytest.mark.usefixtures("_plugin")
def test_processes_send_host_arrays():
    forest = solve(GRAPH, "iterate", backend="double", scheduler="processes", threads=2)
    assert forest.edge_ids.tolist() == kruskal(GRAPH).tolist()
    assert forest.labels.tolist() == components(GRAPH).tolist()


def test_a_graph_larger_than_the_device_is_scanned():
    """Free memory is less than the whole graph takes, and enough for scans."""
    interpreted_gpu.start(0, checks="bounds")
    size = 100_000
    u, v = RANDOM.integers(0, 1000, (2, size), dtype="i4")
    graph = EdgeList(u, v, RANDOM.integers(0, 60, size, dtype="i4"))
    with tuned(block_edges=5000), interpreted_gpu.memory(6_000_000):
        forest = solve(graph, backend="cupy")
    assert forest.strategy == "scan"
    assert "larger than the device's memory" in forest.report.plan.reason
    assert np.array_equal(forest.edge_ids, solve(graph, backend="numba").edge_ids)
    with (
        interpreted_gpu.memory(0),
        pytest.raises(MemoryBoundError, match="the GPU's free memory: 0 bytes is too"),
    ):
        solve(GRAPH, backend="cupy")


@pytest.mark.parametrize("allocations", range(0, 20, 4))
def test_failed_allocations(allocations):
    """A failure at any place is reported, and does not affect the next call."""
    with (
        interpreted_gpu.memory(failure=allocations),
        pytest.raises(OutOfMemoryError, match="not enough memory for 200 vertices and 3,000 edges"),
    ):
        solve(GRAPH, backend="cupy")
    assert solve(GRAPH, backend="cupy").edge_ids.tolist() == kruskal(GRAPH).tolist()


def test_a_graph_that_does_not_fit():
    many = EdgeList(*RANDOM.integers(0, 100, (2, 500_000)))
    with interpreted_gpu.memory(2**20), pytest.raises(OutOfMemoryError, match="500,000 edges"):
        solve(many, "whole", backend="cupy")


def test_the_page_on_gpus(monkeypatch):
    root = Path(__file__).parents[1]
    monkeypatch.chdir(root)
    page = (root / "docs" / "how-to" / "gpu.md").read_text()
    names = {}
    _, four_edges, *_ = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec("import mstflow\n" + four_edges, names)
    assert names["forest"].edge_ids.tolist() == [1, 2, 3]
    assert names["forest"].total_weight == 6.0
