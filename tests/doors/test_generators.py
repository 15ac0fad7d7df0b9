"""Generated graphs match their families, for any division into ranges."""

import dataclasses
import errno
import os
import zlib
from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mstflow
from command_errors import error_of
from graph_strategies import FAMILY_SIZES
from mstflow.__main__ import main
from mstflow.doors.formats import OUTPUTS
from mstflow.doors.generated.counter_random import draw, draw_below, sample, sorted_sample
from mstflow.doors.generated.families import (
    FAMILIES,
    caveman,
    chain,
    circulant,
    complete,
    connected_caveman,
    grid,
    hypercube,
    random,
    rmat,
    star,
)
from mstflow.doors.write import write_table
from mstflow.errors import OptionError
from mstflow.graphs.permutation import permute

# CRC-32 of the columns: as they are, and with half the edges, shuffled, and integer weights.
# A change here changes every graph that anyone has generated.
GOLDEN = {
    "random": (3010050488, 3358623926),
    "rmat": (2076778208, 1889749027),
    "grid": (3121397471, 3815163889),
    "caveman": (1475045368, 732726447),
    "connected-caveman": (3615607560, 1776349385),
    "circulant": (2386561167, 4119019331),
    "hypercube": (542197604, 1384977298),
    "chain": (2303167000, 3836416277),
    "star": (1569847952, 2575956644),
    "complete": (3836197717, 1496268487),
}
THINNED = {"keep": 0.5, "shuffle_vertices": True, "shuffle_edges": True, "seed": 7}
WEIGHTS = ("float32", "float64", "int:-5:5", "uint8:0:255", "int64:0:9223372036854775807")
every_family = pytest.mark.parametrize("family", FAMILIES)


def small(family, **options):
    return FAMILIES[family](**FAMILY_SIZES[family], **options)


def checksum(graph):
    little = (column.astype(column.dtype.newbyteorder("<")) for column in whole(graph))
    return zlib.crc32(b"".join(column.tobytes() for column in little))


def whole(graph):
    return graph.edges(0, graph.num_edges)


def pairs(graph):
    u, v, _ = whole(graph)
    return list(zip(u.tolist(), v.tolist(), strict=True))


def degrees(graph):
    u, v, _ = whole(graph)
    return np.bincount(np.append(u, v), minlength=graph.num_vertices)


def records(u, v, weight):
    """Return the edges as a multiset, which ignores their order."""
    return Counter(zip(u.tolist(), v.tolist(), weight.tolist(), strict=True))


def assert_same(first, second):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


# What each family is.


def test_random():
    graph = random(vertices=50, edges=100_000, seed=3)
    u, v, _ = whole(graph)
    assert (graph.num_vertices, graph.num_edges, len(u)) == (50, 100_000, 100_000)
    # Chi-squared of 2,499 degrees of freedom: 2,499 expected, standard deviation 71.
    counts = np.bincount(50 * u.astype(np.int64) + v, minlength=2500)
    assert 2499 - 4 * 71 < ((counts - 40) ** 2 / 40).sum() < 2499 + 4 * 71


def test_random_without_loops():
    graph = random(vertices=50, edges=100_000, loops=False, seed=3)
    u, v, _ = whole(graph)
    counts = np.bincount(50 * u.astype(np.int64) + v, minlength=2500).reshape(50, 50)
    assert counts.diagonal().sum() == 0
    # Chi-squared of 2,449 degrees of freedom.
    others = counts[~np.eye(50, dtype=bool)]
    assert abs(((others - 100_000 / 2450) ** 2 / (100_000 / 2450)).sum() - 2449) < 4 * 70
    assert set(pairs(random(2, 100, loops=False))) == {(0, 1), (1, 0)}


