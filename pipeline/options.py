"""Checks of what a caller may choose."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import OptionError
from ..primitives import resolve_backend

#: The backend for arrays on a GPU.
DEVICE_BACKEND = "cupy"


def check_count(name: str, value: Any, least: int, *, optional: bool = True) -> None:
    """Refuse anything but an integer of at least `least`, or None if that is optional.

    Raises
    ------
    OptionError
        Naming the option.
    """
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        message = f"{name} must be an integer of at least {least}, not {value!r}"
        raise OptionError(message)


def check_flag(name: str, value: Any) -> None:
    """Refuse anything but True and False: a string such as "no" would count as true.

    Raises
    ------
    OptionError
        Naming the option.
    """
    if not isinstance(value, bool | np.bool_):
        message = f"{name} must be True or False, not {value!r}"
        raise OptionError(message)


def choose_backend(backend: str, num_edges: int, *, on_device: bool) -> str:
    """Return the name of an array module for a graph; one that lies on a GPU is left there.

    Raises
    ------
    OptionError
        If there is no such backend, or it is not for arrays that lie where they do.
    """
    if not on_device:
        return resolve_backend(backend, num_edges)
    if backend not in ("auto", DEVICE_BACKEND):
        message = (
            f"backend {backend!r} is not for arrays on a GPU: choose {DEVICE_BACKEND!r}, or copy "
            "them to the host (cupy.asnumpy)"
        )
        raise OptionError(message)
    return resolve_backend(DEVICE_BACKEND, num_edges)
