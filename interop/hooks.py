"""The functions of this wing that the core calls by name; see `plugins.wing`."""

from .drawing import draw_steps
from .export import edges_of, to_igraph, to_networkx, to_pandas, to_polars, to_scipy
from .plots import plot_forest

__all__ = [
    "draw_steps",
    "edges_of",
    "plot_forest",
    "to_igraph",
    "to_networkx",
    "to_pandas",
    "to_polars",
    "to_scipy",
]