def test_rmat_halves_the_matrix_by_its_probabilities():
    graph = rmat(scale=10, edges_per_vertex=64, a=0.5, b=0.2, c=0.1, seed=5)
    u, v, _ = whole(graph)
    assert (graph.num_vertices, graph.num_edges) == (1024, 65536)
    for level in range(10):
        quarter = 2 * (u >> level & 1) + (v >> level & 1)
        shares = np.bincount(quarter, minlength=4) / len(u)
        np.testing.assert_allclose(shares, [0.5, 0.2, 0.1, 0.2], atol=0.008)  # 4 deviations
    deeper = np.bincount(2 * (u >> 9 & 1) + (u >> 8 & 1), minlength=4) / len(u)
    np.testing.assert_allclose(deeper, [0.49, 0.21, 0.21, 0.09], atol=0.008)


def test_rmat_is_skewed():
    graph = rmat(scale=12)
    assert graph.num_edges == 16 * 2**12
    degree = np.sort(degrees(graph))
    assert degree[-1] > 30 * 32  # of a mean of 32
    assert (degree == 0).sum() > 2**12 // 20
    assert whole(rmat(scale=1, a=0, b=1, c=0))[1].tolist() == [1] * 32


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (1, 7), (7, 1), (2, 2), (5, 8)])
def test_grid(rows, columns):
    expected = []
    for vertex in range(rows * columns):
        row, column = divmod(vertex, columns)
        expected += [(vertex, vertex + 1)] if column + 1 < columns else []
        expected += [(vertex, vertex + columns)] if row + 1 < rows else []
    graph = grid(rows, columns)
    assert graph.num_vertices == rows * columns
    assert pairs(graph) == expected


@pytest.mark.parametrize(("cliques", "size"), [(1, 1), (3, 1), (4, 2), (5, 6)])
def test_caveman(cliques, size):
    starts = range(0, cliques * size, size)
    expected = [pair for start in starts for pair in combinations(range(start, start + size), 2)]
    graph = caveman(cliques, size)
    assert graph.num_vertices == cliques * size
    assert pairs(graph) == expected


@pytest.mark.parametrize(("cliques", "size"), [(2, 3), (3, 3), (5, 6)])
def test_connected_caveman(cliques, size):
    expected = []
    for start in range(0, cliques * size, size):
        first, *others = combinations(range(start, start + size), 2)
        expected += [(first[0], (start - 1) % (cliques * size)), *others]
    graph = connected_caveman(cliques, size)
    assert pairs(graph) == expected
    assert len(set(map(frozenset, expected))) == len(expected)
    assert mstflow.minimum_spanning_forest(whole(graph)).num_components == 1


@pytest.mark.parametrize(("vertices", "degree"), [(1, 0), (3, 1), (10, 3), (11, 5)])
def test_circulant(vertices, degree):
    graph = circulant(vertices, degree)
    steps = range(1, degree + 1)
    assert pairs(graph) == [(i, (i + step) % vertices) for i in range(vertices) for step in steps]
    assert len(set(map(frozenset, pairs(graph)))) == graph.num_edges
    assert set(degrees(graph)) == {2 * degree}


@pytest.mark.parametrize("dimension", [0, 1, 2, 6])
def test_hypercube(dimension):
    graph = hypercube(dimension)
    vertices = range(2**dimension)
    expected = [pair for pair in combinations(vertices, 2) if (pair[0] ^ pair[1]).bit_count() == 1]
    assert graph.num_vertices == 2**dimension
    assert sorted(pairs(graph)) == expected


