"""Tests that compare each primitive of each array module with a loop in plain Python."""

import functools
import itertools
import random
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import primitive_cases  # noqa: F401  # it adds those of points
from mstflow.pointsets.primitives.blocks import Blocks
from mstflow.pointsets.primitives.searches import Proximity
from mstflow.primitives import backends, vocabulary
from mstflow.primitives.hierarchies import Hierarchies
from mstflow.primitives.joins import Joins, helper_ranges
from mstflow.primitives.numpy_arrays import NumpyArrays
from mstflow.primitives.paths import Paths
from mstflow.primitives.vocabulary import ArrayModule
from mstflow.runtime.sizes import tuned
from mstflow.testing.primitive_cases import (
    ALL,
    CASES,
    INDEX,
    Draws,
    any_roots,
    compare,
    extremes,
    joined_by_key,
    scatter_min_pairs,
    some_index,
)


def check(layouts, name, dtype, n, case):
    """Compare the result of a primitive with the expected one, for each layout of arguments."""
    args, options, expected = case
    for layout, ops in layouts.items():
        try:
            compare(name, getattr(ops, name)(*args, **options), expected)
        except Exception as error:
            error.add_note(f"{name} of {dtype}, {n} elements, {layout}")
            raise


@functools.cache
def built(name, dtype, n):
    """Return a case, cached for all modules: most take longer to build than to check."""
    dtypes, build = CASES[name]
    return build(Draws(n, dtypes.index(dtype)), dtype, n)


@functools.cache
def drawn(name, seed):
    """Return a dtype, a length and a case of them, also cached.

    Each dtype comes with one choice of the others; more than 100 examples mix all dtypes.
    """
    dtypes, build = CASES[name]
    combination = seed if seed >= 100 else seed % max(len(dtypes), 5)
    dtype, rng = dtypes[combination % len(dtypes)], Draws(seed, combination)
    n = rng.randrange(21)
    return dtype, n, build(rng, dtype, n)


def primitives_of(protocol):
    return {name for name in vars(protocol) if not name.startswith("_")}


def test_the_table_of_the_vocabulary_is_complete():
    rows = re.findall(r"(?m)^\| ([a-z_, ]+?) +\|", vocabulary.__doc__)
    listed = [name for row in rows for name in row.split(", ") if row != "primitive"]
    assert sorted(listed) == sorted(primitives_of(ArrayModule))


def test_each_primitive_has_a_case():
    """`pointsets/test_blocks.py` tests those of `primitives.blocks`, on blocks of few points."""
    protocols = ArrayModule, Joins, Hierarchies, Paths, Proximity, Blocks
    names = set().union(*map(primitives_of, protocols))
    assert names - CASES.keys() == primitives_of(Blocks)


