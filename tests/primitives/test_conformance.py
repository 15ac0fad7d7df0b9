"""Conformance: every primitive of every array module against a plain definition, and its laws."""

import functools
import itertools
import math
import operator
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from mstflow.primitives.joins import helper_parts
from mstflow.primitives.numpy_arrays import NumpyArrays

INDEX = [np.dtype(name) for name in ("int32", "int64")]
UNSIGNED = [np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)]
INTEGERS = [*(np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)), *UNSIGNED]
NUMBERS = [*INTEGERS, *(np.dtype(f"float{bits}") for bits in (16, 32, 64))]
ALL = [np.dtype(bool), *NUMBERS]

FOLD = {"min": min, "max": max, "sum": operator.add, "add": operator.add}

#: Primitives that may return either of two equal values: -0.0 or 0.0.
EITHER_ZERO = {"minimum", "maximum", "segmented_reduce", "scatter_reduce", "sort"}


# What to call a primitive with. `rng` is a `random.Random`, Hypothesis's own where it can shrink.


def extremes(dtype):
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        info = np.finfo(dtype)
        sizes = [0, info.smallest_subnormal, info.tiny, 1, info.max, np.inf]
        return np.array([*sizes, *np.negative(sizes)], dtype)
    info = np.iinfo(dtype)
    return np.array([info.min, info.max, 0, 1, info.max // 2 + 1 if info.min == 0 else -1], dtype)


def some_values(rng, dtype, n):
    """Few distinct values, extremes and random bits: ties are the rule."""
    pool = extremes(dtype)
    if dtype.kind != "b":
        bits = [rng.getrandbits(8 * dtype.itemsize) for _ in range(4)]
        drawn = np.array(bits, f"u{dtype.itemsize}").view(dtype)
        pool = np.concatenate([pool, drawn[drawn == drawn]])  # no NaN
    few = rng.choices(range(len(pool)), k=rng.randint(1, 6))
    return pool[np.array(rng.choices(few, k=n), np.int64)]


def small_values(rng, dtype, n):
    """Values whose sums no dtype rounds or overflows."""
    filled = min(n, 100)
    most = 100 // max(filled, 1)
    least = 0 if dtype.kind in "bu" else -most
    drawn = [rng.randint(least, most) for _ in range(filled)]
    positions = rng.sample(range(n), filled)
    values = np.zeros(n, dtype)
    values[np.array(positions, np.int64)] = drawn
    return values


def some_index(rng, bound, n):
    return np.array([rng.randrange(bound) for _ in range(n)], rng.choice(INDEX))


def some_offsets(rng, m):
    """Offsets of several segments, empty ones among them, and of none if `m` is 0."""
    if not m and rng.randrange(2):
        return np.zeros(1, rng.choice(INDEX))
    cuts = [rng.randint(0, m) for _ in range(rng.randint(0, m // 2 + 3))]
    return np.array([0, *sorted(cuts), m], rng.choice(INDEX))


def array_or_item(rng, values):
    """`values`, or one of them where a primitive takes both: (argument, what it is to mean)."""
    if rng.randrange(2) or not len(values):
        return values, values.tolist()
    return values[0].item(), [values[0].item()] * len(values)


def segments(values, offsets):
    items = values.tolist()
    return [items[start:stop] for start, stop in itertools.pairwise(offsets.tolist())]


# What primitives must return: each case gives arguments, options and the expected result.

CASES = {}


def case(dtypes):
    def register(build):
        CASES[build.__name__] = (dtypes, build)
        return build

    return register


def positions(values, none):
    return np.array(values, np.int32 if none < 2**31 else np.int64)


@case(ALL)
def asarray(rng, dtype, n):
    values = some_values(rng, dtype, n)
    return (values.tolist(),), {"dtype": dtype}, values


@case(ALL)
def to_host(rng, dtype, n):
    values = some_values(rng, dtype, n)
    return (values,), {}, values


@case(INTEGERS)
def iota(rng, dtype, n):
    n = min(n, 128)  # what fits int8
    return (n,), {"dtype": dtype}, np.array(list(range(n)), dtype)


@case(ALL)
def full(rng, dtype, n):
    value = some_values(rng, dtype, 1)[0].item()
    return (n, value), {"dtype": dtype}, np.array([value] * n, dtype)


@case(ALL)
def where(rng, dtype, n):
    mask = some_values(rng, np.dtype(bool), n)
    yes = some_values(rng, dtype, n)
    no, nos = array_or_item(rng, some_values(rng, dtype, n))
    chosen = [y if flag else x for flag, y, x in zip(mask, yes.tolist(), nos, strict=True)]
    return (mask, yes, no), {}, np.array(chosen, dtype)


@case(NUMBERS)
def minimum(rng, dtype, n, choose=min):
    left = some_values(rng, dtype, n)
    right, rights = array_or_item(rng, some_values(rng, dtype, n))
    return (left, right), {}, np.array(list(map(choose, left.tolist(), rights)), dtype)


@case(NUMBERS)
def maximum(rng, dtype, n):
    return minimum(rng, dtype, n, choose=max)


@case(ALL)
def concatenate(rng, dtype, n):
    arrays = [some_values(rng, dtype, rng.randint(0, n)) for _ in range(rng.randint(1, 3))]
    return (arrays,), {}, np.array([x for array in arrays for x in array.tolist()], dtype)


@case([np.dtype(bool)])
def count(rng, dtype, n):
    mask = some_values(rng, dtype, n)
    return (mask,), {}, mask.tolist().count(True)


@case([np.dtype(bool), *INTEGERS])
def scan(rng, dtype, n):
    values, exclusive = small_values(rng, dtype, n), rng.choice([False, True])
    options = {"dtype": rng.choice(INDEX), "exclusive": exclusive}
    sums = list(itertools.accumulate(values.tolist(), initial=0))
    return (values,), options, np.array(sums[:-1] if exclusive else sums[1:], options["dtype"])


@case(INTEGERS)
def offsets(rng, dtype, n):
    lengths, sum_dtype = abs(small_values(rng, dtype, n)), rng.choice(INDEX)
    sums = list(itertools.accumulate(lengths.tolist(), initial=0))
    return (lengths,), {"dtype": sum_dtype}, np.array(sums, sum_dtype)


@case(NUMBERS)
def segmented_reduce(rng, dtype, n):
    op = rng.choice(["min", "max", "sum"])
    values = small_values(rng, dtype, n) if op == "sum" else some_values(rng, dtype, n)
    offsets, initial = some_offsets(rng, n), some_values(rng, dtype, 1)[0].item()
    parts = segments(values, offsets)
    reduced = [functools.reduce(FOLD[op], part) if part else initial for part in parts]
    return (values, offsets, op, initial), {}, np.array(reduced, dtype)


@case(ALL)
def segmented_argmin(rng, dtype, n):
    values, offsets = some_values(rng, dtype, n), some_offsets(rng, n)
    parts = zip(offsets.tolist(), segments(values, offsets), strict=False)
    first = [start + part.index(min(part)) if part else n for start, part in parts]
    return (values, offsets), {}, positions(first, n)


@case(ALL)
def segmented_broadcast(rng, dtype, n):
    offsets = some_offsets(rng, n)
    values = some_values(rng, dtype, len(offsets) - 1)
    pairs = zip(values.tolist(), np.diff(offsets).tolist(), strict=True)
    repeated = [value for value, length in pairs for _ in range(length)]
    return (values, offsets), {}, np.array(repeated, dtype)


@case(ALL)
def scatter(rng, dtype, n):
    size = n + rng.randint(0, 3)
    index = np.array(rng.sample(range(size), n), rng.choice(INDEX))
    values, items = array_or_item(rng, some_values(rng, dtype, n))
    fill = some_values(rng, dtype, 1)[0].item()
    target = [fill] * size
    for place, value in zip(index.tolist(), items, strict=True):
        target[place] = value
    return (index, values, size, fill), {"dtype": dtype}, np.array(target, dtype)


@case(NUMBERS)
def scatter_reduce(rng, dtype, n):
    op = rng.choice(["min", "max", "add"])
    draw = small_values if op == "add" else some_values
    values, initial, size = draw(rng, dtype, n), draw(rng, dtype, 1)[0].item(), n // 2 + 1
    if op == "add" and dtype.itemsize == 1:
        initial = 0  # leaves no room for more
    index = some_index(rng, size, n)
    target = [initial] * size
    for place, value in zip(index.tolist(), values.tolist(), strict=True):
        target[place] = FOLD[op](target[place], value)
    return (index, values, size, op, initial), {}, np.array(target, dtype)


@case(UNSIGNED)
def scatter_argmin(rng, dtype, n):
    values, size = some_values(rng, dtype, n), n // 2 + 1
    indices = tuple(some_index(rng, size, n) for _ in range(rng.randint(1, 2)))
    first = [n] * size
    for position, value in enumerate(values):
        for index in indices:
            best = first[index[position]]
            if best == n or value < values[best]:
                first[index[position]] = position
    return (indices, values, size), {}, positions(first, n)


@case(ALL)
def gather(rng, dtype, n):
    values = some_values(rng, dtype, rng.randint(0, n))
    has_fill = bool(rng.randrange(2)) or not len(values)
    index = some_index(rng, len(values) + has_fill, n)
    fill, fills = array_or_item(rng, some_values(rng, dtype, n))
    if dtype == np.int32 and isinstance(fill, np.ndarray):
        fill = fill.astype(np.int64)  # the result still has the dtype of `values`
    items = values.tolist()
    found = [items[i] if i < len(items) else x for i, x in zip(index, fills, strict=True)]
    return (values, index), {"fill": fill} if has_fill else {}, np.array(found, dtype)


@case(ALL)
def compact(rng, dtype, n):
    mask = some_values(rng, np.dtype(bool), n)
    arrays = [some_values(rng, d, n) for d in (dtype, rng.choice(ALL))[: rng.randint(0, 2)]]
    selected = tuple(
        np.array([x for x, flag in zip(array.tolist(), mask, strict=True) if flag], array.dtype)
        for array in arrays
    )
    return (mask, *arrays), {}, selected


@case(ALL)
def sort(rng, dtype, n):
    values = some_values(rng, dtype, n)
    return (values,), {}, np.array(sorted(values.tolist()), dtype)


@case(ALL)
def argsort(rng, dtype, n):
    values = some_values(rng, dtype, n)
    return (values,), {}, positions(sorted(range(n), key=values.tolist().__getitem__), n)


@case(ALL)
def any_signed(rng, dtype, n):
    weights = some_values(rng, dtype, n)
    return (weights,), {}, any(math.copysign(1, weight) < 0 for weight in weights.tolist())


@case(INDEX)
def pointer_jump(rng, dtype, n):
    name = rng.sample(range(n), n)
    parent, root = np.zeros((2, n), dtype)
    is_deep = rng.randrange(2)
    for node in range(n):  # parents come before their children, so their roots are known
        above = max(node - 1, 0) if is_deep and rng.randrange(20) else rng.randint(0, node)
        parent[name[node]] = name[above]
        root[name[node]] = name[node] if above == node else root[name[above]]
    return (parent,), {}, root


def check(ops, name, rng, dtype, n):
    args, options, expected = CASES[name][1](rng, dtype, n)
    results = getattr(ops, name)(*args, **options)
    if not isinstance(expected, tuple):
        results, expected = (results,), (expected,)
    for result, one in zip(results, expected, strict=True):
        assert type(result) is type(one)
        assert_array_equal(result, one, strict=True)
        if name not in EITHER_ZERO:
            assert np.asarray(result).tobytes() == np.asarray(one).tobytes()


@pytest.mark.parametrize("dtype", ALL)
def test_memory_for_values_to_come(module, dtype):
    values = module.empty(9, dtype)
    values[:] = module.asarray(np.arange(9) % 2, dtype)
    assert_array_equal(module.to_host(values), (np.arange(9) % 2).astype(dtype), strict=True)


@pytest.mark.parametrize("name", CASES)
@given(rng=st.randoms(), n=st.integers(0, 20))
def test_definition(ops, name, rng, n):
    check(ops, name, rng, rng.choice(CASES[name][0]), n)


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name, (dtypes, _) in CASES.items() for dtype in dtypes]
)
def test_definition_of_each_dtype(ops, name, dtype):
    for n in [*range(9), 500]:
        check(ops, name, random.Random(n), dtype, n)


@pytest.mark.parametrize("name", CASES)
def test_definition_of_large_arrays(ops, name):
    """More elements than one thread, block or 16-bit position takes."""
    check(ops, name, random.Random(0), CASES[name][0][-1], 70_000)


@pytest.mark.parametrize("span_bits", [60, 61, 62, 64])
@pytest.mark.parametrize(("dtype", "lowest"), [("uint64", 0), ("int64", -(2**63))])
def test_first_smallest_where_value_and_position_fill_a_word(ops, dtype, lowest, span_bits):
    """Six positions take 3 bits: 61 bits of value fit into the same word, 62 do not."""
    largest, half = 2**span_bits - 1, 2 ** (span_bits - 1)
    values = np.array([lowest + x for x in (half, largest, 0, largest, 0, half)], dtype)
    assert ops.argsort(values).tolist() == [2, 4, 0, 5, 1, 3]
    assert ops.segmented_argmin(values, np.array([0, 0, 6])).tolist() == [6, 2]
    if dtype == "uint64":
        places = np.array([1, 0, 1, 0, 1, 1])  # the largest alone at place 0
        assert ops.scatter_argmin((places,), values, 3).tolist() == [1, 2, 6]


def test_index_dtype_and_largest(ops):
    dtypes = [ops.index_dtype(size) for size in (0, 2**31 - 1, 2**31)]
    assert dtypes == ["int32", "int32", "int64"]
    assert [ops.largest(dtype) for dtype in INTEGERS] == [np.iinfo(d).max for d in INTEGERS]
    assert [ops.largest(dtype) for dtype in ("f2", "f4", "f8", "?")] == [math.inf] * 3 + [True]


@given(rng=st.randoms(), n=st.integers(0, 20))
def test_order_key_compares_as_weights_do(ops, rng, n):
    weights = some_values(rng, rng.choice(ALL), n)
    up, down = ops.order_key(weights), ops.order_key(weights, descending=True)
    assert up.dtype == down.dtype == np.dtype(f"u{weights.itemsize}")
    ranks, up_ranks, down_ranks = (
        np.unique(values, return_inverse=True)[1] for values in (weights, up, down)
    )
    assert_array_equal(up_ranks, ranks)
    assert_array_equal(down_ranks, ranks.max(initial=0) - ranks)


@given(rng=st.randoms(), n=st.integers(0, 20), descending=st.booleans())
def test_weights_of_undoes_order_key(ops, rng, n, descending):
    weights = some_values(rng, rng.choice(ALL), n)
    key = ops.order_key(weights, descending=descending)
    found = ops.weights_of(key, weights.dtype, descending=descending)
    expected = np.where(weights == 0, np.zeros(n, weights.dtype), weights)  # no -0.0
    assert_array_equal(found, expected, strict=True)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_order_key_of_every_short_weight_and_many_long_ones(ops, dtype, descending):
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
    if descending:
        weights, key = weights[::-1], key[::-1]
    assert key.dtype == unsigned
    assert_array_equal(key[1:] != key[:-1], weights[1:] != weights[:-1])
    assert (key[1:] >= key[:-1]).all()


@pytest.mark.parametrize("dtype", INDEX, ids=str)
def test_pointer_jump_on_a_path_of_10_000(ops, dtype):
    node = np.arange(10_000, dtype=dtype)
    assert_array_equal(ops.pointer_jump(np.maximum(node - 1, 0)), 0)
    assert_array_equal(ops.pointer_jump(np.minimum(node + 1, 9_999)), 9_999)


@given(rng=st.randoms(), n=st.integers(0, 20), k=st.integers(0, 22))
def test_partition_puts_the_k_smallest_first(ops, rng, n, k):
    values = some_values(rng, rng.choice(ALL), n)
    parted = ops.partition(values, k)
    assert parted.dtype == values.dtype
    assert sorted(parted[:k].tolist()) == sorted(values.tolist())[:k]
    assert parted[k : k + 1].tolist() == sorted(values.tolist())[k : k + 1]
    assert sorted(parted.tolist()) == sorted(values.tolist())


@given(rng=st.randoms(), n=st.integers(0, 20))
def test_laws(ops, rng, n):
    values = some_values(rng, rng.choice(ALL), n)
    place = np.array(rng.sample(range(n), n), rng.choice(INDEX))
    moved = ops.scatter(place, values, n, 0, dtype=values.dtype)
    assert_array_equal(ops.gather(moved, place), values, strict=True)
    order = ops.argsort(values)
    assert_array_equal(ops.gather(values, order), ops.sort(values), strict=True)
    inclusive, exclusive = (ops.scan(place, dtype="int64", exclusive=x) for x in (False, True))
    assert_array_equal(exclusive + place, inclusive)


@given(rng=st.randoms(), n=st.integers(0, 20), op=st.sampled_from(["min", "max"]))
def test_reducing_what_was_broadcast_gives_it_back(ops, rng, n, op):
    offsets, dtype = some_offsets(rng, n), rng.choice(NUMBERS)
    values = some_values(rng, dtype, len(offsets) - 1)
    reduced = ops.segmented_reduce(ops.segmented_broadcast(values, offsets), offsets, op, 1)
    assert_array_equal(reduced, np.where(np.diff(offsets) > 0, values, 1), strict=True)


# Fused primitives: every override against its definition in plain primitives, bit for bit.


def some_pairs(rng, size, n):
    u, v = some_index(rng, size, n), some_index(rng, size, n)
    return u, v.astype(u.dtype)


def some_ids(rng, n):
    return np.array(sorted(rng.sample(range(3 * n + 1), n)), rng.choice(INDEX))


def compact_pairs(rng, n):
    key = some_values(rng, rng.choice(UNSIGNED), n)
    limit = rng.choice([0, *key.tolist(), int(np.iinfo(key.dtype).max)])
    columns = [some_ids(rng, n) for _ in range(rng.randint(0, 2))]
    return (*some_pairs(rng, n // 2 + 1, n), key, limit, rng.choice(INDEX), *columns)


def relabel_pairs(rng, n):
    size = n // 2 + 1
    label = some_index(rng, rng.choice([1, 2, size]), size)
    columns = [some_values(rng, rng.choice(UNSIGNED), n), some_ids(rng, n), some_ids(rng, n)]
    return (label, *some_pairs(rng, size, n), *columns[: rng.choice([0, 1, 2, 2, 2, 3])])


def scatter_min_pairs(rng, n):
    size = n // 2 + 2
    u = some_index(rng, size, n)
    v = (u + np.array([rng.randint(1, size - 1) for _ in range(n)], u.dtype)) % size
    key = some_values(rng, rng.choice(UNSIGNED), n)
    return u, v.astype(u.dtype), key, some_ids(rng, n), size


def cut_mirrors(rng, n):
    u, v, key, ids, size = scatter_min_pairs(rng, n)
    _, best, target = NumpyArrays().scatter_min_pairs(u, v, key, ids, size)
    return target, best


def number_roots(rng, n):
    root = NumpyArrays().pointer_jump(CASES["pointer_jump"][1](rng, rng.choice(INDEX), n)[0][0])
    _, first, tree = np.unique(root, return_index=True, return_inverse=True)
    return (rng.choice([root, first[tree].astype(root.dtype)]),)


def sort_distinct(rng, n):
    lowest = rng.choice([-40, 0, 5, 2**33])
    values = [lowest + x for x in rng.sample(range(rng.choice([1, 100]) * n + 1), n)]
    cut = rng.randint(0, n)
    parts = values[:cut], values[cut:]
    return (tuple(np.array(part, "i8" if lowest > 5 else rng.choice(INDEX)) for part in parts),)


def join_in_order(rng, n):
    size = n // rng.choice([1, 2, 10]) + 1
    return (*some_pairs(rng, size, n), size)


def join_by_key(rng, n):
    """Keys that differ in few bits or many, at the top or the bottom, and some that do not."""
    dtype = rng.choice(UNSIGNED)
    alike = rng.randint(0, 8 * dtype.itemsize)
    low = np.array([rng.getrandbits(8 * dtype.itemsize) >> alike for _ in range(n)], dtype)
    high = some_values(rng, dtype, n) if rng.randrange(2) else np.zeros(n, dtype)
    u, v, size = join_in_order(rng, n)
    return u, v, low | high, size


def find(rng, n):
    parent = CASES["pointer_jump"][1](rng, rng.choice(INDEX), n + 1)[0][0]
    return parent, some_index(rng, n + 1, n)


FUSED = (
    compact_pairs,
    relabel_pairs,
    scatter_min_pairs,
    cut_mirrors,
    number_roots,
    sort_distinct,
    join_in_order,
    join_by_key,
    find,
)


def check_fused(ops, draw, rng, n):
    arguments = draw(rng, n)
    results = getattr(ops, draw.__name__)(*arguments)
    expected = getattr(NumpyArrays(), draw.__name__)(*arguments)
    if not isinstance(expected, tuple):
        results, expected = (results,), (expected,)
    assert len(results) == len(expected)
    for result, one in zip(results, expected, strict=True):
        assert_array_equal(result, one, strict=isinstance(one, np.ndarray))


@pytest.mark.parametrize("draw", FUSED)
@given(rng=st.randoms(), n=st.integers(0, 40))
def test_override_equals_definition(ops, draw, rng, n):
    check_fused(ops, draw, rng, n)


@pytest.mark.parametrize("draw", FUSED)
def test_override_equals_definition_on_large_arrays(ops, draw):
    for seed in range(3):
        check_fused(ops, draw, random.Random(seed), 70_000)


@given(rng=st.randoms(), n=st.integers(0, 40), first=st.integers(0, 100))
def test_ids_may_be_consecutive(ops, rng, n, first):
    ids = np.arange(first, first + n, dtype=rng.choice(INDEX))
    stand_in = ops.consecutive(first, n, dtype=ids.dtype)
    for part in (slice(None), slice(n // 2, None), slice(None, None, 3), slice(-2, -1)):
        assert_array_equal(stand_in[part], ids[part], strict=True)
    assert_array_equal((stand_in & 3) == 0, (ids & 3) == 0, strict=True)
    assert n == 0 or (stand_in[0], stand_in[-1], stand_in.max()) == (first, ids[-1], ids[-1])
    u, v, key, _, size = scatter_min_pairs(rng, n)
    limit, index = int(key.max(initial=0)) // 2, some_index(rng, max(n, 1), n)
    for name, arguments in {
        "compact_pairs": (u, v, key, limit, u.dtype),
        "relabel_pairs": (some_index(rng, size, size), u, v, key),
    }.items():
        primitive = getattr(ops, name)
        for result, expected in zip(primitive(*arguments, stand_in), primitive(*arguments, ids),
                                    strict=True):  # fmt: skip
            assert_array_equal(result, expected, strict=True)
    for result, expected in zip(
        ops.scatter_min_pairs(u, v, key, stand_in, size),
        ops.scatter_min_pairs(u, v, key, ids, size),
        strict=True,
    ):
        assert_array_equal(result, expected, strict=True)
    assert_array_equal(ops.gather(stand_in, index), ids[index], strict=True)
    (kept,) = ops.compact(key <= limit, stand_in)
    assert_array_equal(kept, ids[key <= limit], strict=True)


def test_keys_that_differ_below_what_is_dealt_and_sorted_by(ops):
    """Sixty-four bits, long runs of equal upper halves, and lower ones that descend."""
    rng, n = np.random.default_rng(0), 20_000
    u, v = rng.integers(0, n, (2, n))
    for clusters in (1, 100, n):
        key = rng.integers(0, clusters, n, np.uint64) << np.uint64(40)
        key |= np.arange(n, dtype=np.uint64)[::-1]
        for result, expected in zip(
            ops.join_by_key(u.astype(np.int32), v.astype(np.int32), key, n),
            NumpyArrays().join_by_key(u, v, key, n),
            strict=True,
        ):
            assert_array_equal(result, expected)


@pytest.mark.parametrize("bits", [10, 32, 64])
def test_runs_of_which_most_lies_inside_a_set(ops, bits):
    """They may be filtered, by more than one thread, while others are joined."""
    rng, n, size = np.random.default_rng(bits), 300_000, 9_000
    u, v = rng.integers(0, size, (2, n), dtype=np.int32)
    key = rng.integers(0, 2**bits, n, np.uint64).astype("u8" if bits > 32 else "u4")
    expected = NumpyArrays().join_by_key(u, v, key, size)
    for result, one in zip(ops.join_by_key(u, v, key, size), expected, strict=True):
        assert_array_equal(result, one)


@given(rng=st.randoms(), n=st.integers(0, 40), by_rank=st.booleans())
def test_unite(ops, rng, n, by_rank):
    """The sets are as defined; which pairs join them is open where pairs close a cycle."""
    parent, _ = find(rng, n)
    u, v = some_pairs(rng, len(parent), n)
    tree, is_joining = ops.unite(parent, u, v, by_rank=by_rank)
    expected, joins = NumpyArrays().unite(parent, u, v, by_rank=by_rank)
    assert (tree.dtype, is_joining.dtype) == (parent.dtype, joins.dtype)
    assert_array_equal(sets(tree), sets(expected))
    assert is_joining.sum() == joins.sum()
    again, _ = NumpyArrays().unite(parent, u[is_joining], v[is_joining], by_rank=by_rank)
    assert_array_equal(sets(again), sets(expected))


def sets(parent):
    """Return the smallest node of each node's set, whatever its root."""
    root = NumpyArrays().pointer_jump(parent)
    _, smallest, place = np.unique(root, return_index=True, return_inverse=True)
    return smallest[place]


@pytest.mark.parametrize("several", [NumpyArrays(3), NumpyArrays(8)])
@given(rng=st.randoms(), n=st.integers(0, 40))
def test_join_with_helpers(ops, several, rng, n):
    u, v, size = join_in_order(rng, n)
    expected, _ = NumpyArrays().join_in_order(u, v, size)
    for module in (ops, several):
        joining, rejected = module.join_with_helpers(u, v, size)
        assert_array_equal(joining, expected, strict=True)
        assert 0 <= rejected <= n - len(joining)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_helpers_leave_out_no_pair(threads):
    for length in range(200):
        parts = helper_parts(length, threads)
        assert [start for start, _ in parts] == [0, *(stop for _, stop in parts[:-1])]
        assert (len(parts), parts[-1][1]) == (threads, length)


def test_helpers_reject_what_lies_inside_a_set_before_the_main_thread_comes():
    u, v = np.array([0, 1, 1, 0, 0, 2, 2, 2]), np.array([1, 0, 2, 2, 1, 2, 3, 3])
    joining, rejected = NumpyArrays(2).join_with_helpers(u, v, 4)
    assert (joining.tolist(), rejected) == ([0, 2, 6], 2)  # of the second half, 4 and 5
    assert NumpyArrays(1).join_with_helpers(u, v, 4)[1] == 0


@pytest.mark.parametrize("is_majority", [False, True])
def test_relabelling_where_one_label_is_most_frequent(ops, is_majority, monkeypatch):
    """Modules may look at a summary of many labels first; here it takes fewer to be many."""
    monkeypatch.setattr("mstflow.primitives.numba.arrays._MANY_LABELS", 2**10, raising=False)
    draw = np.random.default_rng(8)
    size, n = 200_000, 250_000
    label = draw.integers(0, size // 2, size, dtype=np.int32)
    if is_majority:
        label[draw.random(size) < 0.9] = 77
    u, v = draw.integers(0, size, (2, n), dtype=np.int32)
    key, ids = draw.integers(0, 9, n, dtype=np.uint32), np.arange(n, dtype=np.int32)
    expected = NumpyArrays().relabel_pairs(label, u, v, key, ids)
    for result, one in zip(ops.relabel_pairs(label, u, v, key, ids), expected, strict=True):
        assert_array_equal(result, one, strict=True)
