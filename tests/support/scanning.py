"""Run scanning strategies with any capacity, and interrupt runs that resume."""

import itertools

from mstflow import algorithm
from mstflow.pipeline.catalogue.strategies import from_columns, strategy_flow
from mstflow.pipeline.execute import execute
from mstflow.pipeline.planning.costs import choose_num_light
from mstflow.pipeline.schedulers.scheduler import Inline
from mstflow.pipeline.streaming.facts import GraphFacts
from mstflow.pipeline.streaming.scan import Scanner
from mstflow.pipeline.streaming.solver import Solver
from mstflow.primitives import Backend
from mstflow.progress import set_listener
from mstflow.runtime.device import host_array


def scan(
    source,
    cuts=(),
    *,
    capacity,
    can_rescan,
    strategy="scan",
    scheduler=None,
    backend="numpy",
    name="kruskal",
    maximum=False,
    **options,
):
    """Scan a source in partitions; return the edge ids of the forest and the report.

    A run of a user holds at least some blocks of edges; here, `capacity` is any number. With the
    strategy "iterate", rounds run over the forests of the partitions.
    """
    count = source.num_edges
    bounds = [0, *sorted(cut % (count + 1) for cut in cuts), count]
    partitions = [source.slice(*pair) for pair in itertools.pairwise(bounds)]
    flow = strategy_flow(strategy, algorithm(name), holds_forests=True, rescans=can_rescan)
    solver = Solver(from_columns(algorithm(name)), Backend(backend, 2), maximum)
    shared = {
        "num_vertices": source.num_vertices,
        "num_edges": count,
        "maximum": maximum,
        "unsigned": False,
        "weight_dtype": source.weight_dtype,
        "first_edge": source.first_id,
        "scanner": Scanner(
            solver, capacity, can_rescan, source.num_vertices, count, source.first_id
        ),
        "num_light": choose_num_light(GraphFacts.of(source), capacity, len(partitions)),
    }
    fields, report = execute(
        flow,
        [{"source": partition} for partition in partitions],
        shared,
        scheduler=scheduler or Inline(),
        backend=solver.backend,
        **options,
    )
    return host_array(fields["forest"]), report


class InterruptedOnPurposeError(KeyboardInterrupt):
    """Raised in place of a kill."""


def run_with_kills(call, every, after_kill=lambda: None):
    """Call a function that resumes, and interrupt it at report number `every` of each run.

    Returns
    -------
    result
        That of the first call that is not interrupted.
    kills : int
    """
    for kills in range(60):
        count = itertools.count(1)

        def progress(_step, _done, _total, count=count):
            if next(count) == every:
                raise InterruptedOnPurposeError

        try:
            with set_listener(progress):
                return call(), kills
        except InterruptedOnPurposeError:
            after_kill()
    raise AssertionError("the runs do not advance")
