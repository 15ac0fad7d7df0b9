"""A kernel that joins few pairs in one call: their keys, the sort and the joins.

For few pairs, calling several kernels takes longer than running them. Each argument has one dtype,
so the kernel is compiled once. See `kruskal` for the form of the records.
"""

import numpy as np

from ...runtime.intrinsics import NONE, highest_bit, kernel
from .elements import key_of
from .kruskal import FEW, insert, sort_run
from .trees import join

_ZERO, _HALF, _BELOW = np.uint64(0), np.uint64(32), np.uint64(2**32 - 1)


@kernel([0, 1], [1, 0], [7, 5], 63, 1, 1, 0, [0] * 2, [[0, 0]] * 4, [0] * 2, [0] * 2, [0])
def join_few(
    u, v, bits, top, signed, is_float, descending, key, records, parent, is_joining, joining
):
    """Join pairs by weight; return the number that joined two sets, or -1 if sorting is slow."""
    size, top = len(u), np.uint64(top)
    low, high, mask = NONE, _ZERO, NONE >> (np.uint64(63) - top)
    for i in range(size):
        word = key_of(bits[i], top, signed, is_float, descending) & mask
        low, high, key[i] = min(low, word), max(high, word), word
    width = np.int64(highest_bit(high - low)) + 1 if high > low else 0
    cut = max(0, width - 32)
    own = records[:size]
    for i in range(size):
        own[i, 0] = (key[i] - low) >> np.uint64(cut) << _HALF | np.uint64(i)
        own[i, 1] = np.uint64(u[i]) << _HALF | np.uint64(v[i])
        is_joining[i] = 0
    sort_run(own, width - cut, records[size:])
    if cut and not insert(own, key, FEW * size):
        return -1
    for node in range(len(parent)):
        parent[node] = node
    for i in range(size):
        if join(own[i, 1] >> _HALF, own[i, 1] & _BELOW, parent):
            is_joining[own[i, 0] & _BELOW] = 1
    count = 0
    for i in range(size):
        if is_joining[i]:
            joining[count] = i
            count += 1
    return count
