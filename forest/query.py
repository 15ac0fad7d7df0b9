"""Run a pipeline on edges in memory, such as those of a forest."""

from __future__ import annotations

from typing import Any

from ..graphs.edge_list import EdgeList
from ..pipeline.pipeline import Pipeline
from ..primitives import Backend


def query(
    pipeline: Pipeline, edges: EdgeList, backend: Backend, *, maximum: bool = False
) -> dict[str, Any]:
    """Run a pipeline on edges in memory, and return the fields of its result."""
    fields, _ = pipeline.run(
        edges,
        maximum=maximum,
        backend=backend.name,
        threads=backend.threads,
        strategy="whole",
        progress=False,
    )
    return fields
