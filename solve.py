"""The front door's one call: from anything that is a graph to its minimum spanning forest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import OptionError
from .forest.forest import Forest
from .graphs.edge_list import EdgeList
from .graphs.open import open_graph
from .graphs.source import EdgeSource
from .pipeline.catalogue import algorithm as named_algorithm
from .pipeline.options import check_count, choose_backend
from .pipeline.pipeline import Pipeline
from .pipeline.run.flow import forest_ids, run
from .pipeline.run.partitions import COLUMNS, load_partitions, placed, split
from .pipeline.run.schedulers import kernel_threads, open_scheduler
from .pipeline.streaming.bounds import parse_bytes
from .pipeline.streaming.checkpoint import open_checkpoint
from .pipeline.streaming.plan import SCANNING, Request, choose_plan, is_streamed
from .pipeline.streaming.scans import hold_forests, solve_by_scans
from .pipeline.streaming.solver import Solver
from .primitives import Backend, array_module, resolve_backend
from .progress import heard_by
from .runtime.native import COMPILED_FROM
from .runtime.team import sharing

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from .pipeline.run.report import Report
    from .pipeline.run.schedulers import Scheduler
    from .pipeline.streaming.checkpoint import Checkpoint
    from .pipeline.streaming.plan import Plan
    from .progress import Listener

#: What "auto" is for the edges that a scan holds, few for each vertex: it takes least memory.
_SCANNED = "filter-kruskal"


def minimum_spanning_forest(
    graph: Any,
    *,
    num_vertices: int | None = None,
    weight: str | None = "weight",
    maximum: bool = False,
    algorithm: str | Pipeline = "auto",
    backend: str = "auto",
    threads: int | None = None,
    scheduler: Any = "inline",
    partitions: int | None = None,
    strategy: str = "auto",
    split_every: int = 4,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | Listener = True,
) -> Forest:
    """Find the minimum spanning forest under the total order (weight, edge id).

    The same edge ids come back from every algorithm, backend, scheduler and partitioning.

    Parameters
    ----------
    graph : EdgeList, tuple of columns, path, list of paths, or object of another library
        An edge list; columns ``(u, v)`` or ``(u, v, weight)`` of length m; files, which together
        are one graph (see `mstflow.read`); a sparse matrix of scipy, a graph of networkx or
        igraph, a table of pandas, polars, pyarrow or Dask (see `docs/formats.md`). An
        `EdgeSource`, an iterable of chunks or a list of `dask.delayed` chunks is streamed; a chunk
        is anything of the above but files. Columns on a GPU stay there, and so does the forest.
        Never written to.
    num_vertices : int, optional
        Number of vertices; what the graph or file says if not given, or the largest id plus one.
    weight : str or None
        None takes every weight as integer 1. A name chooses among named weights: columns of a
        table, attributes of edges. A graph with only one calls it "weight".
    maximum : bool
        Find the maximum spanning forest instead; ties still go to the smaller edge id.
    algorithm : str or Pipeline
        A name from `mstflow.algorithms()`, "auto", or a pipeline of your own that gives the field
        ``forest``.
    backend : str
        A name from `mstflow.backends()`, or "auto".
    threads : int, optional
        Inline, the threads of compiled kernels; else the workers of the schedulers "threads" and
        "processes", one thread each. All processors if not given, or as many as the environment
        variable OMP_NUM_THREADS allows kernels.
    scheduler : str or distributed.Client
        "inline", "synchronous", "threads", "processes", "dask" (whatever Dask has active), the
        address of a scheduler, or a client.
    partitions : int, optional
        Into how many ranges of edge ids the edges are split; one for each worker if not given.
    strategy : {"auto", "whole", "fold", "tree", "two-scan", "iterate"}
        "whole": the graph in memory, in one part. "fold": chunk after chunk, each joined with the
        forest of those before. "tree": a forest of each part, merged up a tree. "two-scan": the
        lightest edges first, then what they leave apart, by further scans while need be.
        "iterate": every round over all parts, with `memory` over a forest of each. "auto"
        chooses, and the report says why. All but "whole", and "iterate" without `memory`, suppose
        that a pipeline finds the whole forest of what it is given.
    split_every : int
        How many results one task joins.
    memory : int or str, optional
        Bytes, or a size such as "2GB" (10^9), that the call may take beyond what the process holds
        when it is made; on a cluster, that each task may. The graph is streamed then: folders of
        `.npy` columns and Parquet files are never loaded. What is too little is refused.
    checkpoint : path, optional
        A folder for what has been found so far: a call that was killed goes on from there when it
        is made again. All workers must see it. Needs a strategy that streams the graph.
    progress : bool or callable
        True draws a bar on a terminal (standard error) or in a notebook if the call takes over two
        seconds, and wipes it at the end. False draws none. A callable is called as
        ``progress(step, done, total)``: see `mstflow.progress`.

    Returns
    -------
    Forest
        Its `edge_ids` are computed; all else is derived when asked for.

    Raises
    ------
    MstflowError
        On a graph, file or option that is not right; nothing has been changed then.
    """
    check_count("threads", threads, 1)
    check_count("partitions", partitions, 1)
    check_count("split_every", split_every, 2, optional=False)
    bound = None if memory is None else parse_bytes(memory)
    pipeline = algorithm if isinstance(algorithm, Pipeline) else named_algorithm(algorithm)
    pipeline.check()
    if "forest" not in pipeline.result:
        message = f"pipeline {pipeline.name!r} does not give the field 'forest'"
        raise OptionError(message)
    resolve_backend(backend, 0)  # a wrong name is refused before the graph is read
    streamed = is_streamed(strategy, scheduler, memory)
    with (
        heard_by(progress),
        open_scheduler(scheduler, threads) as where,
        # Tasks that run side by side have a processor each.
        sharing(task_threads := (threads or kernel_threads()) if where.eager else 1),
    ):
        edges = open_graph(
            graph, num_vertices, weight, is_streamed=streamed, is_bounded=memory is not None
        )
        source = edges if isinstance(edges, EdgeSource) else EdgeSource.of(edges)
        source = source.with_sizes()
        on_device = source.is_on_device
        num_edges = COMPILED_FROM if source.num_edges is None else source.num_edges
        name = choose_backend(backend, num_edges, on_device=on_device)
        ops = Backend(name, task_threads)
        device_memory = array_module(ops).device_memory() if where.eager else None
        plan = choose_plan(
            Request(strategy, partitions, split_every, bound, pipeline is algorithm, device_memory),
            source,
            where,
            task_threads,
        )
        if algorithm == "auto" and plan.strategy in SCANNING:
            pipeline = named_algorithm(_SCANNED)
        records = None
        if checkpoint is not None:
            if plan.strategy not in SCANNING:
                message = f"strategy {plan.strategy!r} keeps no checkpoint; choose another"
                raise OptionError(message)
            choices = {
                "strategy": plan.strategy,
                "partitions": plan.partitions,
                "split_every": split_every,  # which parts a level of merges joins
            }
            identity = {"input": source.fingerprint(), "num_vertices": source.num_vertices}
            records = open_checkpoint(checkpoint, {**identity, **choices, "maximum": bool(maximum)})
        edge_ids, known, report = _solve(
            pipeline,
            source,
            plan,
            records,
            maximum=bool(maximum),
            scheduler=where,
            backend=ops,
            split_every=split_every,
        )
        report.plan = f"{plan.strategy}: {plan.reason}"
        return Forest(
            placed(edge_ids, ops, on_device=on_device),
            edges if isinstance(edges, EdgeList) else source,
            maximum=bool(maximum),
            algorithm=pipeline.name,
            backend=ops.name,
            scheduler=where.name,
            strategy=plan.strategy,
            partitions=plan.partitions,
            report=report,
            known=tuple(placed(column, ops, on_device=on_device) for column in known),
        )


def _solve(
    pipeline: Pipeline,
    source: EdgeSource,
    plan: Plan,
    checkpoint: Checkpoint | None,
    *,
    maximum: bool,
    scheduler: Scheduler,
    backend: Backend,
    **options: Any,
) -> tuple[NDArray[np.int64], tuple[NDArray[Any], ...], Report]:
    """Return edge ids, other columns if they came along, and a report."""
    num_vertices = source.num_vertices or 0
    parts = split(source, plan.partitions, scheduler)
    if plan.strategy in SCANNING:
        solver = Solver(pipeline, backend, maximum)
        (*known, edge_ids), report = solve_by_scans(
            solver,
            parts,
            num_vertices,
            capacity=plan.capacity,
            several_scans=plan.strategy == "two-scan",
            scheduler=scheduler,
            checkpoint=checkpoint,
            **options,
        )
        return edge_ids, tuple(known), report
    num_edges = source.num_edges or 0
    if plan.capacity < num_edges:
        solver = Solver(named_algorithm(_SCANNED), backend, maximum)
        tables = hold_forests(
            solver, parts, num_vertices, capacity=plan.capacity, scheduler=scheduler
        )
    else:
        tables = load_partitions(parts, num_edges, scheduler, backend)
    fields = [
        dict(zip(COLUMNS, scheduler.outputs(table, len(COLUMNS)), strict=True)) for table in tables
    ]
    del tables  # or its arrays would outlive their use
    shared = {"num_vertices": num_vertices, "maximum": maximum}
    result, report = run(
        pipeline,
        fields,
        shared,
        num_edges=num_edges,
        scheduler=scheduler,
        backend=backend,
        **options,
    )
    first = source.first_id
    return forest_ids(pipeline, result["forest"], first, first + num_edges), (), report
