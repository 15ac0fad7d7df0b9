"""mstflow: minimum spanning forests as a dataflow of array primitives."""

from . import errors, progress, testing
from .forest.forest import Forest
from .forest.reachability import mutual_reachability
from .forest.verify import Verification, verify
from .graphs.edge_list import EdgeList
from .graphs.read import read
from .graphs.text.coordinates import read_coordinates
from .pipeline.catalogue import algorithm, algorithms, strategies, strategy
from .pipeline.dataflow import ByBackend
from .pipeline.pipeline import Pipeline
from .pipeline.steps import Loop, When
from .primitives import backends
from .solve import minimum_spanning_forest
from .stages import Stage, stage

__version__ = "0.1.0"

__all__ = [
    "ByBackend",
    "EdgeList",
    "Forest",
    "Loop",
    "Pipeline",
    "Stage",
    "Verification",
    "When",
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
    "strategies",
    "strategy",
    "testing",
    "verify",
]
