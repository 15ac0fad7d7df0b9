"""The threads and the memory that an array module computes with; the host's by default."""

from __future__ import annotations

import contextlib
from typing import Any, Protocol


class Resources(Protocol):
    """What an executor asks of an array module."""

    #: The most threads that share a call.
    threads: int

    def device_memory(self) -> int | None:
        """Return the free bytes of the device's memory; None if arrays use the host's."""
        return None

    def beside(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which another thread computes on the same device.

        Work queued before entry runs first; work queued after exit runs last. Threads of the host
        need no such order.
        """
        return contextlib.nullcontext()
