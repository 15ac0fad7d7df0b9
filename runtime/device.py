"""Arrays on a GPU, told by how they describe themselves; CuPy is loaded for them only.

What else is asked of them here are methods and operators that they share with NumPy's arrays, and
functions of NumPy's that hand themselves over to CuPy.
"""

from __future__ import annotations

from typing import Any

from ..errors import GraphError, OptionError


def is_on_device(values: Any) -> bool:
    """Tell whether values lie on a GPU, in whichever library's array."""
    return hasattr(values, "__cuda_array_interface__")


def device_array(values: Any) -> Any:
    """Return values on a GPU as an array of CuPy's, in the memory where they lie.

    Raises
    ------
    OptionError
        If CuPy is not installed.
    """
    try:
        import cupy
    except ModuleNotFoundError as error:
        message = "arrays on a GPU need the package cupy: mstflow[cuda12] or mstflow[cuda13]"
        raise OptionError(message) from error
    return cupy.asarray(values)


def host_array(values: Any) -> Any:
    """Return values on a GPU as an array of NumPy's, a copy; any others as they are."""
    return device_array(values).get() if is_on_device(values) else values


def refuse_device(values: Any, what: str) -> None:
    """Refuse values on a GPU where only those of the host can be taken.

    Raises
    ------
    GraphError
        Naming what they are.
    """
    if is_on_device(values):
        message = f"{what} lies on a GPU: copy it to the host (cupy.asnumpy)"
        raise GraphError(message)
