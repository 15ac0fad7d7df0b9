"""Checks of what a caller may choose."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import OptionError


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
