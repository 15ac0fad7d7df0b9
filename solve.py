"""The main function: find the minimum spanning forest of a graph."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Unpack

from .errors import GraphError, OptionError, OutOfMemoryError
from .forest.forest import Forest
from .graphs.disjoint_union import batches, disjoint_union, small_graph
from .graphs.edge_list import EdgeList
from .graphs.reading import Reading, check_names
from .pipeline.catalogue.names import request_for
from .pipeline.engine import run
from .pipeline.pipeline import Pipeline
from .pipeline.request import Request
from .progress import Listener


def minimum_spanning_forest(
    graph: Any,
    *,
    maximum: bool = False,
    algorithm: str | Pipeline = "auto",
    backend: Any = "auto",
    threads: int | None = None,
    scheduler: Any = "inline",
    partitions: int | None = None,
    strategy: str = "auto",
    split_every: int = 4,
    memory: int | str | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool | Listener = True,
    **reading: Unpack[Reading],
) -> Forest:
    """Find the minimum spanning forest under the total order (weight, edge id).

    Every algorithm, backend, scheduler and partitioning returns the same edge ids.

    Parameters
    ----------
    graph : EdgeList, tuple of columns, path, list of paths, or object of another library
        An edge list; columns ``(u, v)`` or ``(u, v, weight)`` of length m; one or more files,
        folders, patterns or URLs that together are one graph (see `mstflow.read`); a sparse matrix
        of scipy, a graph of networkx or igraph, or a table of pandas, polars, pyarrow, DuckDB, Dask
        or any library that supports Arrow (`docs/formats.md` has a table of all). An
        `EdgeSource`, an iterable of chunks and a list of `dask.delayed` chunks are streamed. A
        chunk is any of these except for files. If the columns are on a GPU, the forest is on the
        same GPU. The graph is never modified.
    maximum : bool
        Find the maximum spanning forest instead. Ties still go to the smaller edge id.
    algorithm : str or Pipeline
        A name from `mstflow.algorithms()`, "auto", or a pipeline with the result ``forest``.
    backend : str or ArrayModule
        A name from `mstflow.backends()`, an array module of your own, or "auto".
    threads : int, optional
        With scheduler "inline", the number of threads of compiled kernels. Default: the number of
        processors, limited by the environment variable OMP_NUM_THREADS. With "threads" and
        "processes", the number of tasks that run at once, with one thread each. Default: the number
        of processors. On a cluster, the number of threads of each task. Default: one. A container's
        quota of processor time limits the number of processors.
    scheduler : str or distributed.Client
        "inline", "synchronous", "threads", "processes", "dask" (the scheduler that Dask is
        configured for), the address of a scheduler, or a client.
    partitions : int, optional
        Number of partitions, which are ranges of edge ids. Default: one for each worker.
    strategy : str
        "auto", "whole", "scan", "sweep", "iterate", "tiles" or "exchange". "whole" solves the graph
        in memory, in one partition. "scan" reads block by block; it replaces a full buffer by its
        forest, or takes the lightest edges first and scans again for edges that join the remaining
        fragments. The names "fold", "tree" and "two-scan" choose one way (`docs/strategies.md`).
        "iterate" runs each round over all partitions; with `memory`, over the forest of each
        partition. "tiles" is for grids: it joins the vertices of small boxes first. "exchange"
        divides the vertices among the partitions. "sweep" keeps the edges in files and needs the
        least memory, also for the vertices. "auto" chooses one, and the report states the reason.
        Except for "whole" and "iterate" without `memory`, the pipeline must return the complete
        forest of its input.
    split_every : int
        The largest number of results that one task combines.
    memory : int or str, optional
        Bytes, or a size such as "2GB" (10^9), that the call may allocate in addition to the memory
        that the process already uses. On a cluster, the limit of each task. The graph is streamed:
        folders of `.npy` columns and Parquet files are never loaded as a whole. If the limit is too
        low, an error states the smallest limit that works.
    checkpoint : path, optional
        A folder in which tasks save their work. If the call is killed, repeat it to resume. All
        workers must be able to write to the folder. "whole", "iterate" and "tiles" keep none.
    progress : bool or callable
        If True and the call takes more than two seconds, a progress bar appears on a terminal
        (standard error) or in a notebook; it is cleared at the end. False for no bar. A callable is
        called as ``progress(step, done, total)``; see `mstflow.progress`.
    **reading
        The options of `mstflow.read`, listed below under Other Parameters.

    Returns
    -------
    Forest
        Its `edge_ids` are computed; other attributes are derived on first access.

    Other Parameters
    ----------------
    format : str, optional
        The format of files; see `mstflow.read`.
    num_vertices : int, optional
        Number of vertices. Default: the number that the graph or file states, or the largest id
        plus one.
    weight : str, int, callable or None
        Name of the weights: a column of a table (or its position from 0) or an attribute of edges.
        If the weights of a graph have no name, they are called "weight". None for the integer
        weight 1 on every edge. For a graph of networkx also a function of the two nodes and the
        attributes of an edge.
    ends : sequence of two columns, optional
        The columns of the two ends of each edge, if their values are names of vertices: strings or
        any integers. For tables, and for Parquet, Arrow, CSV and text files. A column is a name, or
        a position from 0 in text without a header; pass a tuple of columns for each end if several
        columns together are the name. Vertices are numbered in the order in which their names first
        appear, and the forest has these `names`.
    columns : sequence of two or three columns, optional
        The columns of the two ends, and of the weights, if the values are numbers of vertices.
        Default: `u` and `v`, `source` and `target`, or `src` and `dst`, or the first columns of
        text without a header.
    first_id : int, optional
        The smallest vertex id; it becomes vertex 0. Default: 0.
    encoding : str, optional
        The encoding of text, such as "latin-1". Default: UTF-8, or what a byte order mark states.

    Raises
    ------
    MstflowError
        If the graph, a file or an option is invalid.
    """
    check_names("minimum_spanning_forest", reading)
    request = request_for(
        algorithm,
        reading=reading,
        maximum=maximum,
        backend=backend,
        threads=threads,
        scheduler=scheduler,
        partitions=partitions,
        strategy=strategy,
        split_every=split_every,
        memory=memory,
        checkpoint=checkpoint,
        progress=progress,
    )
    _check_pipeline(request)
    (fields, report), opened = run(request, graph)
    return Forest(fields["forest"], opened, request.maximum, report, _known_columns(fields))


def _check_pipeline(request: Request) -> None:
    """Raise an error if a pipeline has another result than a forest, or does not write it."""
    pipeline = request.pipeline
    if request.gives_fields:
        given = ", ".join(map(repr, pipeline.result))
        message = (
            f"pipeline {pipeline.name!r} has the result {given}, expected only 'forest'; "
            "use Pipeline.run"
        )
        raise OptionError(message)
    if request.is_custom:
        pipeline.check()
        if "forest" not in pipeline.fields_written:
            message = f"no stage of pipeline {pipeline.name!r} writes 'forest'; check its steps"
            raise OptionError(message)


def _known_columns(fields: dict[str, Any]) -> tuple[Any, ...]:
    """Return the columns u, v and weight of a forest if a run returned them; None for a column."""
    if "weights" in fields:
        return None, None, fields["weights"][fields["weighed"].argsort()]
    return tuple(fields["found"][:3]) if "found" in fields else ()


def minimum_spanning_forests(
    graphs: Iterable[Any],
    *,
    weight: str | None = "weight",
    maximum: bool = False,
    algorithm: str | Pipeline = "auto",
    backend: Any = "auto",
    threads: int | None = None,
    progress: bool | Listener = True,
) -> list[Forest]:
    """Find the minimum spanning forest of each of many graphs.

    One run finds the forests of many small graphs, which is faster than many runs. Each forest
    equals the result of `minimum_spanning_forest`.

    Parameters
    ----------
    graphs : iterable
        Graphs in any form that `minimum_spanning_forest` accepts. Tuples of three arrays are the
        fastest.
    weight, maximum, algorithm, backend, threads, progress
        As for `minimum_spanning_forest`. With an algorithm other than "auto", each graph is a run.

    Returns
    -------
    list of Forest
        In the order of the graphs. Forests that were found together share one report.

    Raises
    ------
    MstflowError
        If a graph or an option is invalid. Names the graph by its position.
    """
    solve = partial(
        minimum_spanning_forest,
        weight=weight,
        maximum=maximum,
        algorithm=algorithm,
        backend=backend,
        threads=threads,
        progress=progress,
    )
    forests: list[Forest] = []
    is_auto = algorithm == "auto"
    for batch in batches(graphs) if is_auto else ([graph] for graph in graphs):
        small = [small_graph(graph, weight) for graph in batch] if is_auto else [None]
        together = _solve_together(small, solve)
        for graph, forest in zip(batch, together, strict=True):
            with _naming(len(forests)):
                forests.append(solve(graph) if forest is None else forest)
    return forests


def _solve_together(
    graphs: Sequence[EdgeList | None], solve: Callable[..., Forest]
) -> list[Forest | None]:
    """Find the forests of small graphs, with one run for each dtype of weights."""
    forests: list[Forest | None] = [None] * len(graphs)
    for dtype in {graph.weight.dtype for graph in graphs if graph is not None}:
        places = [i for i, each in enumerate(graphs) if each and each.weight.dtype == dtype]
        parts = [graph for graph in graphs if graph and graph.weight.dtype == dtype]
        union, starts = disjoint_union(parts)
        forest = solve(union, weight="weight")  # its name in an edge list
        bounds = forest.edge_ids.searchsorted(starts).tolist()
        for place, graph, start, low, high in zip(
            places, parts, starts, bounds, bounds[1:], strict=False
        ):
            edge_ids = forest.edge_ids[low:high] - start
            forests[place] = Forest(edge_ids, graph, forest.maximum, forest.report)
    return forests


@contextlib.contextmanager
def _naming(place: int) -> Iterator[None]:
    """Return a context in which errors name the graph at this position."""
    try:
        yield
    except (GraphError, OptionError, OutOfMemoryError) as error:
        raise type(error)(f"graph {place}: {error}") from error
