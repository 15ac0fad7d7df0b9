"""Kernels of prefix sums. Sums wrap around as those of NumPy's integers do."""

import numpy as np

from ...runtime.kernels import kernel


@kernel
def total(start, stop, values):
    """Return the sum of the values, modulo 2^64."""
    found = np.uint64(0)
    for i in range(np.uint64(start), np.uint64(stop)):
        found += np.uint64(values[i])
    return found


@kernel
def scan(start, stop, before, exclusive, values, out):
    """Write the prefix sums of the values, to which the sum `before` is added."""
    found = np.uint64(before)
    for i in range(np.uint64(start), np.uint64(stop)):
        value = np.uint64(values[i])
        found += value
        out[i] = found - value if exclusive else found
