"""Divide pairs by key into runs that fit in a cache; see `kruskal`."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The largest number of bits of a digit in a radix sort.
DIGIT = 11
#: The first bucket has about one of 2 to this power of the pairs.
_FIRST_BUCKET = 7


class Runs(NamedTuple):
    """Pairs that are distributed to runs."""

    #: The position after the last pair of each run.
    ends: NDArray[Any]
    #: The number of low bits in which the keys of each run may differ.
    bits: NDArray[Any]
    #: The keys if records lack some of their bits, otherwise empty.
    key: NDArray[Any]
    #: The pairs, an array of shape (m, 2); see `kruskal`.
    records: NDArray[Any]
    #: The length of the longest run.
    longest: int


def choose_buckets(
    key: NDArray[Any], lowest: int, highest: int, cut: int, size: int
) -> tuple[int, int, int]:
    """Choose the buckets of keys in ``[lowest, highest]``; return shift, floor and their number.

    The bucket of a key is ``max((key - lowest) >> shift, floor) - floor``. The first bucket has all
    small keys, because a few keys of floats are spread over most of the range. The other buckets
    have about `size` pairs or more. The shift is at least `cut`.
    """
    step = max(1, len(key) >> DIGIT)
    sample = np.sort(key[::step])
    first = int(sample[len(sample) >> _FIRST_BUCKET])
    bits, digit = (highest - first).bit_length(), (len(sample) * step // size).bit_length()
    shift = max(cut, bits - min(DIGIT, max(1, digit)))
    many, top = 1 + len(sample) // 16, sample >> key.dtype.type(min(shift, 8 * key.itemsize - 1))
    if (top[many:] == top[:-many]).any():  # many keys would be in one bucket
        shift = max(cut, bits - DIGIT)
    floor = (first - lowest) >> shift
    return shift, floor, (highest - lowest >> shift) - floor + 1
