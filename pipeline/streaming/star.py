"""A filter for later scans: it drops edges that are heavier than the spokes at both their ends.

After a scan of light edges, one fragment is usually far larger than all others. It is called the
hub. Nearly all edges that still join two fragments lead to the hub. They are called spokes. Only
the lightest spoke of a fragment can be in the forest. If both ends of an edge have spokes, the edge
closes a cycle with these spokes. If it is also heavier than both, it is the heaviest edge on the
cycle and is dropped. So a later scan holds few edges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...stages.fields import Columns

if TYPE_CHECKING:
    from .buffer import Selected

#: The hub is the most frequent end in a sample of this size. A wrong guess affects only speed.
_SAMPLE = 2**12


class Star:
    """The lightest spoke so far of each fragment.

    Attributes
    ----------
    bound : unsigned integer array
        The key of this spoke; 0 for the hub, and the largest key for a fragment without a spoke. An
        edge that is heavier than the bounds of both its ends is not in the forest. The keys only
        decrease, so threads may read them while `select` stores lower ones.
    """

    def __init__(self, ops: Any, num_fragments: int, weight_dtype: np.dtype[Any]) -> None:
        self._ops, key = ops, np.dtype(f"u{weight_dtype.itemsize}")
        self.bound = ops.full(num_fragments, ops.largest(key), dtype=key)
        self._hub: int | None = None

    def select(self, selected: Selected) -> Selected:
        """Return the edges that may be in the forest, and store the lightest spokes among them.

        The caller must keep these spokes, except for those that close a cycle or exceed its limit.
        """
        if not len(selected.key):
            return selected
        ops, (u, v, *_) = self._ops, selected.columns
        if self._hub is None:
            self._hub = self._most_frequent(u, v)
            self.bound[self._hub] = 0
        heaviest = ops.maximum(ops.gather(self.bound, u), ops.gather(self.bound, v))
        key, *columns = ops.compact(selected.key <= heaviest, selected.key, *selected.columns)
        u, v, *_ = columns
        is_spoke = (u == self._hub) | (v == self._hub)
        self._remember(*ops.compact(is_spoke, u ^ v ^ self._hub, key))
        return selected._replace(key=key, columns=Columns(*columns))

    def _remember(self, fragment: Any, key: Any) -> None:
        """Lower the key of the lightest spoke of each fragment.

        Writes go to distinct places: on a GPU, writes to one place would race.
        """
        ops, size = self._ops, len(key)
        if not size:
            return
        order = ops.argsort(fragment)
        fragment, key = ops.gather(fragment, order), ops.gather(key, order)
        is_first = ops.concat([ops.full(1, True, dtype=bool), fragment[1:] != fragment[:-1]])
        fragment, start = ops.compact(is_first, fragment, ops.arange(size, order.dtype))
        offsets = ops.concat([start, ops.full(1, size, dtype=order.dtype)])
        self.bound[fragment] = ops.segmented_reduce(key, offsets, "min", ops.largest(key.dtype))

    def _most_frequent(self, u: Any, v: Any) -> int:
        """Return the most frequent end in a sample."""
        sample = self._ops.concat([u[:_SAMPLE], v[:_SAMPLE]])
        ends, counts = np.unique(sample, return_counts=True)
        return int(ends[counts.argmax()])
