"""The algorithms and strategies by name. An algorithm is a file in the folder `algorithms`."""

import importlib
from typing import Any

from ...errors import OptionError
from ...plugins import Plugin, registered, wing
from ..dataflow import Dataflow
from ..pipeline import Pipeline
from ..request import Request
from . import algorithms as folder
from .strategies import STRATEGIES, strategy_flow, variant

#: The default with kernels, the default on NumPy, and the default on NumPy for few edges.
DEFAULT, ON_NUMPY, ON_FEW_EDGES = "filter-kruskal", "filter-boruvka", "kruskal"


def algorithms() -> list[str]:
    """Return the names of the algorithms for any graph, plugins last.

    "boruvka-points" and "boruvka-blocks" are for graphs of `mstflow.points`.
    """
    return [*folder.NAMES, *_plugins()]


def _plugins() -> dict[str, Plugin]:
    return registered("algorithm", ("auto", *folder.NAMES))


def algorithm(name: str) -> Pipeline:
    """Return the pipeline called `name`; "auto" is the default with kernels.

    Raises
    ------
    OptionError
        If the name is unknown, or a plugin cannot be loaded.
    """
    name = DEFAULT if name == "auto" else name
    if name in folder.NAMES:
        file = name.replace("-", "_")
        found: Pipeline = getattr(importlib.import_module(f"{folder.__name__}.{file}"), file)
        return found
    if isinstance(name, str):
        of_points: dict[str, Pipeline] = wing("pointsets").PIPELINES
        if name in of_points:
            return of_points[name]
        if name in _plugins():
            loaded: Pipeline = _plugins()[name].load(Pipeline)
            return loaded
    message = f"algorithm {name!r} is not known; choose from: auto, {', '.join(algorithms())}"
    raise OptionError(message)


def request_for(chosen: str | Pipeline = "auto", **options: Any) -> Request:
    """Return a request for the forest of a graph, for a value of the option `algorithm`."""
    if isinstance(chosen, Pipeline):
        return Request(pipeline=chosen, is_custom=True, **options)
    if chosen == "auto":
        options |= {"on_numpy": algorithm(ON_NUMPY), "few": algorithm(ON_FEW_EDGES)}
    return Request(pipeline=algorithm(chosen), **options)


def strategies() -> list[str]:
    """Return the names of the strategies, which partition, read and merge the edges."""
    return list(STRATEGIES)


def strategy(name: str, algorithm_name: str = "auto") -> Dataflow:
    """Return a strategy as a dataflow that can be described and drawn.

    "whole", "iterate" and "tiles" contain the steps of the algorithm. "scan" runs it inside its
    tasks. Its former names "fold", "tree" and "two-scan" are accepted, too.

    Raises
    ------
    OptionError
        If the strategy or the algorithm is unknown.
    """
    chosen = variant(name)
    return strategy_flow(
        chosen.strategy, algorithm(algorithm_name), rescans=chosen.rescans is not False
    )
