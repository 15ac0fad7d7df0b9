"""Conversion of weights to keys, and of keys to weights.

A key is an unsigned integer that represents a weight. Keys have the order of the weights: a weight
that comes later has a larger key, and equal weights have equal keys.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..errors import OptionError
from .numpy_arrays import NumpyArrays
from .vocabulary import Array, ArrayModule, DType

_reference = NumpyArrays()


@dataclass(frozen=True)
class WeightOrder:
    """The order of the weights of a graph. `ArrayModule.order_key` computes keys in this order.

    Attributes
    ----------
    dtype : dtype
        The dtype of the weights.
    signed : bool
        Whether weights may be negative or -0.0.
    descending : bool
        Whether heavier weights come first.
    """

    dtype: DType
    signed: bool = True
    descending: bool = False

    def weights_of(self, ops: ArrayModule, keys: Array) -> Array:
        """Return the weights that the keys represent; 0.0 if the weight was -0.0."""
        return ops.weights_of(keys, self.dtype, signed=self.signed, descending=self.descending)

    def within(self, keys: Array, limit: float | Fraction) -> Array:
        """Return whether each weight comes no later than `limit`, for an array of keys.

        The dtype of the weights need not represent `limit`. Without `descending`, these are the
        weights of at most `limit`, otherwise those of at least `limit`.

        Raises
        ------
        OptionError
            If `limit` is NaN.
        """
        last = self.key_of(limit)
        # Array libraries may wrap -1, which is not an unsigned key; no key is below 0.
        return keys <= last if last >= 0 else keys < 0

    def key_of(self, value: float | Fraction) -> int:
        """Return the largest key of a weight that comes no later than `value`.

        Returns
        -------
        int
            -1 if all weights of the dtype come after `value`. Use `within` to compare arrays of
            keys, which are unsigned.

        Raises
        ------
        OptionError
            If `value` is NaN.
        """
        value = value.item() if isinstance(value, np.generic) else value
        if value != value:
            message = "expected a number to compare weights with, got NaN"
            raise OptionError(message)
        comes_no_later = operator.ge if self.descending else operator.le
        kind, highest = np.dtype(self.dtype).kind, _reference.largest(self.dtype)
        lowest = {"f": -highest, "i": -highest - 1}.get(kind, 0) if self.signed else 0
        first, last = sorted(self._keys(lowest, highest))
        low, high = first - 1, last
        # All keys above `high` come after `value`, and no key up to `low` does.
        while low < high:
            middle = (low + high + 1) // 2
            if comes_no_later(self._weight(middle), value):
                low = middle
            else:
                high = middle - 1
        # No weight has the key of -0.0. Return the key of 0.0 instead.
        return self._keys(self._weight(low))[0] if low >= first else -1

    def _keys(self, *weights: float) -> list[int]:
        array = np.array(weights, self.dtype)
        keys = _reference.order_key(array, signed=self.signed, descending=self.descending)
        return list(map(int, keys))

    def _weight(self, key: int) -> float:
        keys = np.array([key], f"u{np.dtype(self.dtype).itemsize}")
        weight: float = self.weights_of(_reference, keys).item()
        return weight
