"""The front door's one call: from anything that is a graph to its minimum spanning forest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import OptionError
from .forest.forest import Forest
from .pipeline.catalogue import FOR_SCANS
from .pipeline.catalogue import algorithm as named_algorithm
from .pipeline.engine import run_on
from .pipeline.pipeline import Pipeline

if TYPE_CHECKING:
    import os

    from .progress import Listener


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
        "whole": the graph in memory, in one partition. "fold": chunk after chunk, each joined with
        the forest of those before. "tree": a forest of each partition, merged up a tree.
        "two-scan": the lightest edges first, then those that join what is left, in further scans if
        necessary. "iterate": every round over all partitions, with `memory` over a forest of each.
        "auto" chooses, and the report says why. Except for "whole" and unbounded "iterate", the
        pipeline must return the complete forest of its input.
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
    pipeline = algorithm if isinstance(algorithm, Pipeline) else named_algorithm(algorithm)
    if pipeline.result != ("forest",):
        given = ", ".join(map(repr, pipeline.result))
        message = (
            f"pipeline {pipeline.name!r} gives {given}, not just the field 'forest': "
            "use Pipeline.run"
        )
        raise OptionError(message)
    known = named_algorithm(FOR_SCANS) if algorithm == "auto" else pipeline
    done = run_on(
        pipeline,
        graph,
        num_vertices=num_vertices,
        weight=weight,
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
        for_scans=None if pipeline is algorithm else known,
    )
    found = done.fields.get("found")
    columns = () if found is None else tuple(found[:3])
    return Forest(done.fields["forest"], done.graph, bool(maximum), done.report, columns)
