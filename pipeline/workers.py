"""What a task can tell of the worker that runs it."""

from __future__ import annotations

import sys

from ..primitives import Backend, known_backends, why_not


def worker_backend(backend: Backend) -> Backend:
    """Return the backend that this worker's Dask resources name, or else the one given.

    Workers of one cluster may differ, each started as ``dask worker ADDRESS --resources numba=1``:
    any of them may take any task, since all backends find the same edges.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return backend
    try:
        resources = distributed.get_worker().state.total_resources
    except ValueError:  # this is no task of a worker
        return backend
    named = [name for name in known_backends() if name in resources and not why_not(name)]
    return backend._replace(name=named[0]) if named else backend
