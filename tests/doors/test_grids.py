"""Grids, whose edges are computed block by block, compared with a loop over pixels."""

import itertools
import mmap
import pickle
import re
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import mstflow
from mstflow.errors import GraphError, MemoryBoundError, OptionError
from mstflow.runtime import memory
from oracle import kruskal
from strategy_names import PARTITIONS
from waiting import wait_until

#: The most steps to a neighbor, by the number of neighbors.
STEPS = {4: 1, 8: 2, 6: 1, 18: 2, 26: 3}
OPTIONS = [
    *({"strategy": name, "partitions": count} for name, count in PARTITIONS.items()),
    {"strategy": "tiles"},
    {"strategy": "tiles", "partitions": 3, "scheduler": "threads"},
    {"strategy": "tiles", "partitions": 2, "algorithm": "kruskal", "backend": "numpy"},
    {"memory": "400MB"},
]


def edges_by_definition(values, connectivity, shape):
    """List u, v and the difference of each edge: plane by plane, then by direction."""
    offsets = [
        offset
        for offset in itertools.product((-1, 0, 1), repeat=len(shape))
        if offset > (0,) * len(shape) and np.count_nonzero(offset) <= STEPS[connectivity]
    ]
    found, number = [], np.arange(values.size).reshape(shape)
    for plane, offset in itertools.product(range(shape[0]), offsets):
        for rest in itertools.product(*map(range, shape[1:])):
            here = (plane, *rest)
            there = tuple(a + b for a, b in zip(here, offset, strict=True))
            if all(0 <= place < size for place, size in zip(there, shape, strict=True)):
                weight = abs(int(values[here]) - int(values[there]))
                found.append((int(number[here]), int(number[there]), weight))
    return found


@st.composite
def grids(draw):
    axes = draw(st.sampled_from([2, 3]))
    shape = draw(arrays.array_shapes(min_dims=axes, max_dims=axes, max_side=5))
    dtype = draw(st.sampled_from(["u1", "i1", "i4", "u8"]))
    values = draw(arrays.arrays(dtype, shape))
    return values, draw(st.sampled_from([4, 8] if axes == 2 else [6, 18, 26]))


def listed(source, size):
    """Return the edges of a source as a list, read in blocks."""
    found = []
    for first, count, read in source.blocks(size):
        u, v, weight = (column.tolist() for column in read())
        assert (first - source.first_id, count) == (len(found), len(u))
        found += zip(u, v, weight, strict=True)
    return found


