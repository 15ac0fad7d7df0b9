"""What a task can tell of the worker that runs it."""

from __future__ import annotations

import sys
from typing import Any

from ..primitives import Backend, backends


def worker_backend(backend: Backend) -> Backend:
    """Return the backend that this worker's Dask resources name, or else the one given.

    Workers of one cluster may differ, each started as ``dask worker ADDRESS --resources numba=1``:
    any of them may take any task, since all backends find the same edges.
    """
    worker = this_worker()
    if worker is None:
        return backend
    named = [name for name in backends() if name in worker.state.total_resources]
    return backend._replace(name=named[0]) if named else backend


def this_worker() -> Any:
    """Return the worker of a cluster that runs this task; None if there is none."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed and distributed.get_worker()
    except ValueError:
        return None
