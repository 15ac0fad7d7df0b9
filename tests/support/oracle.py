"""Oracles in plain Python: Kruskal's algorithm, linear except for the sort, and components."""

import itertools
import math
from types import SimpleNamespace

import numpy as np


def kruskal(graph, maximum=False):
    """Return the edge ids, ascending, of the forest minimal under (weight, edge id)."""
    u, v, weight = graph.u.tolist(), graph.v.tolist(), graph.weight.tolist()
    # A stable sort, also in reverse: edges of one weight stay in order of id.
    order = sorted(range(len(u)), key=weight.__getitem__, reverse=maximum)
    sets = Sets(graph.num_vertices)
    joins = (edge for time, edge in enumerate(order) if sets.join(u[edge], v[edge], time))
    forest = itertools.islice(joins, max(0, graph.num_vertices - 1))  # the rest joins nothing
    return np.array(sorted(forest), dtype=np.int64)


def kruskal_of_pairs(n, weight):
    """Return the edge ids u * n + v of the tree of all pairs u < v, whose weights are in order."""
    u, v = np.triu_indices(n, 1)
    chosen = kruskal(SimpleNamespace(u=u, v=v, weight=weight, num_vertices=n))
    return u[chosen] * n + v[chosen]


class Sets:
    """Disjoint sets of 0 to n - 1 that remember when they were joined.

    The smaller set hangs below the larger, so no node has more than log2 n ancestors.
    """

    def __init__(self, n):
        self.parent, self.size, self.time = list(range(n)), [1] * n, [math.inf] * n

    def find(self, node):
        """Return the root of a node."""
        while self.parent[node] != node:
            node = self.parent[node]
        return node

    def join(self, a, b, time):
        """Join the sets of two nodes; return whether the sets differed. Times must ascend."""
        low, high = self.find(a), self.find(b)
        if low == high:
            return False
        if self.size[low] > self.size[high]:
            low, high = high, low
        self.parent[low], self.time[low] = high, time
        self.size[high] += self.size[low]
        return True

    def time_joined(self, a, b):
        """Return the time at which two distinct nodes were joined; infinity if they are not."""
        time = -math.inf
        while a != b and time < math.inf:
            low = min(a, b, key=self.time.__getitem__)  # times ascend towards the root
            time, up = self.time[low], self.parent[low]
            a, b = (up, b) if low == a else (a, up)
        return time


def numbered_by_first(labels):
    """Renumber labels in the order of their first members."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def components(graph):
    """Return the component of each vertex, numbered by first vertex, by breadth-first search."""
    neighbours = [[] for _ in range(graph.num_vertices)]
    for a, b in zip(graph.u.tolist(), graph.v.tolist(), strict=True):
        neighbours[a].append(b)
        neighbours[b].append(a)
    label = [-1] * graph.num_vertices
    count = 0
    for first in range(graph.num_vertices):
        if label[first] >= 0:
            continue
        label[first], queue = count, [first]
        for vertex in queue:
            for other in neighbours[vertex]:
                if label[other] < 0:
                    label[other] = count
                    queue.append(other)
        count += 1
    return np.array(label, dtype=np.int64)
