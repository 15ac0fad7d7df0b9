"""The front door's one call: from anything that is a graph to its minimum spanning forest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError, PipelineError
from ..graphs.adopt import edge_list
from ..primitives import Backend, resolve_backend
from .catalogue import algorithm as named_algorithm
from .forest import Forest
from .partition import COLUMNS, load_partitions
from .pipeline import Pipeline
from .run import run
from .schedulers import kernel_threads, open_scheduler
from .tree import merge_tree

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray

    from .report import Report
    from .schedulers import Scheduler

STRATEGIES = ("auto", "whole", "tree", "iterate")


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
    progress: Callable[[str, int, int], None] | None = None,
) -> Forest:
    """Find the minimum spanning forest under the total order (weight, edge id).

    The same edge ids come back from every algorithm, backend, scheduler and partitioning.

    Parameters
    ----------
    graph : EdgeList, tuple of columns, path, list of paths, or object of another library
        An edge list; columns ``(u, v)`` or ``(u, v, weight)`` of length m; files, which together
        are one graph (see `mstflow.read`); a sparse matrix of scipy, a graph of networkx or
        igraph, a table of pandas, polars, pyarrow or Dask (see `docs/formats.md`). Never written
        to.
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
    strategy : {"auto", "whole", "tree", "iterate"}
        "whole": one part. "tree": a forest of each part, merged up a tree. "iterate": every round
        over all parts. "auto": "tree" for a named algorithm in parts, "iterate" for a pipeline
        of your own in parts, "whole" otherwise. Merging supposes that a pipeline finds the whole
        forest of what it is given.
    split_every : int
        How many results one task joins.
    memory, checkpoint
        Not available in this version; anything but None is refused.
    progress : callable, optional
        Called as ``progress(step, done, total)`` while it works.

    Returns
    -------
    Forest
        Its `edge_ids` are computed; all else is derived when asked for.

    Raises
    ------
    MstflowError
        On a graph, file or option that is not right; nothing has been changed then.
    """
    _refuse(memory=memory, checkpoint=checkpoint)
    _check_count("threads", threads, 1)
    _check_count("partitions", partitions, 1)
    _check_count("split_every", split_every, 2, optional=False)
    pipeline = algorithm if isinstance(algorithm, Pipeline) else named_algorithm(algorithm)
    pipeline.check()
    if "forest" not in pipeline.result:
        message = f"pipeline {pipeline.name!r} does not give the field 'forest'"
        raise OptionError(message)
    resolve_backend(backend, 0)  # a wrong name is refused before the graph is read
    edges = edge_list(graph, num_vertices, weight)
    backend = resolve_backend(backend, edges.num_edges)
    with open_scheduler(scheduler, threads) as where:
        # Tasks that run side by side have a processor each.
        ops = Backend(backend, (threads or kernel_threads()) if where.eager else 1)
        strategy, partitions = _plan(strategy, partitions, where, pipeline is algorithm)
        edge_ids, report = _solve(
            pipeline,
            load_partitions(edges, partitions, where, ops),
            {"num_vertices": edges.num_vertices, "maximum": bool(maximum)},
            strategy,
            edges.num_edges,
            scheduler=where,
            backend=ops,
            split_every=split_every,
            progress=progress,
        )
        return Forest(
            edge_ids,
            edges,
            maximum=bool(maximum),
            algorithm=pipeline.name,
            backend=backend,
            scheduler=where.name,
            strategy=strategy,
            partitions=partitions,
            report=report,
        )


def _solve(
    pipeline: Pipeline,
    tables: list[Any],
    shared: dict[str, Any],
    strategy: str,
    num_edges: int,
    **options: Any,
) -> tuple[NDArray[np.int64], Report]:
    if strategy == "tree":
        found, report = merge_tree(pipeline, tables, shared, **options)
    else:
        outputs = options["scheduler"].outputs
        parts = [dict(zip(COLUMNS, outputs(table, len(COLUMNS)), strict=True)) for table in tables]
        tables.clear()  # or its arrays would outlive their use
        result, report = run(pipeline, parts, shared, num_edges=num_edges, **options)
        found = result["forest"]
    edge_ids = np.asarray(found)
    is_ids = edge_ids.ndim == 1 and edge_ids.dtype.kind == "i"
    if is_ids and not _ascend(edge_ids):
        edge_ids = np.sort(edge_ids)
    is_within = is_ids and (not len(edge_ids) or (edge_ids[0] >= 0 and edge_ids[-1] < num_edges))
    if not is_within or not _ascend(edge_ids):
        message = f"pipeline {pipeline.name!r}: its forest is no set of edge ids: {edge_ids}"
        raise PipelineError(message)
    return edge_ids.astype(np.int64, copy=False), report


def _ascend(values: NDArray[Any]) -> bool:
    return bool((values[1:] > values[:-1]).all())


def _plan(
    strategy: str, partitions: int | None, scheduler: Scheduler, is_own: bool
) -> tuple[str, int]:
    """Return the strategy and number of partitions that follow from what was asked for."""
    if strategy not in STRATEGIES:
        message = f"strategy {strategy!r} is not available; choose from: {', '.join(STRATEGIES)}"
        raise OptionError(message)
    if strategy == "whole" and (partitions or 1) > 1:
        message = f"strategy 'whole' has one partition, not {partitions}"
        raise OptionError(message)
    partitions = partitions or (1 if strategy == "whole" else scheduler.workers)
    if strategy == "auto":
        strategy = "whole" if partitions == 1 else "iterate" if is_own else "tree"
    return strategy, partitions


def _check_count(name: str, value: Any, least: int, *, optional: bool = True) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        message = f"{name} must be an integer of at least {least}, not {value!r}"
        raise OptionError(message)


def _refuse(**options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            message = f"{name}= is not available in this version; leave it out"
            raise OptionError(message)
