"""An array module for tests, over `strict_device`: NumPy's primitives, with the copies shown."""

import numpy as np
import strict_device

from mstflow.primitives.fused import ArrayModule
from mstflow.primitives.numpy_arrays import NumpyArrays

_HOST = NumpyArrays()
_PLAIN = """iota full where minimum maximum concatenate count scan offsets segmented_reduce
segmented_argmin segmented_broadcast scatter scatter_reduce scatter_argmin gather compact sort
argsort partition any_signed order_key pointer_jump"""


class DoubleArrays(ArrayModule):
    """Plain primitives are NumPy's, behind the device; fused ones run over the device's arrays."""

    def __init__(self, threads=1):
        self.threads = threads

    index_dtype = staticmethod(_HOST.index_dtype)
    largest = staticmethod(_HOST.largest)

    def asarray(self, values, /, dtype=None):
        return strict_device.asarray(values, dtype)

    def to_host(self, array, /):
        return strict_device.asnumpy(array)

    def empty(self, size, /, dtype):
        return strict_device.empty(size, dtype)


def _on_device(name):
    function = getattr(_HOST, name)

    def primitive(self, *arguments, **options):
        found = function(*_hosts(arguments), **{k: _hosts(v) for k, v in options.items()})
        return _devices(found)

    return primitive


def _hosts(value):
    """Unwrap what a primitive is given: arrays must lie on the device."""
    if isinstance(value, tuple | list):
        return type(value)(map(_hosts, value))
    if isinstance(value, np.ndarray):
        message = "a primitive of the device was given an array of the host"
        raise TypeError(message)
    return value._host if isinstance(value, strict_device.DeviceArray) else value


def _devices(value):
    if isinstance(value, tuple):
        return tuple(map(_devices, value))
    return strict_device.DeviceArray(value) if isinstance(value, np.ndarray) else value


for _name in _PLAIN.split():
    setattr(DoubleArrays, _name, _on_device(_name))
