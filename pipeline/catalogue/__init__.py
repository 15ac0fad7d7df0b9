"""The algorithms by name: each is a pipeline in its own file."""

import warnings

from ...errors import OptionError
from ...plugins import Plugin, registered
from ..dataflow import Dataflow
from ..pipeline import Pipeline
from ..plan import STRATEGIES, Candidates
from ..strategies import SCANNING, strategy_flow
from .boruvka_csr import boruvka_csr
from .boruvka_edgelist import boruvka_edgelist
from .boruvka_flatten import boruvka_flatten
from .boruvka_sorted import boruvka_sorted
from .boruvka_unionfind import boruvka_unionfind
from .filter_boruvka import filter_boruvka
from .filter_kruskal import filter_kruskal
from .kruskal import kruskal
from .kruskal_helpers import kruskal_helpers
from .points.blocks import boruvka_blocks, choose_for_points
from .points.tree import boruvka_points
from .prim import prim

_CATALOGUE = {
    pipeline.name: pipeline
    for pipeline in (
        filter_boruvka,
        boruvka_edgelist,
        boruvka_flatten,
        boruvka_sorted,
        boruvka_csr,
        boruvka_unionfind,
        filter_kruskal,
        kruskal,
        kruskal_helpers,
        prim,
    )
}


def algorithms() -> list[str]:
    """Return the names of the algorithms for any graph, plugins last.

    "boruvka-points" and "boruvka-blocks" are for graphs of `mstflow.points`.
    """
    return [*_CATALOGUE, *_plugins()]


def _plugins() -> dict[str, Plugin]:
    return registered("algorithm", ("auto", *_CATALOGUE))


def algorithm(name: str) -> Pipeline:
    """Return the pipeline called `name`; "auto" is the default with kernels.

    Raises
    ------
    OptionError
        If the name is unknown, or a plugin cannot be loaded.
    """
    if name == "kruskal-few":
        message = "algorithm 'kruskal-few' is now 'kruskal'"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return kruskal
    for known in (boruvka_points, boruvka_blocks):
        if name == known.name:
            return known
    if isinstance(name, str) and name in ("auto", *_CATALOGUE):
        return _CATALOGUE.get(name, filter_kruskal)
    if isinstance(name, str) and name in _plugins():
        pipeline: Pipeline = _plugins()[name].load(Pipeline)
        return pipeline
    message = f"algorithm {name!r} is not known; choose from: auto, {', '.join(algorithms())}"
    raise OptionError(message)


def candidates(chosen: str | Pipeline) -> Candidates:
    """Return the pipelines of an option `algorithm`, from which a plan chooses."""
    if isinstance(chosen, Pipeline):
        return Candidates(chosen, is_own=True)
    if chosen == "auto":
        return Candidates(
            filter_kruskal, on_numpy=filter_boruvka, few=kruskal, on_points=choose_for_points
        )
    return Candidates(algorithm(chosen))


def strategies() -> list[str]:
    """Return the names of the strategies, which partition, read and merge the edges."""
    return list(STRATEGIES)


def strategy(name: str, algorithm_name: str = "auto") -> Dataflow:
    """Return a strategy as a dataflow that can be described and drawn.

    The strategies that scan a graph run the algorithm inside their tasks; "whole", "iterate" and
    "tiles" contain its steps.

    Raises
    ------
    OptionError
        If the strategy or the algorithm is unknown.
    """
    if name in SCANNING:
        return SCANNING[name]
    if name not in strategies():
        raise OptionError(f"strategy {name!r} is not known; choose from: {', '.join(strategies())}")
    return strategy_flow(name, algorithm(algorithm_name))
