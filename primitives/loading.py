"""Decide when a process loads or compiles kernels, by the rule of renting or buying.

Each run without kernels loses time. Loading kernels takes longer than most runs lose, but only once
in a process. They pay for the run that brings the sum of losses to the time of loading. Until then
less than this time is lost. So in total, a process never takes more than twice as long as with the
best choice, whichever runs follow. If the kernels are not in the cache, they are compiled, once for
each installation, and the losses must reach another sum.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Losses:
    """The sum of what the runs of a process have lost without kernels. Threads may add to it."""

    def __init__(self) -> None:
        self._sum, self._lock = 0.0, threading.Lock()

    def add(self, loss: float) -> float:
        """Add the loss of a run and return the sum."""
        with self._lock:
            self._sum += loss
            return self._sum


def loading_pays(
    lost: float, loaded_from: float, compiled_from: float, are_cached: Callable[[], bool]
) -> bool:
    """Return whether kernels pay for a run that brings the sum of losses to `lost`.

    From the sum `loaded_from` they are loaded from the cache, and from `compiled_from` compiled.
    """
    return lost >= compiled_from or (lost >= loaded_from and are_cached())
