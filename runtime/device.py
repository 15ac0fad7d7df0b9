"""Detection and conversion of arrays on a GPU; CuPy is imported only for such arrays.

Arrays on a GPU are recognised by the CUDA array interface. Other modules use only methods and
operators that they share with NumPy arrays, and NumPy functions that dispatch to CuPy.
"""

from __future__ import annotations

from typing import Any

from ..errors import GraphError, OptionError


def is_on_device(values: Any) -> bool:
    """Return whether `values` is an array on a GPU, of any library."""
    return hasattr(values, "__cuda_array_interface__")


def device_array(values: Any) -> Any:
    """Return an array on a GPU as a CuPy array that shares its memory."""
    try:
        import cupy
    except ModuleNotFoundError as error:
        message = "arrays on a GPU need the package cupy: mstflow[cuda12] or mstflow[cuda13]"
        raise OptionError(message) from error
    return cupy.asarray(values)


def host_array(values: Any) -> Any:
    """Copy an array on a GPU to a NumPy array; return any other object unchanged."""
    return device_array(values).get() if is_on_device(values) else values


def refuse_device(values: Any, what: str) -> None:
    """Raise an error if `values`, described as in "column 'u'", is an array on a GPU."""
    if is_on_device(values):
        message = f"{what} is on a GPU; copy it to the host with cupy.asnumpy"
        raise GraphError(message)
