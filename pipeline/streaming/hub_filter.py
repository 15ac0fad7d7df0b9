"""A filter for later scans: it drops edges that are heavier than the spokes at both their ends.

After a scan of light edges, one fragment is usually far larger than all others. It is called the
hub. Nearly all edges that still join two fragments lead to the hub. They are called spokes. Only
the lightest spoke of a fragment can be in the forest. If both ends of an edge have spokes, the edge
closes a cycle with these spokes. If it is also heavier than both, it is the heaviest edge of the
cycle, so it is dropped. Therefore a later scan holds few edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...stages.fields import Columns
from .buffer import Selected

#: The hub is the most frequent end in a sample of this size. A wrong guess affects only speed.
_SAMPLE = 2**12
#: Bounds are lowered when there is a new spoke for every eighth fragment, because this takes time
#: for each fragment.
_FRAGMENTS_PER_SPOKE = 8
#: A block is filtered again if more than an eighth of its edges were selected: threads may have
#: filtered it before the first spokes were known.
_EDGES_PER_SELECTED = 8


class HubFilter:
    """The lightest known spoke of each fragment."""

    def __init__(self, ops: Any, num_fragments: int, weight_dtype: np.dtype[Any]) -> None:
        self._ops, key = ops, np.dtype(f"u{weight_dtype.itemsize}")
        #: The key of the lightest known spoke of each fragment: 0 for the hub, and the largest key
        #: without a spoke. The forest has no edge that is heavier than the bounds of both its ends.
        self.bound = ops.full(num_fragments, ops.largest(key), dtype=key)
        self._hub: int | None = None
        self._new: list[tuple[Any, Any]] = []  # fragments and keys of spokes not yet in `bound`
        self._num_new = 0

    def within_bounds(self, u: Any, v: Any, key: Any, *columns: Any) -> tuple[Any, ...]:
        """Return the edges that are at most as heavy as the larger bound of their ends."""
        ops = self._ops
        heaviest = ops.maximum(ops.gather(self.bound, u), ops.gather(self.bound, v))
        selected: tuple[Any, ...] = ops.compact(key <= heaviest, u, v, key, *columns)
        return selected

    def select(self, selected: Selected) -> Selected:
        """Return the edges that may be in the forest, and remember the spokes among them.

        The caller must keep these spokes, except for those that close a cycle or exceed its limit.
        """
        ops, key, (u, v, *_) = self._ops, selected.key, selected.columns
        if not len(key):
            return selected
        if self._hub is None:
            ends, counts = np.unique(ops.concat([u[:_SAMPLE], v[:_SAMPLE]]), return_counts=True)
            self._hub = int(ends[counts.argmax()])
            self.bound[self._hub] = 0
        if len(key) > selected.num_read // _EDGES_PER_SELECTED:
            u, v, key, *others = self.within_bounds(u, v, key, *selected.columns[2:])
            selected = selected._replace(key=key, columns=Columns(u, v, *others))
        is_spoke = (u == self._hub) | (v == self._hub)
        self._remember(*ops.compact(is_spoke, u ^ v ^ self._hub, key))
        return selected

    def _remember(self, fragment: Any, key: Any) -> None:
        """Lower the bounds of fragments to the keys of their spokes, if there are enough spokes."""
        self._new.append((fragment, key))
        self._num_new += len(key)
        size = len(self.bound)
        if self._num_new <= size // _FRAGMENTS_PER_SPOKE:
            return
        fragment, key = map(self._ops.concat, map(list, zip(*self._new, strict=True)))
        largest = self._ops.largest(key.dtype)
        lightest = self._ops.scatter_reduce(fragment, key, size, "min", largest)
        # A new array, because threads may be reading the bounds.
        self.bound = self._ops.minimum(self.bound, lightest)
        self._new, self._num_new = [], 0
