"""Runs of pairs, which Kruskal's algorithm sorts one at a time: few enough to stay in a cache."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Most bits of a digit, by which pairs are dealt and runs are sorted.
DIGIT = 11
#: Pairs that make a run, if no bucket has more.
_RUN = 2**12


class Runs(NamedTuple):
    """Pairs dealt to runs: where each run ends, the bits in which its keys differ, and more.

    `key` has whole keys if 32 bits are too few, else it is empty; `records` are the pairs, as
    `kruskal` says; `longest` is the length of the longest run.
    """

    ends: NDArray[Any]
    bits: NDArray[Any]
    key: NDArray[Any]
    records: NDArray[Any]
    longest: int


def find_runs(counts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return where runs end, and in how many bits the numbers of the buckets of each differ.

    `counts` are the pairs of each bucket; the first run begins at 0, and some may be empty.
    """
    ends = counts.cumsum().astype(np.int64)
    last = np.flatnonzero(np.diff(ends // _RUN, append=-1))
    first = np.append(0, last[:-1] + 1)
    return ends[last], np.frexp(first ^ last)[1].astype(np.int64)
