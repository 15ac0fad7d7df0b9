"""Pseudorandom permutations as pure functions: no table, no state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_ODD = (0x9E3779B97F4A7C15, 0xD1342543DE82EF95, 0xAF251AF3B0F025B5, 0x2545F4914F6CDD1D)


def permute(values: Words, size: int | Words, bits: int, key: int | Words) -> Words:
    """Apply a permutation of 0 to `size` - 1 that `key` selects.

    Rounds of additions, odd multiplications and shifts permute 0 to 2^bits - 1. If they move a
    value out of the range 0 to `size` - 1, they are applied to it again until it is in the range.
    The work is proportional to 2^bits / size, which is at least 1; `bits` is at most 63. Each value
    may have a size and a key of its own.
    """
    keys, sizes = np.asarray(key, dtype=np.uint64), np.asarray(size, dtype=np.uint64)
    permuted = _rounds(values, bits, keys)
    out = np.flatnonzero(permuted >= sizes)
    keys, sizes = np.broadcast_to(keys, values.shape), np.broadcast_to(sizes, values.shape)
    while out.size:
        again = _rounds(permuted[out], bits, keys[out])
        permuted[out] = again
        out = out[again >= sizes[out]]
    return permuted


def _rounds(values: Words, bits: int, key: Words) -> Words:
    mask, half = 2**bits - 1, (bits + 1) // 2
    words = values.copy()
    # A round over few bits mixes in few bits of the key: for three bits, 24 rounds are needed.
    for turn in range(max(4, 72 // max(bits, 1))):
        words += key >> (13 * turn % 64)
        words *= _ODD[turn % 4]
        words &= mask
        words ^= words >> half
    return words
