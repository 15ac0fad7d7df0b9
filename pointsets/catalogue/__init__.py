"""The algorithms for the points of `mstflow.points`, a file each."""

from ...pipeline.dataflow import READ_BY_RUNS, FieldState
from ...pipeline.pipeline import INPUTS
from ...stages.fields import Count, field_of
from ..primitives.searches import Points

#: The initial fields of a graph of points, instead of the fields of edges.
INPUTS.update(
    points=FieldState(field_of(Points), only_of="mstflow.points"),
    core_samples=FieldState(field_of(Count), only_of="mstflow.points"),
)
READ_BY_RUNS.add("core_distance")
