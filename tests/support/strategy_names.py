"""The names of the strategies that tests run, derived from the planner's table."""

from mstflow.pipeline.catalogue.strategies import ALIASES, STRATEGIES, variant


def _properties(name):
    chosen = variant(name)
    return STRATEGIES[chosen.strategy]._replace(is_single=chosen.is_single)


_ALL = {name: _properties(name) for name in (*STRATEGIES, *ALIASES)}
#: For graphs that are not grids.
ANY_GRAPH = {name: each for name, each in _ALL.items() if not each.needs_grid}
#: Those of one partition; the others also run on several.
SINGLE = [name for name, each in ANY_GRAPH.items() if each.is_single]
#: Those that read the graph in blocks, and so keep checkpoints.
STREAMING = [name for name, each in ANY_GRAPH.items() if each.streams]
#: Those that do not accept a bound on memory.
UNBOUNDED = [name for name, each in ANY_GRAPH.items() if not each.is_bounded]
#: Those that run any algorithm on any scheduler.
ANY_ALGORITHM = [name for name, each in ANY_GRAPH.items() if not each.algorithm]
#: Those of them that accept a bound on memory.
BOUNDED = [name for name in ANY_ALGORITHM if name not in UNBOUNDED]
#: The number of partitions with which tests run each of `ANY_ALGORITHM`.
PARTITIONS = {name: 1 if name in SINGLE else 3 for name in ANY_ALGORITHM}
