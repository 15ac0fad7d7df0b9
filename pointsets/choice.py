"""Choose the algorithm and the backend of a run on points, by the time that they take.

A search tree takes kernels. NumPy compares all pairs by blocks, which takes a second for ten
thousand points. Loading kernels takes half a second, so the first small runs of a process use
NumPy; see `primitives.loading`. Compiling takes several seconds, once for each installation.

The kernels that search a tree know the metrics by name. If the metric is a function, only the
definitions of the primitives search a tree.
"""

from __future__ import annotations

import warnings
from typing import Any

from ..errors import GraphWarning, OptionError
from ..pipeline.pipeline import Pipeline
from ..primitives import resolve_backend, why_not
from ..primitives.loading import Losses, loading_pays
from ..runtime.kernel_cache import is_cached
from ..runtime.sizes import sizes
from .catalogue.boruvka_blocks import boruvka_blocks
from .catalogue.boruvka_points import boruvka_points
from .distances import METRICS, SQUARES
from .primitives.modules import WITH_KERNELS
from .probe import probe

#: Nanoseconds in which NumPy compares a pair of points by blocks, and for each of its coordinates:
#: squared distances come from matrix products.
_PAIR, _SQUARE, _OTHER = 10, 0.2, 3.5
#: NumPy searches no tree: the definition of a search compares all pairs, and takes this many times
#: as long as the blocks.
_TREE = 10
#: Seconds from which a run on NumPy starts with a warning.
_LONG = 10.0
#: A kernel that every run by blocks compiles, and one of every run on a tree.
BLOCKS_KERNEL, TREE_KERNEL = "keep_for_rows", "search_outside"

#: The seconds of this process's runs on NumPy, by estimates. Kernels take a tenth of them, which is
#: less than the error of an estimate, so all of them count as lost.
_seconds_lost = Losses()
#: The kinds of kernels that this process has used.
_loaded: set[tuple[str, bool]] = set()


def choose(segment: Any, chosen: Pipeline | None, backend: str) -> tuple[Pipeline, str, str]:
    """Return the pipeline and the array module for a `PointSegment`, and the reason.

    `chosen` is the caller's pipeline, if there is one, and `backend` may be "auto".

    Raises
    ------
    OptionError
        If kernels should search a tree by a metric that is a function.
    """
    name = resolve_backend(backend, 0)
    without = chosen or boruvka_blocks
    has_kernels = not (callable(segment.metric) and "tree" in without.fields_read)
    if backend == "auto":
        name = "numba" if has_kernels and not why_not("numba") else "numpy"
    if name == "numpy":
        _warn_of_time(segment, without.name)
        return without, name, ""
    if name in WITH_KERNELS and not has_kernels:
        raise OptionError(
            f"algorithm {without.name!r} with backend {name!r} takes no function as metric; choose "
            f"algorithm={boruvka_blocks.name!r}, or backend='numpy'"
        )
    best, reason = (chosen, "") if chosen else _fastest(segment, may_project=name == "numba")
    seconds = numpy_seconds(segment, without.name)
    if backend != "auto" or _kind(best) in _loaded or _kernels_pay(best, seconds):
        if name == "numba":
            _loaded.add(_kind(best))
        return best, name, reason
    if not chosen and _kind(boruvka_blocks) in _loaded:
        return boruvka_blocks, name, "these kernels are loaded"
    return without, "numpy", "loading or compiling kernels takes longer"


def _fastest(segment: Any, *, may_project: bool) -> tuple[Pipeline, str]:
    """Return the fastest pipeline with kernels, and the reason."""
    is_tree, search_axes, reason = probe(segment.rows, segment.metric, may_project=may_project)
    tree = boruvka_points.given(search_axes=search_axes) if search_axes else boruvka_points
    return (tree if is_tree else boruvka_blocks), reason


def numpy_seconds(segment: Any, algorithm: str) -> float:
    """Return an estimate of the seconds that an algorithm takes on NumPy."""
    count, axes = segment.rows.shape
    is_square = isinstance(segment.metric, str) and METRICS[segment.metric].norm == SQUARES
    seconds = count * count * 1e-9 * (_PAIR + axes * (_SQUARE if is_square else _OTHER))
    return float(seconds if algorithm == boruvka_blocks.name else _TREE * seconds)


def _warn_of_time(segment: Any, algorithm: str) -> None:
    """Warn before a run on NumPy that takes long."""
    seconds, count = numpy_seconds(segment, algorithm), len(segment.rows)
    if seconds < _LONG:
        return
    message = f"NumPy compares all pairs of {count:,} points, which takes about {seconds:.0f} s"
    if not callable(segment.metric):
        remedy = "install the extra 'cpu'" if why_not("numba") else "pass backend='numba'"
        message += f"; {remedy} to search a tree by compiled kernels"
    elif algorithm != boruvka_blocks.name:
        message += f"; algorithm={boruvka_blocks.name!r} is faster for a metric that is a function"
    warnings.warn(message, GraphWarning, stacklevel=2)


def _kernels_pay(pipeline: Pipeline, seconds: float) -> bool:
    """Return whether to load the kernels of a pipeline, if NumPy takes this number of seconds."""
    lost = _seconds_lost.add(seconds)
    loaded_from, compiled_from = sizes().points_loaded_from, sizes().points_compiled_from
    return loading_pays(lost, loaded_from, compiled_from, lambda: _are_cached(pipeline))


def _kind(pipeline: Pipeline) -> tuple[str, bool]:
    """Return what decides which kernels a pipeline compiles."""
    return pipeline.name, bool(pipeline.values.get("search_axes"))


def _are_cached(pipeline: Pipeline) -> bool:
    return is_cached(BLOCKS_KERNEL if pipeline.name == boruvka_blocks.name else TREE_KERNEL)
