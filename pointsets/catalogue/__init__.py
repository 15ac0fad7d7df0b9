"""The algorithms for the points of `mstflow.points`, a file each."""

from ...pipeline.dataflow import READ_BY_RUNS, FieldState
from ...pipeline.pipeline import INPUTS
from ...stages.fields import Field

#: The initial fields of a graph of points, instead of the fields of edges.
INPUTS.update(
    points=FieldState(Field("", "points"), only_of="mstflow.points"),
    core_samples=FieldState(Field("", "count"), only_of="mstflow.points"),
)
READ_BY_RUNS.add("core_distance")
