"""The memory that a run on points takes, which is known before any point is read."""

from __future__ import annotations

from ..errors import MemoryBoundError, OutOfMemoryError
from ..runtime.host import available_bytes, show_bytes

#: Bytes for each point, and for each of its coordinates, that a run may take at its peak.
_POINT, _COORDINATE = 150, 24
#: Fewer bytes than this are not compared with those of the system.
_NEGLIGIBLE = 10**9


def check_bound(bound: int | None, count: int, num_axes: int) -> None:
    """Refuse a bound on memory in bytes that is too small for a run."""
    needed = count * (_POINT + _COORDINATE * num_axes)
    if bound is not None and bound < needed:
        raise MemoryBoundError.of(bound, needed, f"for {count:,} points")


def check_available(count: int, num_axes: int, available: int | None = None) -> None:
    """Refuse points for which the memory of the system does not suffice.

    `available` is the memory in bytes, by default that of the system.
    """
    needed = count * (_POINT + _COORDINATE * num_axes)
    if needed < _NEGLIGIBLE:
        return
    available = available_bytes() if available is None else available
    if available is not None and needed > available:
        raise OutOfMemoryError(
            f"the tree of {count:,} points with {num_axes} coordinates takes up to "
            f"{show_bytes(needed)}, but {show_bytes(available)} are available; pass a sample of "
            "the points, or the edges of a neighbor graph"
        )
