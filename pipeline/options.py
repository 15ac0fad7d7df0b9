"""Checks of options."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import OptionError
from ..primitives import resolve_backend

#: The backend for arrays on a GPU.
DEVICE_BACKEND = "cupy"


def check_count(name: str, value: Any, least: int, *, optional: bool = True) -> None:
    """Check that an option is an integer of at least `least`, or None if it is optional.

    Raises
    ------
    OptionError
        If the option is invalid. Names the option.
    """
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        message = f"{name} must be an integer of at least {least}, not {value!r}"
        raise OptionError(message)


def check_flag(name: str, value: Any) -> None:
    """Check that an option is True or False; a string such as "no" would count as true.

    Raises
    ------
    OptionError
        If the option is anything else. Names the option.
    """
    if not isinstance(value, bool | np.bool_):
        message = f"{name} must be True or False, not {value!r}"
        raise OptionError(message)


def choose_backend(backend: str, num_edges: int, *, on_device: bool, are_few: bool = False) -> str:
    """Return the name of the array module for a graph; arrays on a GPU stay there.

    `are_few` states that one function of the module joins all edges. Compiled kernels then pay
    from fewer edges on.

    Raises
    ------
    OptionError
        If the backend does not exist or does not support arrays on a GPU.
    """
    if not on_device:
        return resolve_backend(backend, num_edges, are_few=are_few)
    if backend not in ("auto", DEVICE_BACKEND):
        message = (
            f"backend {backend!r} does not support arrays on a GPU; choose {DEVICE_BACKEND!r}, or "
            "copy them to the host (cupy.asnumpy)"
        )
        raise OptionError(message)
    return resolve_backend(DEVICE_BACKEND, num_edges)
