"""What the memory gives: bandwidth of three columns that are read, time of elements gathered.

No code that reads u, v and weight once, and looks up both ends of each edge, can beat these; a
share of that floor is comparable between machines. The time of words mixed, in the nearest cache,
tells what further threads are: where processors share a core, it does not fall with them.
Usage: python floor.py THREADS...
"""

from __future__ import annotations

import json
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from machine import pinned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[Any]
    Loop = Callable[..., Any]

READ = 2**24  # elements of each column
GATHERED = 2**22
TABLES = {"64K": 2**16, "1M": 2**20, "4M": 2**22, "32M": 2**25}
MIXED, ROUNDS = 2**12, 2**12
REPEATS = 20


def rates(threads: int, shrink: int = 1) -> dict[str, Any]:
    """Measure with so many threads at once, on as many processors.

    Parameters
    ----------
    threads : int
    shrink : int
        Divides all sizes, to try it out.

    Returns
    -------
    dict
        `read_gb_per_s`; `gather_ns_64K`, `gather_ns_1M`, ... for each element from a table of so
        many int32; `mixed_ns` for each word multiplied and added to; `kernels`, whose loops they
        are.
    """
    kernels, read, gather, mix, index = _kernels()
    random = np.random.default_rng(0)
    columns = [np.ones(READ // shrink, np.int32) for _ in range(3)]
    with pinned(threads), ThreadPoolExecutor(threads) as pool:
        seconds = _best(pool, read, list(zip(*(_parts(c, threads) for c in columns), strict=True)))
        found = {
            "kernels": kernels,
            "read_gb_per_s": sum(c.nbytes for c in columns) / seconds / 1e9,
        }
        for name, size in TABLES.items():
            table = np.ones(size // shrink, np.int32)
            places = random.integers(0, len(table), GATHERED // shrink, dtype=index)
            parts = [(table, part) for part in _parts(places, threads)]
            found[f"gather_ns_{name}"] = _best(pool, gather, parts) / len(places) * 1e9
        rounds = ROUNDS // shrink
        words = [(np.arange(MIXED, dtype=np.uint32), rounds) for _ in range(threads)]
        seconds = _best(pool, mix, words)
        found["mixed_ns"] = seconds / (threads * MIXED * rounds) * 1e9
    return found


def gather_seconds(rates: Mapping[str, Any], elements: int) -> float:
    """Return how long it takes to look up an element of a table: the measured one nearest in size.

    Parameters
    ----------
    rates : mapping
        What `rates` returned.
    elements : int
        Those of the table.
    """
    sizes = {name: TABLES[name] for name in TABLES if f"gather_ns_{name}" in rates}
    nearest = min(sizes, key=lambda name: abs(math.log(sizes[name] / max(elements, 1))))
    return float(rates[f"gather_ns_{nearest}"] * 1e-9)


def _parts(column: Array, count: int) -> list[Array]:
    return np.array_split(column, count)


def _best(
    pool: ThreadPoolExecutor, kernel: Callable[..., Any], parts: Sequence[tuple[Array, ...]]
) -> float:
    """Shortest time that all parts take, a thread each."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        list(pool.map(lambda part: kernel(*part), parts))
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _kernels() -> tuple[str, Loop, Loop, Loop, type[np.integer[Any]]]:
    """Return loops of numba, or of NumPy, which are slower but also leave other threads alone."""
    try:
        from numba import njit

        from mstflow.primitives.numba.intrinsics import AHEAD, fetch
    except ImportError:
        # Indices other than intp would be converted first.
        read_all = lambda *columns: [c.max() for c in columns]  # noqa: E731
        return "numpy", read_all, np.take, _mix_words, np.intp

    @njit(nogil=True)
    def read(u: Array, v: Array, w: Array) -> Any:
        most = (u[0], v[0], w[0])
        for k in range(len(u)):
            most = (max(most[0], u[k]), max(most[1], v[k]), max(most[2], w[k]))
        return most

    @njit(nogil=True)
    def gather(table: Array, places: Array) -> Any:
        total, last = 0, len(places) - 1
        for i in range(len(places)):
            fetch(table, places[min(i + AHEAD, last)])  # or it is no floor: this halves the time
            total += table[places[i]]
        return total

    return "numba", read, gather, njit(nogil=True)(_mix_words), np.int32


def _mix_words(words: Array, rounds: int) -> None:
    for _ in range(rounds):
        words *= np.uint32(0x9E3779B1)
        words += np.uint32(1)


if __name__ == "__main__":
    for count in sys.argv[1:] or ["1"]:
        print(count, json.dumps(rates(int(count))))
