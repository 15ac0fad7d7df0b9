"""Choose the algorithm and the backend of a run on points, by the time that they take.

A search tree takes kernels. NumPy compares all pairs by blocks, which takes seconds from about ten
thousand points on. Loading kernels takes less than a second, and compiling them takes several, but
only once for each installation.
"""

from __future__ import annotations

import functools
from typing import Any

from ..pipeline.pipeline import Pipeline
from ..primitives import resolve_backend, why_not
from ..runtime.kernel_cache import is_cached
from ..runtime.sizes import sizes
from .catalogue.boruvka_blocks import boruvka_blocks, choose_for_points
from .distances import METRICS, SQUARES

#: Nanoseconds in which NumPy compares a pair of points by blocks, and for each of its coordinates:
#: squared distances come from matrix products.
_PAIR, _SQUARE, _OTHER = 20, 0.5, 2.0
#: NumPy searches no tree: the definition of a search compares all pairs, and takes this many times
#: as long as the blocks.
_TREE = 10
#: A kernel that every run by blocks compiles, and one of every run on a tree.
BLOCKS_KERNEL, TREE_KERNEL = "keep_for_rows", "search_outside"
#: The array modules with kernels that search a tree.
_WITH_KERNELS = ("numba", "cupy")


def choose(segment: Any, chosen: Pipeline | None, backend: str) -> tuple[Pipeline, str]:
    """Return the pipeline and the array module for a `PointSegment`.

    `chosen` is the caller's pipeline, if there is one, and `backend` may be "auto".
    """
    with_kernels, without = chosen or choose_for_points(segment), chosen or boruvka_blocks
    name = resolve_backend(backend, 0)
    if backend == "auto":
        seconds = numpy_seconds(segment, without.name)
        is_slow = not why_not("numba") and kernels_pay(with_kernels.name, seconds)
        name = "numba" if is_slow else "numpy"
    return (with_kernels if name in _WITH_KERNELS else without), name


def numpy_seconds(segment: Any, algorithm: str) -> float:
    """Return an estimate of the seconds that an algorithm takes on NumPy."""
    count, axes = segment.rows.shape
    is_square = isinstance(segment.metric, str) and METRICS[segment.metric].norm == SQUARES
    seconds = count * count * 1e-9 * (_PAIR + axes * (_SQUARE if is_square else _OTHER))
    return float(seconds if algorithm == boruvka_blocks.name else _TREE * seconds)


def kernels_pay(algorithm: str, seconds: float) -> bool:
    """Return whether to run an algorithm by kernels, if NumPy takes this number of seconds.

    A process loads them once its runs on NumPy would have taken as long as loading takes, and
    compiles them once they would have taken a second.
    """
    loaded, spent = _state()
    if algorithm not in loaded:
        spent.append(seconds)
        total = sum(spent)
        must_load = total >= sizes().points_loaded_from and _are_cached(algorithm)
        if not (must_load or total >= sizes().points_compiled_from):
            return False
        loaded.add(algorithm)
    return True


@functools.cache
def _state() -> tuple[set[str], list[float]]:
    """Return the algorithms whose kernels this process uses, and the seconds of other runs."""
    return set(), []


def _are_cached(algorithm: str) -> bool:
    return is_cached(BLOCKS_KERNEL if algorithm == boruvka_blocks.name else TREE_KERNEL)
