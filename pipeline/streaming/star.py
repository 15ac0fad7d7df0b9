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
    """The lightest spoke so far of each of `num_fragments` fragments."""

    def __init__(self, ops: Any, num_fragments: int) -> None:
        self._ops, self._num_fragments = ops, num_fragments
        self._hub: Any = None
        self._spoke: Any = None  # keys: 0 for the hub, the largest key if there is no spoke

    def select(self, selected: Selected) -> Selected:
        """Return the edges that may be in the forest, and store the lightest spokes among them.

        The caller must keep these spokes, except for those that close a cycle or exceed its limit.
        """
        if not len(selected.key):
            return selected
        if self._spoke is None:
            self._begin(selected)
        selected = self.filter(selected)
        u, v, *_ = selected.columns
        is_spoke = (u == self._hub) | (v == self._hub)
        self._remember(*self._ops.compact(is_spoke, u ^ v ^ self._hub, selected.key))
        return selected

    def filter(self, selected: Selected) -> Selected:
        """Return the edges that may be in the forest.

        Any thread may call this while another one stores spokes: the keys only decrease, so an
        older key drops fewer edges.
        """
        if self._spoke is None:
            return selected
        ops, (u, v, *_) = self._ops, selected.columns
        heaviest = ops.maximum(ops.gather(self._spoke, u), ops.gather(self._spoke, v))
        key, *columns = ops.compact(selected.key <= heaviest, selected.key, *selected.columns)
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
        self._spoke[fragment] = ops.segmented_reduce(key, offsets, "min", ops.largest(key.dtype))

    def _begin(self, selected: Selected) -> None:
        u, v, *_ = (column[:_SAMPLE] for column in selected.columns)
        ends, counts = np.unique(self._ops.concat([u, v]), return_counts=True)
        self._hub = int(ends[counts.argmax()])
        dtype: np.dtype[Any] = selected.key.dtype
        spoke = self._ops.full(self._num_fragments, self._ops.largest(dtype), dtype=dtype)
        spoke[self._hub] = 0
        self._spoke = spoke  # other threads read it from now on
