"""Division of pairs into runs that fit in a cache. Kruskal's algorithm sorts the runs in order."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: The largest number of bits of a digit in a radix sort.
DIGIT = 11
#: The approximate number of pairs of a run. A larger bucket is a separate run.
_RUN = 2**12


class Runs(NamedTuple):
    """Pairs distributed to runs.

    Attributes
    ----------
    ends : int64 array
        The position after the last pair of each run.
    bits : int64 array
        The number of low bits in which the keys of each run may differ.
    key : unsigned integer array
        The keys if records do not have all bits of them, else empty.
    records : array of shape (m, 2)
        The pairs; see `kruskal`.
    links : uint64 array
        The links of the nodes if all threads join pairs, else empty; see `join_runs_together`.
    longest : int
        The length of the longest run.
    """

    ends: NDArray[Any]
    bits: NDArray[Any]
    key: NDArray[Any]
    records: NDArray[Any]
    links: NDArray[Any]
    longest: int


def find_runs(counts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Combine buckets to runs.

    Parameters
    ----------
    counts : integer array
        The number of pairs of each bucket.

    Returns
    -------
    ends : int64 array
        The position after the last pair of each run; a run may be empty.
    bits : int64 array
        The number of low bits in which the indices of the buckets of each run differ.
    """
    ends = counts.cumsum().astype(np.int64)
    last = np.flatnonzero(np.diff(ends // _RUN, append=-1))
    first = np.append(0, last[:-1] + 1)
    return ends[last], np.frexp(first ^ last)[1].astype(np.int64)
