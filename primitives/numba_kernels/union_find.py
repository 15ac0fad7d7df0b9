"""Compiled loops over sets that several threads read and join at once, without locks.

A node points at its parent, a root at itself. Whatever a thread writes to a node is an ancestor of
it, so that others may read the old or the new value. What they shall see change is read by `load`,
or the compiler might read it once and never again.
"""

import numpy as np
from numba import types
from numba.extending import intrinsic

from .intrinsics import AHEAD, BLOCK, ONE, fetch, kernel, scratch
from .trees import join

#: A word holds a node's parent below its rank, which is at most the logarithm of their number.
RANK = np.uint64(58)
PARENT = np.uint64(2**58 - 1)


def _pointer(context, builder, array, value, index):
    data = context.make_array(array)(context, builder, value).data
    return builder.gep(data, [index])


@intrinsic
def load(_, array, index):
    """Read ``array[index]`` now, in one access."""
    signature = array.dtype(array, types.uint64)

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(pointer, "acquire", signature.return_type.bitwidth // 8)

    return signature, generate


@intrinsic
def store(_, array, index, value):
    """Write ``array[index]`` now, in one access."""
    signature = types.void(array, types.uint64, array.dtype)

    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature.args[0], *arguments[:2])
        align = signature.args[0].dtype.bitwidth // 8
        builder.store_atomic(arguments[2], pointer, "release", align)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def compare_and_swap(_, array, index, old, new):
    """Write `new` to ``array[index]`` if it is `old`, in one access, and tell whether it was."""
    signature = types.boolean(array, types.uint64, array.dtype, array.dtype)

    def generate(context, builder, signature, arguments):
        value, index, old, new = arguments
        pointer = _pointer(context, builder, signature.args[0], value, index)
        result = builder.cmpxchg(pointer, old, new, "acq_rel", "acquire")
        return builder.extract_value(result, 1)

    return signature, generate


@kernel
def find(words, node):
    """Find the root, and let nodes skip their parents; a swap that changes nothing is left out."""
    while True:
        word = np.uint64(load(words, node))
        above = word & PARENT
        if above == node:
            return node
        higher = np.uint64(load(words, above)) & PARENT
        if higher != above:
            compare_and_swap(words, node, word, word & ~PARENT | higher)
        node = higher


@kernel
def update(words, node, rank, parent, new_rank):
    """Make a root of that rank the child of another node, or raise its rank, if it still is one."""
    return compare_and_swap(words, node, rank << RANK | node, new_rank << RANK | parent)


@kernel
def union(words, u, v, by_rank):
    """Without ranks all stay 0, and the larger number is the higher node."""
    while True:
        u, v = find(words, u), find(words, v)
        if u == v:
            return False
        rank_u, rank_v = load(words, u) >> RANK, load(words, v) >> RANK
        if (rank_u, u) > (rank_v, v):
            u, rank_u, v, rank_v = v, rank_v, u, rank_u
        if update(words, u, rank_u, v, rank_u):
            if by_rank and rank_u == rank_v:
                update(words, v, rank_v, v, rank_v + ONE)
            return True


@kernel
def unite(start, stop, words, u, v, by_rank, is_joining):
    for i in range(start, stop):
        far, near = min(i + 2 * AHEAD, stop - 1), min(i + AHEAD, stop - 1)
        fetch(words, u[far])
        fetch(words, v[far])
        fetch(words, words[u[near]] & PARENT)
        fetch(words, words[v[near]] & PARENT)
        is_joining[i] = union(words, np.uint64(u[i]), np.uint64(v[i]), by_rank)


@kernel
def list_parents(start, stop, words, parent):
    for i in range(start, stop):
        parent[i] = words[i] & PARENT


@kernel
def join_undecided(start, stop, u, v, parent, undecided, reached, joining):
    """Join in order the pairs that are undecided; return how many joined, and how many were."""
    hits = scratch(np.uint64, BLOCK)
    joined = examined = 0
    for first in range(start, stop, BLOCK):
        store(reached, np.uint64(0), np.uint64(first))
        count = np.uint64(0)
        for i in range(np.uint64(first), np.uint64(min(first + BLOCK, stop))):
            hits[count] = i
            count += np.uint64(undecided[i])
        for hit in range(count):
            ahead, i = hits[min(hit + np.uint64(AHEAD), count - ONE)], hits[hit]
            fetch(parent, u[ahead])
            fetch(parent, v[ahead])
            if join(np.uint64(u[i]), np.uint64(v[i]), parent):
                joining[joined] = i
                joined += 1
        examined += np.int64(count)
    return joined, examined


@kernel
def is_inside(a, b, parent):
    """Tell whether two nodes are seen to be in one set, where no node is smaller than its parent.

    The larger climbs until they meet; a root that is the larger cannot be above the other.
    """
    a, b = np.uint64(load(parent, a)), np.uint64(load(parent, b))  # most often that is all
    while a != b:
        a, b = max(a, b), min(a, b)
        above = np.uint64(load(parent, a))
        if above == a:
            return False
        a = above
    return True


@kernel
def reject_cycles(start, stop, u, v, parent, undecided, reached):
    """Decide on pairs inside a set, in passes until the main thread has reached the first of them.

    The last pass ends where the main thread overtakes it.
    """
    zero = np.uint64(0)
    while load(reached, zero) < start:
        for first in range(start, stop, BLOCK):
            if load(reached, zero) > np.uint64(first):
                return
            last = min(first + BLOCK, stop) - 1
            for i in range(first, last + 1):
                fetch(parent, u[min(i + 2 * AHEAD, last)])
                fetch(parent, v[min(i + 2 * AHEAD, last)])
                if undecided[i] and is_inside(np.uint64(u[i]), np.uint64(v[i]), parent):
                    undecided[i] = 0
