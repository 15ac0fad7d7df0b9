"""Passes over edges that cannot be in the forest, by the lightest that lead to one large fragment.

After a scan of light edges one fragment is mostly far larger than all others, the hub, and nearly
all edges that still join two fragments lead to it: spokes. Of the spokes of one fragment only the
lightest can be in the forest; and an edge that is heavier than the spokes at both its ends closes a
cycle with the two, of which it is the heaviest. So few of the edges that a later scan finds are
held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...stages.fields import Columns

if TYPE_CHECKING:
    from .buffer import Selected

#: Of so many edges the most frequent end is taken for the hub: any choice is right, this one pays.
_SAMPLE = 2**12


class Star:
    """The lightest spoke that was seen of each of `num_fragments` fragments."""

    def __init__(self, ops: Any, num_fragments: int) -> None:
        self._ops, self._num_fragments = ops, num_fragments
        self._hub: Any = None
        self._spoke: Any = None  # keys; the hub's own is less than any other, none is the largest

    def select(self, piece: Selected) -> Selected:
        """Leave out the edges that are heavier than spokes; take note of spokes among the others.

        Spokes that are noted must be taken, or be the heaviest of a cycle or of what is taken.
        """
        if not len(piece.key):
            return piece
        if self._hub is None:
            self._begin(piece)
        ops, (u, v, *_) = self._ops, piece.columns
        heaviest = ops.maximum(ops.gather(self._spoke, u), ops.gather(self._spoke, v))
        key, *columns = ops.compact(piece.key <= heaviest, piece.key, *piece.columns)
        u, v, *_ = columns
        is_spoke = (u == self._hub) | (v == self._hub)
        fragment, lighter = ops.compact(is_spoke, u ^ v ^ self._hub, key)
        self._spoke[fragment] = lighter  # of several in a piece any: none is heavier than before
        return piece._replace(key=key, columns=Columns(*columns))

    def _begin(self, piece: Selected) -> None:
        u, v, *_ = (column[:_SAMPLE] for column in piece.columns)
        ends, counts = np.unique(self._ops.concat([u, v]), return_counts=True)
        self._hub = int(ends[counts.argmax()])
        dtype: np.dtype[Any] = piece.key.dtype
        self._spoke = self._ops.full(self._num_fragments, self._ops.largest(dtype), dtype=dtype)
        self._spoke[self._hub] = 0
