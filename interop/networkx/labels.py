"""Labels of the components of a large networkx graph, by kernels or arrays."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from itertools import compress, islice, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graphs.libraries.networkx import ends_of
from ...primitives import array_module
from .info import LARGE, SPARSE
from .rows import are_ready, labels_by_kernels

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from ...primitives.vocabulary import ArrayModule

#: The number of nodes of a sparse graph from which arrays are faster than a search.
ARRAYS_FROM = 30_000
#: The number of full collections when objects were last moved to the oldest generation.
_moved_after = [-1]


def labels_of_rows(adjacency: Any, degree: int) -> tuple[NDArray[Any] | None, int]:
    """Return the labels of an undirected graph's nodes, and how many differ.

    Return None and 0 if a search is faster. `degree` is the typical degree.
    """
    if (len(adjacency) >= LARGE or are_ready()) and (found := labels_by_kernels(adjacency, degree)):
        return found
    if degree < SPARSE and len(adjacency) >= ARRAYS_FROM:
        labels = labels_of(*ends_of(adjacency), array_module("numpy"))
        return labels, int(labels.max()) + 1
    return None, 0


def labels_of(size: int, u: NDArray[Any], v: NDArray[Any], ops: ArrayModule) -> NDArray[Any]:
    """Return the number of each node's component, in the order of first nodes."""
    labels, _ = ops.number_roots(ops.join_in_order(u, v, size)[1])
    return np.asarray(labels)


def sets_of(nodes: Collection[Any], labels: NDArray[Any]) -> list[set[Any]]:
    """Return a new set of the nodes of each component.

    The largest component is computed as the difference of all nodes and the other components, which
    takes less time than grouping its nodes.
    """
    if not nodes:
        return []
    sizes = np.bincount(labels)
    largest = int(sizes.argmax())
    sizes[largest] = 0
    others: list[Any] = []
    if len(sizes) > 1:
        is_other = labels != largest
        others = list(compress(nodes, is_other.tobytes()))
        order = np.argsort(labels[is_other], kind="stable")
        others = list(map(others.__getitem__, order.tolist()))
    with without_collection():
        grouped = repeat(iter(others))
        sets = list(map(set, map(islice, grouped, sizes.tolist())))
        sets[largest] = set(nodes)
        sets[largest].difference_update(others)
    return sets


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause the garbage collector, which would visit all dictionaries of a graph repeatedly.

    Freezing and unfreezing at the end moves new objects to the oldest generation, so the next
    collection of the youngest one does not visit them. As it also delays the next full collection,
    it is done once before each: otherwise frequent calls would keep all cyclic garbage.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        full = gc.get_stats()[-1]["collections"]
        # Unfreezing would also change what the caller has frozen.
        if full != _moved_after[0] and not gc.get_freeze_count():
            _moved_after[0] = full
            gc.freeze()
            gc.unfreeze()
        gc.enable()
