"""Checks of options, and sizes in bytes."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np

from ..errors import OptionError

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def check_count(name: str, value: Any, least: int, *, optional: bool = True) -> None:
    """Check that an option is an integer of at least `least`, or None if it is optional."""
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise OptionError(f"{name} must be an integer of at least {least}, not {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Check that an option is True or False: a string such as "no" is truthy."""
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"{name} must be True or False, not {value!r}")


def parse_bytes(value: int | str, name: str = "memory") -> int:
    """Parse a size: bytes such as 2000000000, or a string such as "2GB" (10^9) or "2GiB" (2^30).

    `name` is used in the message.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(value), re.IGNORECASE)
    if match and not isinstance(value, bool) and (unit := _UNITS.get(match[2].upper())):
        count = int(min(float(match[1]) * unit, sys.maxsize))
        if count >= 1:
            return count
    raise OptionError(f"{name} must be a number of bytes or a size like '2GB', not {value!r}")