@given(grids(), st.integers(1, 200), st.data())
def test_edges_by_definition(grid, size, data):
    values, connectivity = grid
    source = mstflow.grid(values, connectivity)
    expected = edges_by_definition(values, connectivity, values.shape)
    assert (source.num_vertices, source.num_edges) == (values.size, len(expected))
    assert listed(source, size) == expected
    cuts = st.integers(0, len(expected))
    start, stop = sorted((data.draw(cuts), data.draw(cuts)))
    part = pickle.loads(pickle.dumps(source.slice(start, stop)))
    assert listed(part, size) == expected[start:stop]
    inner = part.slice((stop - start) // 3, stop - start)
    assert listed(inner, size) == expected[start + (stop - start) // 3 : stop]


@pytest.mark.parametrize("options", OPTIONS)
def test_every_strategy(options):
    draw = np.random.default_rng(4)
    for shape, connectivity in (((30, 41), 8), ((9, 10, 11), 6)):
        source = mstflow.grid(draw.integers(0, 9, shape, np.uint8), connectivity)
        graph = mstflow.EdgeList(*source.columns(), num_vertices=source.num_vertices)
        forest = mstflow.minimum_spanning_forest(source, **options)
        assert forest.edge_ids.tolist() == kruskal(graph).tolist()
        mstflow.verify(source, forest, progress=False)


def test_a_part_of_a_grid_is_a_graph_of_its_edges():
    whole = mstflow.grid(np.random.default_rng(6).integers(0, 9, (20, 20, 20), np.uint8))
    for start, stop in ((0, 5_000), (100, 5_000), (3_000, whole.num_edges)):
        part = whole.slice(start, stop)
        graph = mstflow.EdgeList(*part.columns(), num_vertices=part.num_vertices)
        forest = mstflow.minimum_spanning_forest(part)
        assert (forest.edge_ids - start).tolist() == kruskal(graph).tolist()
        assert forest.strategy != "tiles"  # tiles would find other edges of their vertices, too


@st.composite
def any_grids(draw):
    """Draw arguments of `grid`: all numbers of neighbors, dtypes and shapes, long or flat."""
    axes = draw(st.sampled_from([2, 3]))
    shape = draw(arrays.array_shapes(min_dims=axes, max_dims=axes, max_side=9))
    options = {"connectivity": draw(st.sampled_from([4, 8] if axes == 2 else [6, 18, 26]))}
    if draw(st.booleans()):
        options["channel_axis"] = draw(st.integers(0, axes))
        shape = (*shape[: options["channel_axis"]], 2, *shape[options["channel_axis"] :])
    dtype = np.dtype(draw(st.sampled_from(["?", "u1", "i1", "u2", "i4", "u8", "f2", "f4", "f8"])))
    if dtype.kind == "f":
        few = st.sampled_from([0, -0.0, 0.5, -1, 2, np.inf])
        options["weight"] = draw(st.sampled_from([np.maximum, np.minimum]))
        if "channel_axis" in options:
            options["weight"] = _highest
    else:
        few = st.integers(0, 3) if draw(st.booleans()) else arrays.from_dtype(dtype)
        few = few if dtype.kind != "b" else st.booleans()
    return draw(arrays.arrays(dtype, shape, elements=few)), options


def _highest(left, right):
    return np.maximum(left, right).max(axis=-1)


@given(
    any_grids(),
    st.integers(1, 60),
    st.booleans(),
    st.integers(1, 4),
    st.sampled_from(["numpy", "numba"]),
)
def test_tiles_of_any_size_give_the_forest_of_the_edge_list(
    grid, size, maximum, partitions, backend
):
    values, options = grid
    source = mstflow.grid(values, **options)
    graph = mstflow.EdgeList(*source.columns(), num_vertices=source.num_vertices)
    with mock.patch("mstflow.doors.generated.tiles.VERTICES", size):
        forest = mstflow.minimum_spanning_forest(
            source, strategy="tiles", maximum=maximum, partitions=partitions, backend=backend
        )
    assert forest.edge_ids.tolist() == kruskal(graph, maximum=maximum).tolist()


@given(grids(), st.integers(1, 40))
def test_tiles_have_all_edges_that_touch_them(grid, size):
    values, connectivity = grid
    source = mstflow.grid(values, connectivity).with_sizes()
    expected = edges_by_definition(values, connectivity, values.shape)
    with mock.patch("mstflow.doors.generated.tiles.VERTICES", size):
        shape, most, tiles = source.tiles()
        tiles = list(tiles)
        assert most == source.edges_after_tiles
    owner = np.full(shape, -1)
    for number, tile in enumerate(tiles):
        assert (owner[tile.box] == -1).all()
        owner[tile.box] = number
    between = 0
    for number, tile in enumerate(tiles):
        (inside,) = np.nonzero(owner.ravel() == number)
        vertex = np.append(inside, -1)
        u, v = vertex[tile.template.u], vertex[tile.template.v]
        (places,) = np.nonzero(u != v)
        ids, weight = tile.edge_ids(places), tile.weights(source.weight_dtype)[places]
        assert ids.tolist() == [
            place for place, (*both, _) in enumerate(expected) if not set(both).isdisjoint(inside)
        ]
        ends = zip(*(column.tolist() for column in tile.ends(places)), strict=True)
        assert list(ends) == [expected[each][:2] for each in ids]
        assert weight.tolist() == [expected[each][2] for each in ids]
        leaving = tile.edge_ids(tile.template.leaving).tolist()
        assert leaving == [
            each for each in ids if expected[each][0] in inside and expected[each][1] not in inside
        ]
        between += len(leaving)
    assert (owner >= 0).all()
    assert between <= most


def test_plans_of_grids():
    source = mstflow.grid(np.zeros((40, 50, 60), np.uint8))
    solve = mstflow.minimum_spanning_forest
    assert str(solve(source).report.plan) == "tiles: the graph is a grid"
    needed = solve(source, strategy="tiles").report.plan.memory
    assert solve(source, memory=needed).strategy == "tiles"
    with pytest.raises(MemoryBoundError, match="for strategy 'tiles' with 120,000 vertices"):
        solve(source, memory=needed - 1, strategy="tiles")
    with pytest.raises(MemoryBoundError, match="for strategy 'scan' with 120,000 vert"):
        solve(source, memory=10**6)
    for graph, options in ((source.columns(), {}), (source, {"weight": None})):
        with pytest.raises(OptionError, match=r"'tiles' needs a graph of mstflow.grid with"):
            solve(graph, strategy="tiles", **options)
        assert solve(graph, **options).strategy != "tiles"


def test_memory_of_tiles():
    """Fragments of several partitions are in memory twice, and each task has its own tiles."""

    def memory(**options):
        forest = mstflow.minimum_spanning_forest(source, strategy="tiles", **options)
        return forest.report.plan.memory

    source = mstflow.grid(np.zeros((40, 50, 60), np.uint8))
    one, two = memory(threads=1), memory(threads=1, partitions=2)
    assert one < two
    assert two + 5e7 < memory(threads=2, partitions=2, scheduler="threads")


def test_runs_keep_memory_for_the_next_run_only_if_the_graph_is_in_memory():
    source, keeps = mstflow.grid(np.zeros((64, 64, 64), np.uint8)), []
    edges = source.columns()
    with mock.patch.object(memory, "_pool", memory.Pool()) as pool:
        for graph in (edges, edges, source, edges, source):
            forest = mstflow.minimum_spanning_forest(graph, backend="numba")
            assert forest.num_components == 1
            wait_until(lambda: not pool.leases)  # a thread may still have to delete its arguments
            keeps.append(pool.mapping is not None)
    offers = hasattr(mmap, "MADV_FREE")
    assert keeps[1:] == [offers, False, offers, False]  # earlier tests decide about the first


def test_ids_of_tiles_beyond_2_to_the_33():
    source = mstflow.grid(np.arange(5 * 6 * 7, dtype=np.uint16).reshape(5, 6, 7) % 11, 26)
    shifted = replace(source, first_id=2**33)
    for options in ({}, {"partitions": 3}):
        forest = mstflow.minimum_spanning_forest(shifted, strategy="tiles", **options)
        assert (forest.edge_ids - 2**33).tolist() == kruskal(
            mstflow.EdgeList(*source.columns())
        ).tolist()


def test_processes_receive_the_planes_of_their_partition():
    source = mstflow.grid(np.zeros((100, 8, 8), np.uint8))
    parts = [source.slice(count, count + 40).segments[0] for count in (0, 8_000, 16_000)]
    assert max(len(part.values) for part in parts) <= 3
    forest = mstflow.minimum_spanning_forest(
        source, scheduler="threads", partitions=4, strategy="tree"
    )
    assert forest.num_components == 1


def test_channels_and_functions_of_weights():
    image = np.random.default_rng(5).integers(0, 256, (3, 7, 9), np.uint8)
    expected = abs(image[:, :, 1:].astype(int) - image[:, :, :-1]).sum(axis=0)
    for values, axis in ((image, 0), (np.moveaxis(image, 0, 2), -1)):
        source = mstflow.grid(values, 4, channel_axis=axis)
        u, v, weight = source.columns()
        along = v == u + 1
        assert weight[along].tolist() == expected.ravel().tolist()
    u, v, weight = mstflow.grid(image[0], 8, weight=np.maximum).columns()
    assert weight.tolist() == np.maximum(*(image[0].ravel()[ends] for ends in (u, v))).tolist()


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "u4"])
def test_safe_form_of_a_function_of_the_weights(dtype):
    ends = np.iinfo(dtype)
    image = np.array([[ends.min, ends.max], [3, 5]], dtype)

    def weights(function):
        return mstflow.grid(image, weight=function).columns()[2].tolist()

    exact = mstflow.grid(image).columns()[2].tolist()
    assert weights(lambda a, b: abs(a.astype(int) - b.astype(int))) == exact
    assert weights(lambda a, b: abs(a - b)) != exact  # as the documentation says


