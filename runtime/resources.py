"""The threads and the memory of an array module. The defaults are those of the host."""

from __future__ import annotations

import contextlib
from typing import Any, Protocol


class Resources(Protocol):
    """The part of an `ArrayModule` that describes its threads and its memory."""

    #: The maximal number of threads that share a call.
    threads: int

    def device_memory(self) -> int | None:
        """Return the size in bytes of the largest array on the device; None for the host."""
        return None

    def beside(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which another thread computes on the same device.

        Work queued before entry runs first; work queued after exit runs last. On the host, where
        nothing is queued, the context does nothing.
        """
        return contextlib.nullcontext()
