"""A case for each primitive: arguments, and the result of a loop in plain Python.

`CASES` has the dtypes that a primitive is called with, and a function of a random generator, a
dtype and a length. It returns arguments, options and the expected result: a value, a tuple of them,
or a function that asserts what holds of any right result.
"""

import bisect
import collections
import functools
import itertools
import math
import operator
import random

import numpy as np
from numpy.testing import assert_array_equal

INDEX = [np.dtype(name) for name in ("int32", "int64")]
UNSIGNED = [np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)]
INTEGERS = [*(np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)), *UNSIGNED]
NUMBERS = [*INTEGERS, *(np.dtype(f"float{bits}") for bits in (16, 32, 64))]
ALL = [np.dtype(bool), *NUMBERS]
FLOATS = [np.dtype("float32"), np.dtype("float64")]

FOLD = {"min": min, "max": max, "sum": operator.add}

#: Primitives that may return either of two equal values: -0.0 or 0.0.
EITHER_ZERO = {"minimum", "maximum", "segmented_reduce", "scatter_reduce", "sort"}

CASES = {}


class Draws(random.Random):
    """Draw arguments by a seed; by another, the dtypes of indices and keys, and numbers of columns.

    A kernel is compiled for each combination of these, so cases share few combinations. Without a
    number of a combination, the first seed draws all.
    """

    def __init__(self, seed, combination=None):
        super().__init__(seed)
        self._dtypes = None if combination is None else random.Random(combination)
        turn = seed if combination is None else combination
        #: A number of columns, up to 3: four consecutive combinations have all.
        self.num_columns = (3 * turn + turn // 4) % 4

    def choice(self, options):
        if self._dtypes and (options is INDEX or options is UNSIGNED):
            return self._dtypes.choice(options)
        return super().choice(options)


def case(dtypes):
    def register(build):
        CASES[build.__name__] = (dtypes, build)
        return build

    return register


def compare(name, results, expected):
    results = results if isinstance(results, tuple) else (results,)
    if callable(expected):
        expected(*results)
        return
    expected = expected if isinstance(expected, tuple) else (expected,)
    for result, one in zip(results, expected, strict=True):
        if isinstance(one, str):
            assert result == one
            continue
        assert type(result) is type(one)
        assert_array_equal(result, one, strict=True)
        if name not in EITHER_ZERO:
            assert np.asarray(result).tobytes() == np.asarray(one).tobytes()


# Arguments.


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
    """Draw from few values, extremes and random bits, so that most values tie."""
    pool = extremes(dtype)
    if dtype.kind != "b":
        bits = [rng.getrandbits(8 * dtype.itemsize) for _ in range(4)]
        drawn = np.array(bits, f"u{dtype.itemsize}").view(dtype)
        pool = np.concatenate([pool, drawn[drawn == drawn]])  # no NaN
    few = rng.choices(range(len(pool)), k=rng.randint(1, 6))
    return pool[np.array(rng.choices(few, k=n), np.int64)]


def small_values(rng, dtype, n):
    """Draw values whose sums are exact in every dtype."""
    filled = min(n, 100)
    most = 100 // max(filled, 1)
    least = 0 if dtype.kind in "bu" else -most
    drawn = [rng.randint(least, most) for _ in range(filled)]
    positions = rng.sample(range(n), filled)
    values = np.zeros(n, dtype)
    values[np.array(positions, np.int64)] = drawn
    return values


def some_index(rng, bound, n, dtype=None):
    return np.array([rng.randrange(bound) for _ in range(n)], dtype or rng.choice(INDEX))


def some_offsets(rng, m):
    """Draw offsets of segments, some of them empty; if `m` is 0, sometimes of no segment."""
    if not m and rng.randrange(2):
        return np.zeros(1, rng.choice(INDEX))
    cuts = [rng.randint(0, m) for _ in range(rng.randint(0, m // 2 + 3))]
    return np.array([0, *sorted(cuts), m], rng.choice(INDEX))


def some_ids(rng, n, dtype=None):
    return np.array(sorted(rng.sample(range(3 * n + 1), n)), dtype or rng.choice(INDEX))


def some_pairs(rng, size, n, dtype=None):
    u = some_index(rng, size, n, dtype)
    return u, some_index(rng, size, n, u.dtype)


def unlike_pairs(rng, size, n):
    u = some_index(rng, size, n)
    steps = np.array([rng.randint(1, size - 1) for _ in range(n)], u.dtype)
    return u, ((u + steps) % size).astype(u.dtype)


def array_or_item(rng, values):
    """Return `values` or a single value as an argument, and the array that it stands for."""
    if rng.randrange(2) or not len(values):
        return values, values.tolist()
    return values[0].item(), [values[0].item()] * len(values)


# Parts of the definitions.


def positions(values, none):
    return np.array(values, np.int32 if none < 2**31 else np.int64)


def segments(values, offsets):
    items = values.tolist()
    return [items[start:stop] for start, stop in itertools.pairwise(offsets.tolist())]


def largest_value(dtype):
    return {"b": True, "f": math.inf}.get(dtype.kind) or int(np.iinfo(dtype).max)


def has_sign(word, dtype):
    return dtype.kind in "if" and word >> (8 * dtype.itemsize - 1) == 1


def words(values):
    return values.view(f"u{values.itemsize}").tolist()


def key_of(word, dtype, signed, descending):
    """Return the key of a weight's bits, by the contract of `order_key`."""
    top = 1 << (8 * dtype.itemsize - 1)
    if signed and dtype.kind == "i":
        word ^= top
    if signed and dtype.kind == "f":
        word = 0 if word == top else word  # -0.0
        word = ~word if word & top else word | top
    return (~word if descending else word) % (2 * top)


def smallest_pairs(u, v, key, ids, size):
    """Return the smallest (key, id) at each place, and the other member of that pair."""
    none = (largest_value(key.dtype), largest_value(ids.dtype))
    best = [(*none, place) for place in range(size)]
    found = [False] * size
    for a, b, *pair in zip(u.tolist(), v.tolist(), key.tolist(), ids.tolist(), strict=True):
        for place, other in ((a, b), (b, a)):
            if not found[place] or (*pair,) < best[place][:2]:
                best[place], found[place] = (*pair, other), True
    best_key, best_id, other = zip(*best, strict=True)
    return np.array(best_key, key.dtype), np.array(best_id, ids.dtype), positions(other, size)


def joined(u, v, size, order=None):
    """Join pairs in order; return positions of joining pairs, and the smallest node of each set."""
    parent = list(range(size))

    def find(node):
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    joining = []
    for position in range(len(u)) if order is None else order:
        low, high = sorted((find(u[position]), find(v[position])))
        if low != high:
            parent[high] = low
            joining.append(position)
    return joining, list(map(find, range(size)))


def joined_by_key(u, v, key, size):
    order = sorted(range(len(key)), key=key.tolist().__getitem__)
    joining, root = joined(u.tolist(), v.tolist(), size, order)
    return positions(joining, len(key)), positions(root, size)


def any_roots(joining, smallest):
    """Return a check that pairs equal `joining`, and that each set has one of its nodes as root."""

    def check(found, root):
        compare("join_by_key", (found, smallest[root]), (joining, smallest))
        assert len(np.unique(root)) == len(np.unique(smallest))
        assert root.dtype == smallest.dtype

    return check


# Functions of the array API standard.


@case(ALL)
def asarray(rng, dtype, n):
    values = some_values(rng, dtype, n)
    return (values.tolist(),), {"dtype": dtype}, values


@case(ALL)
def empty(rng, dtype, n):
    def holds(memory):
        assert (memory.shape, memory.dtype) == ((n,), dtype)

    return (n,), {"dtype": dtype}, holds


@case(ALL)
def full(rng, dtype, n):
    value = some_values(rng, dtype, 1)[0].item()
    return (n, value), {"dtype": dtype}, np.array([value] * n, dtype)


@case(INTEGERS)
def arange(rng, dtype, n):
    n = min(n, 128)  # what fits int8
    return (n,), {"dtype": dtype}, np.array(list(range(n)), dtype)


@case(ALL)
def concat(rng, dtype, n):
    arrays = [some_values(rng, dtype, rng.randint(0, n)) for _ in range(rng.randint(1, 3))]
    return (arrays,), {}, np.array([x for array in arrays for x in array.tolist()], dtype)


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
def sort(rng, dtype, n):
    values = some_values(rng, dtype, n)
    return (values,), {}, np.array(sorted(values.tolist()), dtype)


@case(ALL)
def argsort(rng, dtype, n):
    values = some_values(rng, dtype, n)
    return (values,), {}, positions(sorted(range(n), key=values.tolist().__getitem__), n)


@case(INTEGERS)
def searchsorted(rng, dtype, n):
    values = some_values(rng, dtype, n)
    ascending = np.sort(some_values(rng, dtype, rng.randrange(n + 2)))
    side = rng.choice(["left", "right"])
    find = bisect.bisect_left if side == "left" else bisect.bisect_right
    places = ascending.tolist()
    found = [find(places, value) for value in values.tolist()]
    return (ascending, values), {"side": side}, positions(found, len(ascending))


# Further functions.


@case([None])
def index_dtype(rng, _, n):
    size = rng.choice([n, 2**31 - 1, 2**31, 2**40])

    def holds(dtype):
        assert dtype == ("int32" if size < 2**31 else "int64")

    return (size,), {}, holds


@case(ALL)
def largest(rng, dtype, n):
    return (dtype,), {}, largest_value(dtype)


@case(ALL)
def to_host(rng, dtype, n):
    values = some_values(rng, dtype, n)
    return (values,), {}, values


@case([np.dtype(bool)])
def count(rng, dtype, n):
    mask = some_values(rng, dtype, n)
    return (mask,), {}, mask.tolist().count(True)


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


@case(ALL)
def segmented_reduce(rng, dtype, n):
    op = rng.choice(["min", "max", "sum"])
    if dtype.kind == "b":
        mask, offsets = some_values(rng, dtype, n), some_offsets(rng, n)
        counts = [sum(part) for part in segments(mask, offsets)]
        return (mask, offsets, "sum", 0), {}, positions(counts, n)
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
    fills = some_values(rng, dtype, size)
    fill, target = rng.choice([(fills, fills.tolist()), (fills[:1], [*fills[:1].tolist()] * size)])
    fill = fill if len(fill) == size else fill[0].item()
    for place, value in zip(index.tolist(), items, strict=True):
        target[place] = value
    return (index, values, size, fill), {"dtype": dtype}, np.array(target, dtype)


@case(NUMBERS)
def scatter_reduce(rng, dtype, n):
    op = rng.choice(["min", "max", "sum"])
    draw = small_values if op == "sum" else some_values
    values, initial, size = draw(rng, dtype, n), draw(rng, dtype, 1)[0].item(), n // 2 + 1
    if op == "sum" and dtype.itemsize == 1:
        initial = 0  # leaves no room for more
    index = some_index(rng, size, n)
    target = [initial] * size
    for place, value in zip(index.tolist(), values.tolist(), strict=True):
        target[place] = FOLD[op](target[place], value)
    return (index, values, size, op, initial), {}, np.array(target, dtype)


@case(UNSIGNED)
def scatter_argmin(rng, dtype, n):
    values, size = some_values(rng, dtype, n), n // rng.choice([2, 40]) + 1
    indices = tuple(some_index(rng, size, n) for _ in range(rng.randint(1, 3)))
    items, first = values.tolist(), [n] * size
    for position, places in enumerate(zip(*indices, strict=True)):
        for place in places:
            if first[place] == n or items[position] < items[first[place]]:
                first[place] = position
    return (indices, values, size), {}, positions(first, n)


@case(ALL)
def partition(rng, dtype, n):
    values, k = some_values(rng, dtype, n), rng.randint(0, n + 2)
    ordered = sorted(values.tolist())

    def holds(parted):
        assert parted.dtype == dtype
        assert sorted(parted[:k].tolist()) == ordered[:k]
        assert parted[k : k + 1].tolist() == ordered[k : k + 1]
        assert sorted(parted[k:].tolist()) == ordered[k:]

    return (values, k), {}, holds


@case(ALL)
def any_signed(rng, dtype, n):
    values = some_values(rng, dtype, n)
    if rng.randrange(2):
        without = [not has_sign(word, dtype) for word in words(values)]
        values = values[np.array(without, bool)]
    return (values,), {}, any(has_sign(word, dtype) for word in words(values))


@case(ALL)
def order_key(rng, dtype, n):
    (weights,), _, is_any_signed = any_signed(rng, dtype, n)
    options = {"signed": is_any_signed or rng.choice([False, True]), "descending": rng.randrange(2)}
    keys = [key_of(word, dtype, **options) for word in words(weights)]
    return (weights,), options, np.array(keys, f"u{dtype.itemsize}")


@case(ALL)
def weights_of(rng, dtype, n):
    (weights,), options, keys = order_key(rng, dtype, n)
    normalised = [weight or 0 * weight * weight for weight in weights.tolist()]  # no -0.0
    return (keys, dtype), options, np.array(normalised, dtype)


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


# Fused.


@case(INDEX)
def consecutive(rng, dtype, n):
    first = rng.choice([0, rng.randrange(1000)])
    expected = np.array([first + i for i in range(n)], dtype)

    def holds(numbers):
        for part in (slice(None), slice(n // 2, None), slice(None, None, 3), slice(-2, -1)):
            assert_array_equal(numbers[part], expected[part], strict=True)
        assert_array_equal((numbers & 3) == 0, (expected & 3) == 0, strict=True)
        if n:
            assert (numbers[0], numbers[-1], numbers.max()) == (first, *[first + n - 1] * 2)

    return (first, n), {"dtype": dtype}, holds


@case(INDEX)
def any_equal(rng, dtype, n):
    u, v = some_pairs(rng, rng.choice([2, n + 2, 9 * n + 9]), n)
    if rng.randrange(2):
        u, v = u[u != v], v[u != v]
    return (u, v), {}, any(u[i] == v[i] for i in range(len(u)))


@case(INDEX)
def not_equal(rng, dtype, n):
    u, v = some_pairs(rng, rng.choice([2, n + 2]), n)
    return (u, v), {}, np.array([u[i] != v[i] for i in range(len(u))], bool)


@case(UNSIGNED)
def compact_pairs(rng, dtype, n):
    key = some_values(rng, dtype, n)
    limit, index = rng.choice([0, *key.tolist(), largest_value(dtype)]), rng.choice(INDEX)
    columns = [some_ids(rng, n) for _ in range(rng.num_columns)]
    u, v = some_pairs(rng, n // 2 + 1, n)
    light = [i for i in range(n) if u[i] != v[i] and key[i] <= limit]
    ends = u[light].astype(index), v[light].astype(index)
    kept = *ends, key[light], *(column[light] for column in columns)
    return (u, v, key, limit, index, *columns), {}, kept


@case(UNSIGNED)
def relabel_pairs(rng, dtype, n):
    size = n // 2 + 1
    label = some_index(rng, rng.choice([1, 2, size]), size)
    columns = [some_values(rng, dtype, n), some_ids(rng, n), some_ids(rng, n)]
    columns = columns[: rng.num_columns]
    u, v = some_pairs(rng, size, n)
    unlike = [i for i in range(n) if label[u[i]] != label[v[i]]]
    kept = label[u[unlike]], label[v[unlike]], *(column[unlike] for column in columns)
    return (label, u, v, *columns), {}, kept


@case([np.dtype(bool)])
def pack_flags(rng, dtype, n):
    flags = some_values(rng, dtype, n)
    bits = [0] * -(-n // 8)
    for i, flag in enumerate(flags.tolist()):
        bits[i // 8] += flag << i % 8
    return (flags,), {}, np.array(bits, np.uint8)


@case(UNSIGNED)
def compact_marked(rng, dtype, n):
    flags = some_values(rng, np.dtype(bool), n // 2 + 1)
    columns = [some_values(rng, dtype, n), some_ids(rng, n), some_ids(rng, n)]
    columns = [*some_pairs(rng, len(flags), n), *columns[: rng.num_columns]]
    kept = [i for i in range(n) if flags[columns[0][i]] or flags[columns[1][i]]]
    bits = np.packbits(flags, bitorder="little")
    return (bits, *columns), {}, tuple(column[kept] for column in columns)


@case(INDEX)
def unique_inverse(rng, dtype, n):
    size = rng.choice([1, n // 3 + 1, 3 * n + 1, 100 * n + 1])
    values = some_index(rng, size, n, dtype)
    distinct = sorted(set(values.tolist()))
    place = {value: place for place, value in enumerate(distinct)}
    inverse = [place[value] for value in values.tolist()]
    return (values, size), {}, (np.array(distinct, dtype), positions(inverse, n))


@case(UNSIGNED)
def deal(rng, dtype, n):
    """Four columns, those of a sweep, are dealt at once; other numbers one by one."""
    size = rng.randint(1, n // 2 + 1)
    index, key = some_index(rng, size, n, INDEX[0]), some_values(rng, dtype, n)
    columns = (*some_pairs(rng, n + 1, n), key, some_ids(rng, n))[rng.choice([0, 0, 2]) :]
    order = sorted(range(n), key=index.tolist().__getitem__)
    counts = collections.Counter(index.tolist())
    offsets = list(itertools.accumulate((counts[value] for value in range(size)), initial=0))
    dealt = (column[np.array(order, np.int64)] for column in columns)
    return (index, size, *columns), {}, (positions(offsets, n), *dealt)


@case(UNSIGNED)
def deal_ends(rng, dtype, n):
    bits, size, num_blocks = rng.randint(0, 4), rng.randint(1, 5), rng.randint(1, n // 2 + 1)
    index, key = rng.choice(INDEX), some_values(rng, dtype, n)
    owner = some_index(rng, size, num_blocks)
    u, v = (some_index(rng, num_blocks << bits, n, index) for _ in "uv")
    ends = [
        end
        for i in range(n)
        for end in ((u[i], v[i], key[i], 2 * i), (v[i], u[i], key[i], 2 * i + 1))
    ]
    dealt = sorted(ends, key=lambda end: owner[end[0] >> bits])
    counts = collections.Counter(owner[end[0] >> bits] for end in ends)
    offsets = list(itertools.accumulate((counts[value] for value in range(size)), initial=0))
    node, other, keys = (
        np.array([end[column] for end in dealt], dtype)
        for column, dtype in enumerate((index, index, key.dtype))
    )
    place = {end[3]: position for position, end in enumerate(dealt)}
    places = (positions([place[2 * i + side] for i in range(n)], 2 * n) for side in (0, 1))
    expected = positions(offsets, 2 * n), node, other, keys, *places
    return (u, v, key, owner, bits, size), {}, expected


@case([each for each in INTEGERS if each.itemsize > 1])
def multiprefix(rng, dtype, n):
    size = n // 2 + 1
    index, values = some_index(rng, size, n), small_values(rng, dtype, n)
    start = small_values(rng, dtype, size)
    total, found = start.tolist(), []
    for place, value in zip(index.tolist(), values.tolist(), strict=True):
        found.append(total[place])
        total[place] += value
    return (index, values, start), {}, np.array(found, dtype)


@case(INDEX)
def relabel_arcs(rng, dtype, n):
    offsets = some_offsets(rng, n)
    size = len(offsets) - 1
    label = some_index(rng, max(1, size // 2), size, dtype)
    destination = some_index(rng, size, n)
    target = label[destination]
    is_crossing = np.repeat(label, np.diff(offsets)) != target
    degree = [np.count_nonzero(is_crossing[part]) for part in segments(np.arange(n), offsets)]
    return (label, destination, offsets), {}, (target, is_crossing, np.array(degree, "int32"))


@case(ALL)
def segmented_compact(rng, dtype, n):
    mask = some_values(rng, np.dtype(bool), n)
    values, offsets = some_values(rng, dtype, n), some_offsets(rng, n)
    columns = values, some_ids(rng, n)
    parts = [[i for i in part if mask[i]] for part in segments(np.arange(n), offsets)]
    start, moved = np.zeros(len(parts), rng.choice(INDEX)), []
    for segment in rng.sample(range(len(parts)), len(parts)):
        start[segment] = len(moved)
        moved += parts[segment]
    return (mask, offsets, start, *columns), {}, tuple(column[moved] for column in columns)


@case(UNSIGNED)
def scatter_min_pairs(rng, dtype, n):
    size = 8 * n // rng.choice([1, 16, 320]) + 2
    arguments = *unlike_pairs(rng, size, n), some_values(rng, dtype, n), some_ids(rng, n), size
    return arguments, {}, smallest_pairs(*arguments)


@case(INDEX)
def cut_mirrors(rng, dtype, n):
    key = some_values(rng, np.dtype("uint8"), n)
    ids, size = some_ids(rng, n, dtype), n // 2 + 2
    _, best, target = smallest_pairs(*unlike_pairs(rng, size, n), key, ids, size)
    target = target.astype(rng.choice(INDEX))
    parent = target.copy()
    for node, there in enumerate(target.tolist()):
        if node < there and target[there] == node:
            parent[node] = node
    return (target, best), {}, (parent, best[[i for i in range(size) if parent[i] != i]])


@case(INDEX)
def number_roots(rng, dtype, n):
    *_, root = pointer_jump(rng, dtype, n)
    if rng.randrange(2):  # the smallest node of each tree is its root
        first = {}
        root = np.array([first.setdefault(r, i) for i, r in enumerate(root.tolist())], dtype)
    order = [node for node in range(n) if root[node] == node]
    number = {node: i for i, node in enumerate(order)}
    return (root,), {}, (np.array([number[r] for r in root.tolist()], dtype), len(order))


@case(INDEX)
def sorted_union(rng, dtype, n):
    lowest = rng.choice([-40, 0, 5, 2**33])
    dtypes = (np.int64, np.int64) if lowest > 5 else (dtype, rng.choice(INDEX))
    values = [lowest + x for x in rng.sample(range(rng.choice([1, 100]) * n + 1), n)]
    cut = rng.randint(0, n)
    arrays = tuple(map(np.array, (values[:cut], values[cut:]), dtypes))
    return (arrays,), {}, np.array(sorted(values), np.result_type(*arrays))


@case(INTEGERS)
def isin(rng, dtype, n):
    values = some_values(rng, dtype, n)
    ascending = np.sort(some_values(rng, dtype, rng.randrange(n + 2)))
    known = {*ascending.tolist()}
    return (values, ascending), {}, np.array([x in known for x in values.tolist()], bool)


# Paths and ranges.


@case(INTEGERS)
def path_sums(rng, dtype, n):
    values, parent = small_values(rng, dtype, n), np.zeros(n, rng.choice(INDEX))
    for node in range(n):
        nearest = node + 1 if rng.randrange(4) else rng.randint(node, n)
        parent[node] = nearest if nearest < n else node
    sums = values.tolist()
    for node in reversed(range(n)):
        sums[node] += sums[parent[node]] if parent[node] != node else 0
    return (parent, values), {}, np.array(sums, dtype)


def windows(items, count):
    """Return the maxima of windows of 1, 2, 4, ... items, up to the end at most."""
    lengths = [2**level for level in range(count)]
    return [max(items[i : i + length]) for length in lengths for i in range(len(items))]


@case(INDEX)
def max_table(rng, dtype, n):
    items = some_index(rng, n + 1, n, dtype).tolist()
    blocks = [max(items[i : i + 16]) for i in range(0, n, 16)]
    far = windows(blocks, len(blocks).bit_length()) if blocks else []
    table = tuple(np.array(maxima, dtype) for maxima in (windows(items, 5), far))
    return (np.array(items, dtype),), {}, table


@case(INDEX)
def range_max(rng, dtype, n):
    (values,), _, table = max_table(rng, dtype, rng.choice([1, 20, 40, min(n, 2000) + 1]))
    m, index = n if len(values) else 0, rng.choice(INDEX)
    ends = np.sort([some_index(rng, len(values), m, index) for _ in range(2)], axis=0)
    first, last = ends.astype(index)
    found = [values[i : j + 1].max() for i, j in zip(first, last, strict=True)]
    return (table, first, last), {}, np.array(found, dtype)


# Algorithm kernels.


@case(INDEX)
def join_in_order(rng, dtype, n):
    """Draw pairs; in some cases, those of a long path come first, and further pairs climb it."""
    size = n // rng.choice([1, 2, 10]) + 1
    u, v = some_pairs(rng, size, n, dtype)
    if rng.randrange(4) == 0:
        path = np.arange(min(size - 1, n // 2), dtype=dtype)[:: rng.choice([1, -1])]
        u[: len(path)], v[: len(path)] = path, path + 1
    joining, root = joined(u.tolist(), v.tolist(), size)
    return (u, v, size), {}, (positions(joining, n), positions(root, size))


@case(UNSIGNED)
def join_by_key(rng, dtype, n):
    """Draw keys that differ in few or many bits, at the top or the bottom, or not at all."""
    alike = rng.randint(0, 8 * dtype.itemsize)
    low = np.array([rng.getrandbits(8 * dtype.itemsize) >> alike for _ in range(n)], dtype)
    high = some_values(rng, dtype, n) if rng.randrange(2) else np.zeros(n, dtype)
    size = n // rng.choice([1, 2, 10]) + 1
    arguments = *some_pairs(rng, size, n), low | high, size
    return arguments, {}, any_roots(*joined_by_key(*arguments))


@case(UNSIGNED)
def contract_tile(rng, dtype, n):
    """Solve the graph with all nodes outside as one node, and the graph without them."""
    size = n // rng.choice([1, 2, 10]) + 1
    u, v = (np.minimum(ends, size) for ends in some_pairs(rng, size + rng.randint(1, size), n))
    key = some_values(rng, dtype, n)
    order = sorted(range(n), key=key.tolist().__getitem__)
    inside = [place for place in order if max(u[place], v[place]) < size]
    contracted = set(joined(u.tolist(), v.tolist(), size + 1, order)[0])
    forest = joined(u.tolist(), v.tolist(), size, inside)[0]
    certain = [place for place in forest if place in contracted]
    undecided = [place for place in forest if place not in contracted]
    root = joined(u.tolist(), v.tolist(), size, certain)[1]
    number = {each: place for place, each in enumerate(sorted(set(root)))}
    found = positions(certain, n), positions(undecided, n)
    return (u, v, key, size), {}, (*found, positions([number[r] for r in root], size), len(number))


@case(INDEX)
def join_with_helpers(rng, dtype, n):
    """The number of pairs that helpers reject depends on timing."""
    arguments, _, (expected, _) = join_in_order(rng, dtype, n)

    def holds(joining, rejected):
        assert_array_equal(joining, expected, strict=True)
        assert 0 <= rejected <= n - len(joining)

    return arguments, {}, holds


@case(INDEX)
def unite(rng, dtype, n):
    """The pair of a cycle that does not join depends on timing, and so does the shape of trees."""
    (parent,), *_ = pointer_jump(rng, dtype, n + 1)
    u, v = some_pairs(rng, n + 1, n)
    nodes, size = np.arange(n + 1), n + 1

    def joined_with(u, v):
        """Join the trees of `parent`, and then pairs."""
        return joined([*nodes.tolist(), *u.tolist()], [*parent.tolist(), *v.tolist()], size)

    every, sets = joined_with(u, v)

    def holds(tree, is_joining):
        assert (tree.dtype, is_joining.dtype, len(is_joining)) == (dtype, bool, n)
        assert joined(nodes.tolist(), tree.tolist(), size)[1] == sets
        assert joined_with(u[is_joining], v[is_joining])[1] == sets
        assert np.count_nonzero(is_joining) + np.count_nonzero(parent != nodes) == len(every)

    return (parent, u, v), {"by_rank": bool(rng.randrange(2))}, holds


# Hierarchies.


@case(INDEX)
def merge_in_order(rng, dtype, n):
    """Merge sets by the edges of a forest, whose nodes have small or random numbers."""
    size = n + rng.randint(1, 9)
    name = rng.sample(range(size), size)
    far = rng.choice([1, 3, size])  # paths, bushes or stars
    edges = [(name[node], name[max(0, node - rng.randint(1, far))]) for node in range(1, n + 1)]
    rng.shuffle(edges)
    u, v = np.array(edges, dtype).reshape(-1, 2).T
    parent, count = list(range(size + n)), [1] * size
    above = list(range(size + n))
    for new, pair in enumerate(edges, size):
        count.append(0)
        for node in pair:
            while above[node] != node:
                above[node] = node = above[above[node]]
            parent[node] = above[node] = new
            count[new] += count[node]
    arguments = np.ascontiguousarray(u), np.ascontiguousarray(v), size
    return arguments, {}, (positions(parent, size + n), np.array(count[size:], np.int64))


@case(INDEX)
def join_levels(rng, dtype, n):
    size, levels = n // rng.choice([1, 2, 10]) + 1, rng.choice([0, 1, 2, 5, 300 if n < 99 else 9])
    ends = sorted(rng.randint(0, n) for _ in range(levels))
    u, v = some_pairs(rng, size, n, dtype)
    parent, level, tally = list(range(size)), [levels] * size, []
    root = parent.copy()
    for each, end in enumerate(ends):
        _, joined_to = joined(u[:end].tolist(), v[:end].tolist(), size)
        for node in range(size):
            if root[node] == node != joined_to[node]:
                parent[node], level[node] = joined_to[node], each
        root = joined_to
        row = [0] * 64
        for count in collections.Counter(root).values():
            row[count.bit_length() - 1] += 1
            row[63] = max(row[63], count)
        tally += row
    level = np.array(level, np.uint8 if levels < 256 else np.uint32)
    expected = positions(parent, size), level, np.array(tally, np.int64)
    return (u, v, ends, size), {}, expected


@case(INDEX)
def label_level(rng, dtype, n):
    """A node of level 7 is never joined; others are joined to a smaller node of a later level."""
    level = np.array([7 if rng.randrange(3) else rng.randrange(7) for _ in range(n)], np.uint8)
    parent = np.arange(n, dtype=rng.choice(INDEX))
    latest = []  # nodes that are smaller than the current one, of decreasing level
    for node in range(n):
        later = [other for other in latest if level[other] > level[node]]
        if later:
            parent[node] = rng.choice(later)
        else:
            level[node] = 7
        latest = [*[other for other in latest[-9:] if level[other] > level[node]], node]
    each, number, label = rng.randrange(7), 0, []
    for node in range(n):
        if level[node] > each:
            label.append(number)
            number += 1
        else:
            label.append(label[parent[node]])
    return (parent, level, each), {"dtype": dtype}, (np.array(label, dtype), number)


# Violations of the contracts.


def ints(*values):
    return np.array(values, np.int64)


THREE = ints(7, 8, 9)
KEYS = THREE.astype(np.uint64)
#: The table of maxima of an array of three elements.
TABLE = np.zeros(15, np.int64), np.zeros(1, np.int64)

#: Indices that an array of three elements does not have, and other dtypes.
BAD_PLACES = [ints(0, -1, 1), ints(0, 3, 1), np.zeros(3), np.zeros(3, bool)]
#: Invalid offsets for three values.
BAD_OFFSETS = [
    ints(0, 2, 1, 3),
    ints(0, 1, 2),
    ints(0, 1, 4),
    ints(1, 2, 3),
    ints(-1, 2, 3),
    ints(),
]
BAD_OFFSETS += [np.array([0.0, 3.0])]

#: Primitives, the argument that an error names, and wrong arguments.
VIOLATIONS = [
    *(("gather", "index", (THREE, index)) for index in BAD_PLACES),
    *(("scatter", "index", (index, THREE, 3, 0, "int64")) for index in BAD_PLACES),
    *(("scatter_reduce", "index", (index, THREE, 3, "min", 0)) for index in BAD_PLACES),
    *(("scatter_argmin", "indices", ((ints(0, 1, 2), index), KEYS, 3)) for index in BAD_PLACES),
    *(("pointer_jump", "parent", (index,)) for index in BAD_PLACES),
    *(("segmented_reduce", "offsets", (THREE, offsets, "min", 0)) for offsets in BAD_OFFSETS),
    *(("segmented_argmin", "offsets", (THREE, offsets)) for offsets in BAD_OFFSETS),
    ("gather", "index", (THREE, ints(4), 0)),
    ("gather", "fill", (THREE, ints(3), ints(1, 2))),
    ("scatter", "index", (ints(0, 2, 0), THREE, 3, 0, "int64")),
    ("scatter", "values", (ints(0, 1), THREE, 3, 0, "int64")),
    ("scatter_reduce", "values", (ints(0, 1), THREE, 3, "min", 0)),
    ("scatter_argmin", "values", ((ints(0, 1),), KEYS, 3)),
    ("scatter_argmin", "values", ((ints(0, 1, 2),), THREE, 3)),
    ("segmented_broadcast", "values", (THREE, ints(0, 1, 3))),
    ("segmented_broadcast", "offsets", (THREE, ints(0, 2, 1, 3))),
    ("segmented_broadcast", "offsets", (THREE, ints(1, 1, 2, 3))),
    ("segmented_broadcast", "offsets", (THREE, np.zeros(4))),
    *(("deal", "index", (index, 3, THREE)) for index in BAD_PLACES),
    *(("deal_ends", "v", (ints(0), at, KEYS[:1], ints(0, 1), 1, 2)) for at in (ints(4), ints(-1))),
    ("deal_ends", "owner", (ints(0), ints(1), KEYS[:1], ints(0, 1), 1, 1)),
    ("deal_ends", "key", (ints(0), ints(1), KEYS, ints(0, 1), 1, 2)),
    ("deal", "column 0", (ints(0, 1), 3, THREE)),
    *(("multiprefix", "index", (index, THREE, THREE)) for index in BAD_PLACES),
    ("multiprefix", "values", (ints(0, 1), THREE, THREE)),
    ("multiprefix", "start", (ints(0, 1, 2), THREE, THREE.astype("u2"))),
    *(("relabel_arcs", "destination", (THREE, index, ints(0, 1, 2, 3))) for index in BAD_PLACES),
    ("relabel_arcs", "offsets", (THREE, ints(0, 1, 2), ints(0, 1, 2, 2))),
    ("relabel_arcs", "label", (THREE, ints(0, 1, 2), ints(0, 3))),
    ("segmented_compact", "offsets", (THREE > 0, ints(0, 2), ints(0), THREE)),
    ("segmented_compact", "start", (THREE > 0, ints(0, 2, 3), ints(0, 1, 2), THREE)),
    ("segmented_compact", "start", (THREE > 0, ints(0, 2, 3), ints(0, -7), THREE)),
    ("segmented_compact", "array 0", (THREE > 0, ints(0, 2, 3), ints(0, 1), ints(1))),
    *(("relabel_pairs", "u", (THREE, index, ints(0, 1, 2))) for index in BAD_PLACES),
    *(("scatter_min_pairs", "v", (THREE - 7, index, KEYS, THREE, 3)) for index in BAD_PLACES),
    *(("cut_mirrors", "target", (index, THREE)) for index in BAD_PLACES),
    *(("join_with_helpers", "v", (THREE - 7, index, 3)) for index in BAD_PLACES),
    ("unite", "u", (ints(0, 1, 2), THREE, THREE - 7)),
    ("unite", "v", (ints(0, 1, 2), ints(0), ints(0, 1))),
    ("scatter_min_pairs", "key", (THREE - 7, THREE - 7, THREE, THREE, 3)),
    ("compact_pairs", "column 0", (THREE, THREE, KEYS, 9, "int64", ints(1))),
    ("pack_flags", "flags", (THREE,)),
    *(("compact_marked", "v", (KEYS[:1], ints(0), index)) for index in (ints(8), ints(-1))),
    ("compact_marked", "bits", (THREE, ints(0), ints(1))),
    ("unique_inverse", "values", (ints(0, 3), 3)),
    ("relabel_pairs", "column 0", (THREE, ints(0), ints(1), THREE)),
    ("cut_mirrors", "ids", (ints(0, 0), THREE)),
    ("compact", "mask", (np.ones(2, bool), THREE)),
    ("compact", "mask", (ints(1, 0, 1), THREE)),
    ("order_key", "weights", (np.array([1.0, np.nan]),)),
    ("order_key", "weights", (np.array([1j]),)),
    ("weights_of", "keys", (KEYS, "float32")),
    ("join_in_order", "u", (THREE, THREE - 7, 3)),
    ("join_by_key", "key", (THREE - 7, THREE - 7, ints(1), 3)),
    ("merge_in_order", "u", (THREE, THREE - 7, 3)),
    ("join_levels", "v", (THREE - 7, THREE, [3], 3)),
    *(("join_levels", "ends", (THREE - 7, THREE - 7, ends, 3)) for ends in ([2, 1], [4], [-1])),
    ("label_level", "parent", (ints(1, 0), KEYS[:2], 0)),
    ("label_level", "level", (ints(0, 1), KEYS, 0)),
    ("contract_tile", "v", (THREE - 7, THREE - 5, KEYS, 3)),
    *(("path_sums", "parent", (index, THREE)) for index in BAD_PLACES),
    ("path_sums", "parent", (ints(0, 0, 2), THREE)),
    ("path_sums", "values", (ints(1, 2, 2), THREE[:2])),
    ("path_sums", "values", (ints(1, 2, 2), np.ones(3))),
    *(("range_max", "first", (TABLE, index, ints(0, 1, 2))) for index in BAD_PLACES),
    *(("range_max", "last", (TABLE, ints(0, 0, 0), index)) for index in BAD_PLACES),
    ("range_max", "last", (TABLE, ints(0, 0), ints(1))),
    ("range_max", "range", (TABLE, ints(0, 2), ints(1, 1))),
    *(
        ("pointer_jump", "parent", (ints(*cycle),))
        for cycle in ([1, 0], [1, 2, 0], [0, 2, 3, 1, 3])
    ),
]