def test_chain_star_complete():
    assert pairs(chain(5)) == [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert pairs(star(5)) == [(0, 1), (0, 2), (0, 3), (0, 4)]
    for vertices in (1, 2, 3, 50):
        assert pairs(complete(vertices)) == list(combinations(range(vertices), 2))
    assert [family(1).num_vertices for family in (chain, star, complete)] == [1, 1, 1]


@pytest.mark.parametrize("vertices", [2**26 + 1, 2**31])
def test_pairs_of_many_vertices(vertices):
    graph = complete(vertices)
    rows = [0, 1, vertices // 3, vertices - 3, vertices - 2]
    for row in rows:  # where each begins, as the rows before it are n - 1, n - 2, ... long
        start = row * (vertices - 1) - row * (row - 1) // 2
        u, v, _ = graph.edges(max(start - 1, 0), start + 1)
        assert (u[-1], v[-1]) == (row, row + 1)
        if row:
            assert (u[0], v[0]) == (row - 1, vertices - 1)
    u, v, _ = graph.edges(graph.num_edges - 1, graph.num_edges)
    assert (u[0], v[0]) == (vertices - 2, vertices - 1)


# The contract: one graph, however it is divided into ranges.


@every_family
@given(data=st.data())
def test_ranges_add_up_to_the_graph(family, data):
    options = {
        "seed": data.draw(st.sampled_from([0, 1, 2**64 - 1])),
        "keep": data.draw(st.sampled_from([1.0, 0.65, 0.01])),
        "weights": data.draw(st.sampled_from(WEIGHTS)),
        "shuffle_vertices": data.draw(st.booleans()),
        "shuffle_edges": data.draw(st.booleans()),
    }
    graph = small(family, **options)
    cuts = data.draw(st.lists(st.integers(0, graph.num_edges), max_size=5).map(sorted))
    bounds = [0, *cuts, graph.num_edges]
    ranges = [graph.edges(*bound) for bound in pairwise(bounds)]
    joined = [np.concatenate(columns) for columns in zip(*ranges, strict=True)]
    assert_same(joined, whole(small(family, **options)))


@pytest.mark.parametrize("shuffle", [False, True])
def test_ranges_of_a_graph_of_many_tiles_and_blocks(shuffle):
    graph = grid(300, 300, keep=0.65, shuffle_vertices=shuffle, shuffle_edges=shuffle)
    reference = whole(graph)
    for size in (7777, 2**14, 2**16 + 1):
        blocks = list(graph.blocks(size))
        assert {len(u) for u, _, _ in blocks[:-1]} <= {size}
        assert_same([np.concatenate(columns) for columns in zip(*blocks, strict=True)], reference)


@every_family
def test_seeds(family):
    options = {"keep": 0.9, "shuffle_vertices": True, "shuffle_edges": True}
    one, other = (whole(small(family, **options, seed=seed)) for seed in (1, 2))
    for column, different in zip(one, other, strict=True):
        assert column.tolist() != different.tolist()
    weights = (whole(small(family, seed=seed))[2].tolist() for seed in (1, 2))
    assert next(weights) != next(weights)


@every_family
def test_golden(family):
    graphs = small(family), small(family, **THINNED, weights="int:1:1000")
    assert tuple(map(checksum, graphs)) == GOLDEN[family]


def test_edges_with_large_numbers():
    """Edges beyond 2^33 take no longer than the first; large graphs have 64-bit ids."""
    graph = random(2**33, 2**40)
    u, v, _ = graph.edges(2**40 - 1000, 2**40)
    assert u.dtype == v.dtype == np.int64
    assert u.max() > 2**32
    assert random(2**31, 1).dtypes["u"] == np.int32
    assert chain(2**31 + 1).dtypes["u"] == np.int64
    thinned = grid(2**20, 2**20, keep=0.65, shuffle_vertices=True)
    middle = thinned.num_edges // 2
    assert_same(
        [column[500:] for column in thinned.edges(middle - 500, middle + 500)],
        thinned.edges(middle, middle + 500),
    )
    middle = round(0.65 * 2**39)
    u, _, _ = chain(2**40, keep=0.65).edges(middle, middle + 1)
    assert abs(int(u[0]) - 2**39) < 2**13  # edges are dropped evenly
    u, _, _ = complete(2**31, keep=1e-12, shuffle_edges=True).edges(0, 1000)
    assert len(set(u.tolist())) > 990


# Options.


@every_family
@pytest.mark.parametrize("keep", [1.0, 0.6])
def test_shuffles_keep_the_graph(family, keep):
    graph = small(family, keep=keep)
    plain = whole(graph)
    in_other_order = whole(small(family, keep=keep, shuffle_edges=True))
    assert any((a != b).any() for a, b in zip(plain, in_other_order, strict=True))
    assert records(*plain) == records(*in_other_order)
    renumbered = whole(small(family, keep=keep, shuffle_vertices=True))
    np.testing.assert_array_equal(plain[2], renumbered[2])
    name_of = {}
    for old, new in zip(plain[:2], renumbered[:2], strict=True):
        for a, b in zip(old.tolist(), new.tolist(), strict=True):
            assert name_of.setdefault(a, b) == b
    assert len(set(name_of.values())) == len(name_of)
    assert sum(a == b for a, b in name_of.items()) < 10
    assert max(name_of.values()) < graph.num_vertices
    both = small(family, keep=keep, shuffle_vertices=True, shuffle_edges=True)
    assert records(*whole(both)) == records(*renumbered)
    assert sorted(degrees(both)) == sorted(degrees(graph))


@every_family
@pytest.mark.parametrize("keep", [0, 0.001, 0.65, 0.999])
def test_keep(family, keep):
    graph, thinned = small(family), small(family, keep=keep)
    assert thinned.num_edges == round(keep * graph.num_edges)
    everything, kept = (list(zip(*map(list, whole(g)), strict=True)) for g in (graph, thinned))
    remaining = iter(everything)
    assert all(row in remaining for row in kept)  # in order


def test_keep_is_uniform():
    kept = np.zeros(99, dtype=int)
    for seed in range(400):
        u, _, _ = whole(chain(100, keep=1 / 3, seed=seed))
        kept[u] += 1
    # Each is kept in 133 of 400 graphs, with a standard deviation of 9.
    assert kept.sum() == 400 * 33
    assert abs(kept - 400 / 3).max() < 4 * 9.4
    assert 6 < kept.std() < 13


def test_shuffles_are_uniform():
    """All 120 permutations of 5 occur about equally often."""
    keys = draw(np.arange(12_000, dtype=np.uint64), 1)
    five = np.tile(np.arange(5, dtype=np.uint64), len(keys))
    orders = Counter(map(tuple, permute(five, 5, 3, keys.repeat(5)).reshape(-1, 5).tolist()))
    assert len(orders) == 120
    chi_squared = sum((count - 100) ** 2 / 100 for count in orders.values())
    assert chi_squared < 119 + 6 * 15.4


@pytest.mark.parametrize("weights", ["float32", "float64"])
def test_floating_weights(weights):
    weight = whole(random(10, 200_000, weights=weights))[2]
    assert weight.dtype == weights
    assert weight.min() >= 0
    assert weight.max() < 1
    counts = np.bincount((weight * 100).astype(int), minlength=100)
    assert ((counts - 2000) ** 2 / 2000).sum() < 99 + 5 * 14


@pytest.mark.parametrize(
    ("weights", "dtype", "low", "high"),
    [
        ("int:1:1000", "int32", 1, 1000),
        ("int:-3:-3", "int32", -3, -3),
        ("int:-2147483648:2147483647", "int32", -(2**31), 2**31 - 1),
        ("int:0:2147483648", "int64", 0, 2**31),
        ("int64:1:3", "int64", 1, 3),
        ("int8:-128:127", "int8", -128, 127),
        ("uint16:9:11", "uint16", 9, 11),
        ("uint64:0:18446744073709551615", "uint64", 0, 2**64 - 1),
        ("int64:-9223372036854775808:9223372036854775807", "int64", -(2**63), 2**63 - 1),
    ],
)
def test_integer_weights(weights, dtype, low, high):
    weight = whole(random(10, 20_000, weights=weights))[2]
    assert weight.dtype == dtype
    assert low <= int(weight.min()) <= low + (high - low) // 1000
    assert high >= int(weight.max()) >= high - (high - low) // 1000
    if high - low < 2000:
        assert len(np.unique(weight)) == high - low + 1


# The random numbers below.


@given(st.integers(1, 6000), st.integers(0, 2**64 - 1), st.integers(0, 2))
def test_permute_is_a_permutation(size, key, spare):
    permuted = permute(np.arange(size, dtype=np.uint64), size, (size - 1).bit_length() + spare, key)
    assert (np.sort(permuted) == np.arange(size)).all()


@given(st.data())
def test_sample(data):
    total = data.draw(st.integers(1, 30_000))
    kept = data.draw(st.integers(1, total))
    key = data.draw(st.integers(0, 2**64 - 1))
    chosen = np.sort(sample(np.arange(kept, dtype=np.uint64), kept, total, key))
    assert (chosen[1:] > chosen[:-1]).all()
    assert chosen[-1] < total
    start = data.draw(st.integers(0, kept - 1))
    stop = data.draw(st.integers(start + 1, kept))
    np.testing.assert_array_equal(sorted_sample(start, stop, kept, total, key), chosen[start:stop])


def test_draw_is_splitmix64():
    """The first outputs of the reference implementation, whose seed is 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert draw(np.array([1, 2, 3], dtype=np.uint64), 1234567).tolist() == expected


@pytest.mark.parametrize("bound", [1, 3, 2**32 + 1, 3 * 2**62, 2**64])
def test_draw_below(bound):
    words = draw_below(np.arange(30_000, dtype=np.uint64), bound, 1)
    thirds = Counter(3 * word // bound for word in words.tolist())
    assert set(thirds) == (set(range(3)) if bound > 1 else {0})
    assert bound == 1 or max(thirds.values()) < 10_000 + 5 * 82


# Errors.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: random(0, 5), "vertices must be an integer from 1 to"),
        (lambda: random(5, -1), "edges must be an integer from 0 to"),
        (lambda: random(5.0, 1), "vertices must be an integer from 1 to .* not 5.0"),
        (lambda: random(5, 1, seed=-1), "seed must be"),
        (lambda: random(5, 1, seed=2**64), "seed must be"),
        (lambda: rmat(-1), "scale must be"),
        (lambda: rmat(62, 2), "number of edges must be"),
        (lambda: rmat(5, a=0.9), "probabilities with a sum"),
        (lambda: rmat(5, a=-0.1), "probabilities with a sum"),
        (lambda: rmat(5, a=float("nan")), "probabilities with a sum"),
        (lambda: grid(0, 5), "rows must be"),
        (lambda: grid(2**40, 2**40), "number of vertices must be"),
        (lambda: grid(5, 5, keep=1.5), "keep must be between"),
        (lambda: grid(5, 5, keep=float("nan")), "keep must be between"),
        (lambda: caveman(0, 5), "cliques must be"),
        (lambda: caveman(5, 0), "size must be"),
        (lambda: connected_caveman(1, 5), "cliques must be"),
        (lambda: connected_caveman(5, 2), "size must be"),
        (lambda: circulant(10, 5), "vertices must be an integer from 11 to"),
        (lambda: hypercube(58), "dimension must be"),
        (lambda: chain(0), "vertices must be"),
        (lambda: star(0), "vertices must be"),
        (lambda: complete(0), "vertices must be"),
        (lambda: random(1, 5, loops=False), "vertices must be an integer from 2 to"),
        (lambda: chain(5).edges(3, 5), "stop must be an integer from 0 to 4"),
        (lambda: chain(5).edges(3, 2), "start must be an integer from 0 to 2"),
        (lambda: list(chain(5).blocks(0)), "size must be"),
    ],
)
def test_out_of_range(make, message):
    with pytest.raises(OptionError, match=message):
        make()


@pytest.mark.parametrize(
    "weights",
    [
        "float",
        "float16",
        "int",
        "int:1",
        "int:1:2:3",
        "int:2:1",
        "int:a:b",
        "int8:0:128",
        "uint8:-1:3",
        "int:0:9223372036854775808",
        "",
        None,
    ],
)
def test_malformed_weights_option(weights):
    with pytest.raises(OptionError, match="weights must be float32"):
        chain(5, weights=weights)


def test_numpy_integers_are_integers():
    plain = grid(300, 200, keep=0.5, seed=3)
    numpy = grid(
        np.uint8(200) + np.int16(100), np.uint8(200), keep=np.float64(0.5), seed=np.int8(3)
    )
    assert_same(whole(plain), numpy.edges(np.int32(0), np.int32(numpy.num_edges)))


# The command.


def arguments(family):
    return [
        part
        for name, value in FAMILY_SIZES[family].items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]


@pytest.mark.parametrize(
    ("family", "name"),
    [*((family, "out") for family in FAMILIES), ("chain", "out.npz"), ("chain", "out.d/")],
)
def test_command(capsys, tmp_path, family, name):
    out = f"{tmp_path}/{name}"
    options = ["--keep", "0.5", "--seed", "7", "--shuffle-vertices", "--shuffle-edges"]
    options += ["--weights", "int:1:1000", "-o", out]
    assert main(["generate", family, *arguments(family), *options]) == 0
    expected = small(family, **THINNED, weights="int:1:1000")
    assert capsys.readouterr() == (
        f"{expected.num_vertices:,} vertices, {expected.num_edges:,} edges in {out}\n",
        "",
    )
    graph = mstflow.read(out)
    assert graph.num_vertices == expected.num_vertices
    assert_same((graph.u, graph.v, graph.weight), whole(expected))
    assert [path.name for path in tmp_path.iterdir()] == [name.rstrip("/")]
    if not name.endswith(".npz"):
        files = sorted(path.name for path in (tmp_path / name).iterdir())
        assert files == ["n.txt", "u.npy", "v.npy", "w.npy"]


@pytest.mark.parametrize("loops", [True, False])
def test_command_with_a_switch(tmp_path, loops):
    options = ["--vertices", "3", "--edges", "90", "--loops" if loops else "--no-loops"]
    assert main(["generate", "random", *options, "-o", f"{tmp_path}/out"]) == 0
    graph = mstflow.read(tmp_path / "out")
    assert_same((graph.u, graph.v, graph.weight), whole(random(3, 90, loops=loops)))
    assert (graph.u == graph.v).any() == loops


@pytest.mark.parametrize("suffix", ["", *OUTPUTS.split(", ")])
@pytest.mark.parametrize("graph", [chain(1), star(1000, keep=0), grid(50, 50)])
def test_write_in_blocks(tmp_path, suffix, graph):
    path = tmp_path / f"out{suffix}"
    write_table(path, dataclasses.replace(graph.table(), read=lambda _: graph.blocks(999)))
    read = mstflow.read(path, num_vertices=graph.num_vertices)
    expected = whole(graph)
    if suffix in ("", ".npz", ".parquet"):
        assert_same((read.u, read.v, read.weight), expected)
    else:  # text has no dtypes, and Matrix Market only entries below the diagonal
        found, known = (np.sort(columns[:2], axis=0) for columns in ((read.u, read.v), expected))
        np.testing.assert_array_equal(found, known)
        np.testing.assert_array_equal(read.weight.astype(expected[2].dtype), expected[2])


@pytest.mark.parametrize("name", ["out", "out.npz"])
def test_failed_writing_leaves_nothing(tmp_path, name):
    graph = FAMILIES["chain"](100)

    def read(size):
        yield graph.edges(0, 10)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / name
    with pytest.raises(OptionError, match=rf"^{path}: No space left on device after \d+ bytes$"):
        write_table(path, dataclasses.replace(graph.table(), read=read))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "required: FAMILY"),
        ("lattice -o {}/out", "invalid choice: 'lattice'"),
        ("chain --vertices 5", "required: -o/--output"),
        ("grid --rows 5 -o {}/out", "required: --columns"),
        ("chain --vertices five -o {}/out", "expected a whole number, found 'five'"),
        ("chain --vertices 0 -o {}/out", "vertices must be an integer from 1 to"),
        ("chain --vertices 5 --weights int -o {}/out", "weights must be float32"),
        ("chain --vertices 5 --keep 2 -o {}/out", "keep must be between 0 and 1, not 2.0"),
        ("chain --vertices 5 --rows 5 -o {}/out", "unrecognized arguments: --rows 5"),
        ("chain --vertices 5 -o {}/out.xyz", "cannot write '.xyz'"),
        ("chain --vertices 5 -o {}/no/out", "does not exist"),
        ("chain --vertices 5 -o {}/full", "the folder is not empty"),
    ],
)
def test_command_on_bad_input(capsys, tmp_path, line, message):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert message in error_of(capsys, tmp_path, ["generate", *line.format(tmp_path).split()])