@pytest.mark.parametrize("name", CASES)
def test_small_arrays(layouts, name, examples):
    """Layouts take turns, in another order for each round of dtypes."""
    turns = [*layouts.items()]
    for seed in range(examples):
        layout, ops = turns[(seed + seed // len(CASES[name][0])) % len(turns)]
        check({layout: ops}, name, *drawn(name, seed))


@pytest.mark.parametrize("name", CASES)
def test_each_dtype(layouts, name):
    """Layouts take turns, so any two of a dtype, a length and a layout meet."""
    turns = [*layouts.items()]
    for place, dtype in enumerate(CASES[name][0]):
        for turn, n in enumerate((0, 1, 500), start=place):
            layout, ops = turns[turn % len(turns)]
            check({layout: ops}, name, dtype, n, built(name, dtype, n))


@pytest.mark.parametrize("name", CASES)
def test_large_arrays(layouts, share, name):
    """More elements than a thread, a block or a 16-bit position takes: whole tiles, or one more.

    Only kernels for a GPU have tiles. One layout is enough: modules copy strided arrays before they
    divide the work.
    """
    first, *_, last = CASES[name][0][-2:] * 2
    sizes = {last: 274 // share * 256 + 1}
    if "cupy" in backends():
        sizes[first] = 274 // share * 256
    for dtype, n in sizes.items():
        check({"contiguous": layouts["contiguous"]}, name, dtype, n, built(name, dtype, n))


def test_empty_arrays_can_be_written_to(module):
    for dtype in ALL:
        values = module.empty(9, dtype)
        values[:] = module.asarray(np.arange(9) % 2, dtype)
        assert_array_equal(module.to_host(values), (np.arange(9) % 2).astype(dtype), strict=True)


@pytest.mark.parametrize("span_bits", [60, 61, 62, 64])
@pytest.mark.parametrize(("dtype", "lowest"), [("uint64", 0), ("int64", -(2**63))])
def test_values_and_positions_that_just_fit_in_a_word(ops, dtype, lowest, span_bits):
    """Six positions take 3 bits, so values of 61 bits fit in the same word, and 62 do not."""
    largest, half = 2**span_bits - 1, 2 ** (span_bits - 1)
    values = np.array([lowest + x for x in (half, largest, 0, largest, 0, half)], dtype)
    assert ops.argsort(values).tolist() == [2, 4, 0, 5, 1, 3]
    assert ops.segmented_argmin(values, np.array([0, 0, 6])).tolist() == [6, 2]
    if dtype == "uint64":
        places = np.array([1, 0, 1, 0, 1, 1])  # the largest alone at place 0
        assert ops.scatter_argmin((places,), values, 3).tolist() == [1, 2, 6]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("size", [2**19 - 1, 2**19, 2**19 + 1, 2**20 + 1])
def test_many_consecutive_integers(module, dtype, size):
    numbers = module.to_host(module.arange(size, dtype))
    assert_array_equal(numbers, np.arange(size, dtype=dtype), strict=True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_repeated_negative_zero_keeps_its_sign(module, dtype):
    every, none = (module.asarray(np.arange(size)) for size in (3, 0))
    ones = module.full(3, 1, dtype)
    offsets = module.asarray(np.array([0, 0, 3]))
    results = {
        "full": module.full(3, -0.0, dtype),
        "full of a scalar": module.full(3, np.dtype(dtype).type(-0.0), dtype),
        "where": module.where(ones > 1, ones, -0.0),
        "scatter": module.scatter(every, -0.0, 3, 1, dtype),
        "fill of scatter": module.scatter(none, ones[:0], 3, -0.0, dtype),
        "fill of gather": module.gather(ones[:0], every * 0, fill=-0.0),
        "initial of segmented_reduce": module.segmented_reduce(ones, offsets, "sum", -0.0)[:1],
    }
    with tuned(copied_to_device=8):
        results["asarray"] = module.asarray(np.broadcast_to(np.array(-0.0, dtype), 9))
    for name, result in results.items():
        values = module.to_host(result)
        assert values.dtype == dtype, name
        assert np.signbit(values).all(), name
        assert not values.any(), name


@pytest.mark.parametrize("descending", [False, True])
def test_order_key_of_all_short_weights_and_many_long_ones(ops, descending):
    for dtype in ALL:
        unsigned = np.dtype(f"u{dtype.itemsize}")
        if dtype.kind == "b":
            weights = extremes(dtype)
        elif dtype.itemsize <= 2:
            weights = np.arange(2 ** (8 * dtype.itemsize)).astype(unsigned).view(dtype)
        else:
            bits = np.frombuffer(random.Random(0).randbytes(10_000 * dtype.itemsize), dtype)
            weights = np.concatenate([extremes(dtype), bits])
        weights = np.sort(weights[weights == weights])  # no NaN
        key = ops.order_key(weights, descending=descending)
        back = ops.weights_of(key, dtype, descending=descending)
        assert_array_equal(back, weights, strict=True)
        if descending:
            weights, key = weights[::-1], key[::-1]
        assert key.dtype == unsigned
        assert_array_equal(key[1:] != key[:-1], weights[1:] != weights[:-1])
        assert (key[1:] >= key[:-1]).all()


def test_pointer_jump_on_a_long_path(ops, share):
    last = 10_000 // share - 1
    for dtype in INDEX:
        node = np.arange(last + 1, dtype=dtype)
        assert_array_equal(ops.pointer_jump(np.maximum(node - 1, 0)), 0)
        assert_array_equal(ops.pointer_jump(np.minimum(node + 1, last)), last)


def test_ids_may_be_consecutive(ops, examples):
    for seed in range(examples):
        check_consecutive(ops, Draws(seed, seed % 4))


def check_consecutive(ops, rng):
    dtype, n, first = rng.choice(INDEX), rng.randrange(41), rng.randrange(101)
    ids, stand_in = np.arange(first, first + n, dtype=dtype), ops.consecutive(first, n, dtype=dtype)
    (u, v, key, _, size), *_ = scatter_min_pairs(rng, np.dtype("uint16"), n)
    limit, index = int(key.max(initial=0)) // 2, some_index(rng, max(n, 1), n)
    label = some_index(rng, size, size)
    for name, call in {
        "compact_pairs": lambda ids: ops.compact_pairs(u, v, key, limit, u.dtype, ids),
        "relabel_pairs": lambda ids: ops.relabel_pairs(label, u, v, key, ids),
        "scatter_min_pairs": lambda ids: ops.scatter_min_pairs(u, v, key, ids, size),
        "gather": lambda ids: ops.gather(ids, index),
        "compact": lambda ids: ops.compact(key <= limit, ids),
    }.items():
        compare(name, call(stand_in), call(ids))


def test_join_by_key_with_keys_that_differ_in_low_bits(ops, share):
    """The keys have 64 bits; many upper halves are equal, and the lower ones descend."""
    rng, n = np.random.default_rng(0), 20_000 // share
    u, v = rng.integers(0, n, (2, n), np.int32)
    for clusters in (1, 100, n):
        key = rng.integers(0, clusters, n, np.uint64) << np.uint64(40)
        key |= np.arange(n, dtype=np.uint64)[::-1]
        expected = any_roots(*joined_by_key(u, v, key, n))
        compare("join_by_key", ops.join_by_key(u, v, key, n), expected)


@functools.cache
def pairs_inside_a_set(bits, n):
    rng, size = np.random.default_rng(bits), n * 3 // 100
    u, v = rng.integers(0, size, (2, n), dtype=np.int32)
    key = rng.integers(0, 2**bits, n, np.uint64).astype("u8" if bits > 32 else "u4")
    return (u, v, key, size), any_roots(*joined_by_key(u, v, key, size))


@pytest.mark.parametrize("bits", [10, 32, 64])
def test_join_by_key_with_most_pairs_inside_a_set(ops, share, bits):
    """Several threads may filter runs while others are joined."""
    arguments, expected = pairs_inside_a_set(bits, 300_000 // share)
    compare("join_by_key", ops.join_by_key(*arguments), expected)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_the_ranges_of_helpers_cover_all_pairs(threads):
    for length, size in itertools.product(range(200), (0, 90, 300)):
        parts = helper_ranges(length, size, threads)
        assert [start for start, _ in parts] == [0, *(stop for _, stop in parts[:-1])]
        assert (len(parts), parts[-1][1]) == (threads, length)
        assert parts[0][1] >= min(size, length)
    layouts = {f"{threads} threads": NumpyArrays(threads)}
    for n in range(40):
        check(layouts, "join_with_helpers", "int32", n, built("join_with_helpers", INDEX[0], n))


def test_helpers_reject_pairs_inside_a_set():
    u, v = np.array([0, 1, 1, 0, 0, 2, 2, 2]), np.array([1, 0, 2, 2, 1, 2, 3, 3])
    joining, rejected = NumpyArrays(2).join_with_helpers(u, v, 4)
    assert (joining.tolist(), rejected) == ([0, 2, 6], 2)  # the helper rejects pairs 4 and 5
    assert NumpyArrays(1).join_with_helpers(u, v, 4)[1] == 0


@pytest.mark.parametrize("most", [None, 0, 77])
def test_relabel_pairs_with_a_most_frequent_label(ops, share, most):
    """The Numba module summarises large numbers of labels; the test lowers its threshold."""
    draw = np.random.default_rng(8)
    size, n = 200_001 // share, 250_000 // share
    label = draw.integers(0, size // 2, size, dtype=np.int32)
    if most is not None:
        label[draw.random(size) < 0.9] = most
    u, v = draw.integers(0, size, (2, n), dtype=np.int32)
    key, ids = draw.integers(0, 9, n, dtype=np.uint32), np.arange(n, dtype=np.int32)
    unlike = label[u] != label[v]
    expected = tuple(column[unlike] for column in (label[u], label[v], key, ids))
    with tuned(summarised_labels=2**10):
        compare("relabel_pairs", ops.relabel_pairs(label, u, v, key, ids), expected)
