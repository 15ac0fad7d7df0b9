"""The oracle: Kruskal's algorithm in plain Python, which shares nothing with the package."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Answer:
    """The forest of a graph."""

    edge_ids: list[int]
    total_weight: int | float
    labels: list[int]

    @property
    def num_components(self) -> int:
        """Number of components."""
        return max(self.labels, default=-1) + 1


def solve(u: list[int], v: list[int], weight: list[Any], n: int, *, maximum: bool) -> Answer:
    """Find the forest that is minimal under (weight, edge id), or under (-weight, edge id)."""
    # A stable sort, also in reverse: edges of one weight stay in order of id.
    order = sorted(range(len(u)), key=weight.__getitem__, reverse=maximum)
    parent = list(range(n))

    def find(node):
        while parent[node] != node:
            parent[node] = node = parent[parent[node]]
        return node

    forest = []
    for edge in order:
        low, high = find(u[edge]), find(v[edge])
        if low != high:
            parent[high] = low
            forest.append(edge)
    number: dict[int, int] = {}
    labels = [number.setdefault(find(vertex), len(number)) for vertex in range(n)]
    return Answer(sorted(forest), total([weight[edge] for edge in forest]), labels)


def total(weights: list[Any]) -> int | float:
    """Return the exact sum of integers, or the float nearest to the exact sum of floats."""
    if not any(isinstance(weight, float) for weight in weights):
        return sum(weights)
    infinite = {weight for weight in weights if math.isinf(weight)}
    if infinite:
        return sum(infinite)
    exact = sum(map(Fraction, weights))
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
