"""mstflow: minimum spanning forests as a dataflow of array primitives."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import errors, progress, testing
    from .doors.formats.text.coordinates import read_coordinates
    from .doors.generated.grids import grid
    from .doors.read import read
    from .forest.forest import Forest
    from .graphs.edge_list import EdgeList
    from .pipeline.catalogue.names import algorithm, algorithms, strategies, strategy
    from .pipeline.dataflow import ByBackend
    from .pipeline.pipeline import Pipeline
    from .pipeline.steps import Loop, Recurse, When
    from .pointsets.graph import points
    from .pointsets.reachability import mutual_reachability
    from .primitives import backends
    from .queries.verify import Verification, verify
    from .solve import minimum_spanning_forest, minimum_spanning_forests
    from .stages import Stage, stage

__all__ = [
    "ByBackend",
    "EdgeList",
    "Forest",
    "Loop",
    "Pipeline",
    "Recurse",
    "Stage",
    "Verification",
    "When",
    "algorithm",
    "algorithms",
    "backends",
    "errors",
    "grid",
    "minimum_spanning_forest",
    "minimum_spanning_forests",
    "mutual_reachability",
    "points",
    "progress",
    "read",
    "read_coordinates",
    "stage",
    "strategies",
    "strategy",
    "testing",
    "verify",
]

#: Modules that need other libraries; `import *` does not import them.
_INTEROP = ("cluster", "csgraph")

# Names are imported on first use. So the command line starts before NumPy is loaded, and if loading
# is interrupted or memory is short, it prints one line instead of a traceback.
_MODULES = {
    "forest.forest": ("Forest",),
    "graphs.edge_list": ("EdgeList",),
    "doors.formats.text.coordinates": ("read_coordinates",),
    "doors.generated.grids": ("grid",),
    "pointsets.graph": ("points",),
    "pointsets.reachability": ("mutual_reachability",),
    "doors.read": ("read",),
    "pipeline.catalogue.names": ("algorithm", "algorithms", "strategies", "strategy"),
    "pipeline.dataflow": ("ByBackend",),
    "pipeline.pipeline": ("Pipeline",),
    "pipeline.steps": ("Loop", "Recurse", "When"),
    "primitives": ("backends",),
    "queries.verify": ("Verification", "verify"),
    "solve": ("minimum_spanning_forest", "minimum_spanning_forests"),
    "stages": ("Stage", "stage"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in (*__all__, *_INTEROP):
        return importlib.import_module(f".{name}", __name__)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_INTEROP})
