"""The command `mstflow info FILE`: what a graph is like."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graphs.read import read
from .solve import minimum_spanning_forest

if TYPE_CHECKING:
    import argparse

    from ..graphs.edge_list import EdgeList

_CHUNK_EDGES = 2**22


@dataclasses.dataclass(frozen=True)
class Summary:
    """What `summarise` found.

    Attributes
    ----------
    num_vertices, num_edges, num_components : int
    num_loops : int
        Edges from a vertex to itself.
    num_tied : int
        Edges whose weight another edge has too.
    lightest, heaviest : int or float or None
        The range of the weights; None without edges.
    degrees : list of (int, int)
        Pairs of a degree and a number of vertices: those of degree 0, 1, 2 to 3, 4 to 7, and so
        on, each by its least degree. A loop counts twice.
    """

    num_vertices: int
    num_edges: int
    num_components: int
    num_loops: int
    num_tied: int
    lightest: Any
    heaviest: Any
    degrees: list[tuple[int, int]]


def run(options: argparse.Namespace) -> None:
    """Read what the parsed options name, and print what it is like."""
    found = summarise(read(options.inputs, format=options.format, weight=options.weight))
    if options.json:
        facts = dataclasses.asdict(found)
        for name in ("lightest", "heaviest"):  # JSON has no infinity
            facts[name] = facts[name] if abs(facts[name] or 0) < math.inf else None
        print(json.dumps(facts))
        return
    print(f"vertices    {found.num_vertices:,}")
    print(f"edges       {found.num_edges:,}, of which {found.num_loops:,} loops")
    print(f"components  {found.num_components:,}")
    print(f"weights     {found.lightest} to {found.heaviest}, {found.num_tied:,} edges tied")
    for least, number in found.degrees:
        name = str(least) if least < 2 else f"{least} to {2 * least - 1}"
        print(f"degree      {name}: {number:,} vertices")


def summarise(graph: EdgeList) -> Summary:
    """Count what a graph holds.

    Memory is for the vertices, the weights once more and, for the components, what
    `minimum_spanning_forest` takes. Ends that are memory maps are read a chunk at a time.
    """
    degree = np.zeros(graph.num_vertices, np.int64)
    num_loops = 0
    for u, v, _ in graph.chunks(_CHUNK_EDGES):
        for ends in (u, v):
            np.add.at(degree, ends.astype(np.int64, copy=False), 1)
        num_loops += int(np.count_nonzero(u == v))
    values, counts = np.unique(graph.weight, return_counts=True)
    kinds, sizes = np.unique(np.frexp(degree)[1], return_counts=True)
    return Summary(
        num_vertices=graph.num_vertices,
        num_edges=graph.num_edges,
        num_components=minimum_spanning_forest(graph, weight=None).num_components,
        num_loops=num_loops,
        num_tied=int(counts[counts > 1].sum()),
        lightest=values[0].item() if len(values) else None,
        heaviest=values[-1].item() if len(values) else None,
        degrees=list(zip((2**kinds // 2).tolist(), sizes.tolist(), strict=True)),
    )
