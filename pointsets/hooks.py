"""The functions of this wing that the core calls by name; see `plugins.wing`."""

from .catalogue.boruvka_blocks import boruvka_blocks
from .catalogue.boruvka_points import boruvka_points
from .primitives.modules import with_primitives
from .run import run

#: The algorithms for points, by name.
PIPELINES = {pipeline.name: pipeline for pipeline in (boruvka_points, boruvka_blocks)}

__all__ = ["PIPELINES", "run", "with_primitives"]