@pytest.mark.parametrize(
    ("values", "weights"),
    [
        (np.array([[-128, 127]], np.int8), np.array([255], np.uint8)),
        (np.array([[2**63 - 1, -(2**63)]]), np.array([2**64 - 1], np.uint64)),
        (np.array([[True, False]]), np.array([True])),
        (np.array([[0.5, -1]], np.float32), np.array([1.5], np.float32)),
    ],
)
def test_differences_are_exact(values, weights):
    found = mstflow.grid(values).columns()[2]
    assert (found.dtype, found.tolist()) == (weights.dtype, weights.tolist())


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (1, 4), (4, 1), (2, 0, 3), (1, 1, 1)])
def test_grids_without_edges_or_planes(shape):
    for connectivity in (4, 8) if len(shape) == 2 else (6, 26):
        forest = mstflow.minimum_spanning_forest(mstflow.grid(np.zeros(shape), connectivity))
        assert forest.num_vertices == np.prod(shape)
        assert forest.num_components == min(1, forest.num_vertices)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.zeros(5),), {}, "or floats, got float64 of shape (5,)"),
        ((np.zeros((2, 2, 2, 2)),), {}, "shape (2, 2, 2, 2); pass channel_axis= for color"),
        ((np.zeros((2, 2), complex),), {}, "got complex128"),
        ((np.zeros((2, 2)), 6), {}, "connectivity must be one of 4, 8 for 2 axes, not 6"),
        ((np.zeros((2, 2, 2)), 8), {}, "connectivity must be one of 6, 18, 26 for 3 axes, not 8"),
        ((np.zeros((2, 2, 3)),), {"channel_axis": 3}, "channel_axis is 3, but the array has 3"),
    ],
)
def test_bad_grids(arguments, options, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        mstflow.grid(*arguments, **options)


def test_a_mask_is_not_dropped():
    with pytest.raises(GraphError, match="values must not be a masked array"):
        mstflow.grid(np.ma.masked_equal(np.eye(3), 1))


@pytest.mark.parametrize(
    ("values", "weight", "message"),
    [
        (np.array([[1.0, np.nan]]), None, "edge 0: the weight is NaN"),
        (  # the first edge is not in the first tile
            np.where(np.isin(np.arange(90_000), [280, 305]), np.nan, 0).reshape(300, 300),
            None,
            "edge 279: the weight is NaN",
        ),
        (
            np.ones((2, 2)),
            lambda a, _: a[1:],
            "weight= returned an array of shape (0,) for 1 edges",
        ),
    ],
)
def test_bad_weights(values, weight, message):
    with pytest.raises(GraphError, match=re.escape(message)):
        mstflow.minimum_spanning_forest(mstflow.grid(values, weight=weight))


@pytest.mark.parametrize("axis", [None, -1])
def test_the_difference_of_equal_infinities_is_zero(axis):
    image = np.array([[np.inf, np.inf], [-np.inf, 2]], np.float32)
    graph = mstflow.grid(image if axis is None else image[..., None], 4, channel_axis=axis)
    assert graph.columns()[2].tolist() == [0, np.inf, np.inf, np.inf]
    with pytest.raises(GraphError, match="the weight is NaN"):
        mstflow.minimum_spanning_forest(mstflow.grid(np.full((2, 2), np.nan), 4))
