"""mstflow: minimum spanning forests as a dataflow of array primitives."""

from . import errors, progress, testing
from .graphs.coordinates import read_coordinates
from .graphs.edge_list import EdgeList
from .graphs.read import read
from .pipeline.catalogue import algorithm, algorithms
from .pipeline.forest import Forest
from .pipeline.hdbscan import mutual_reachability
from .pipeline.pipeline import Pipeline
from .pipeline.solve import minimum_spanning_forest
from .pipeline.steps import Loop
from .pipeline.verify import Verification, verify
from .primitives import backends
from .stages import Stage, stage

__version__ = "0.1.0"

__all__ = [
    "EdgeList",
    "Forest",
    "Loop",
    "Pipeline",
    "Stage",
    "Verification",
    "algorithm",
    "algorithms",
    "backends",
    "errors",
    "minimum_spanning_forest",
    "mutual_reachability",
    "progress",
    "read",
    "read_coordinates",
    "stage",
    "testing",
    "verify",
]
