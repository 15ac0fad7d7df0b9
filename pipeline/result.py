"""The check of a forest that a pipeline found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import PipelineError
from ..runtime.device import is_on_device

if TYPE_CHECKING:
    from numpy.typing import NDArray


def forest_ids(pipeline: str, found: Any, first: int, stop: int | None) -> NDArray[np.int64]:
    """Return the field ``forest`` of a run as ascending edge ids.

    Ids are at least `first`, and less than `stop` if that is known.

    Raises
    ------
    PipelineError
        If it is anything else. Names the pipeline.
    """
    edge_ids = found if is_on_device(found) else np.asarray(found)
    is_set = edge_ids.ndim == 1 and edge_ids.dtype.kind == "i"
    if is_set and not (edge_ids[1:] > edge_ids[:-1]).all():
        edge_ids = np.sort(edge_ids)
        is_set = bool((edge_ids[1:] > edge_ids[:-1]).all())
    if is_set and len(edge_ids):
        is_set = first <= int(edge_ids[0]) and (stop is None or int(edge_ids[-1]) < stop)
    if not is_set:
        message = f"pipeline {pipeline!r}: its forest is not a set of edge ids: {edge_ids}"
        raise PipelineError(message)
    return edge_ids.astype(np.int64)  # a copy: a module may reuse the memory of its own
