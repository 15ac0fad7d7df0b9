"""The run that finds the forests of many small graphs: one call of a stage for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import memory_errors
from ..primitives import Backend, resolve_backend
from ..progress import set_listener
from ..stages.fields import ANYTHING
from ..stages.kruskal import join_each_graph
from .dataflow import Dataflow, Known
from .options import check_count, check_flag
from .report.report import Plan
from .run.execute import execute
from .run.schedulers import Inline
from .strategies import SHARED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..progress import Listener
    from .report.report import Report

_FLOW = Dataflow(
    "together",
    (join_each_graph,),
    {"graphs": Known(ANYTHING), "maximum": SHARED["maximum"]},
    ("forests", "sizes"),
    "find the forest of each of many small graphs",
    {},
)


def run_together(
    graphs: Sequence[tuple[Any, Any, Any]],
    algorithm: str,
    *,
    maximum: bool,
    backend: str,
    threads: int | None,
    progress: bool | Listener,
) -> tuple[list[Any], list[int], Report]:
    """Return the forest of each graph, its number of vertices, and the report of the run.

    `graphs` are columns, as the primitive `join_graphs` accepts them. The forest is None if the
    primitive refuses the graph. `algorithm` is the name that the report states.
    """
    check_flag("maximum", maximum)
    check_count("threads", threads, 1)
    num_edges = sum([len(u) for u, _, _ in graphs])
    name, where = resolve_backend(backend, num_edges, are_few=True), Inline(threads)
    with set_listener(progress), memory_errors(None, num_edges):
        shared = {"graphs": graphs, "maximum": bool(maximum), "num_edges": num_edges}
        using = Backend(name, where.task_threads)
        fields, report = execute(_FLOW, [{}], shared, scheduler=where, backend=using)
    report.plan = Plan("whole", 1, num_edges, "the graphs are small", where.name, algorithm, name)
    return fields["forests"], fields["sizes"], report
