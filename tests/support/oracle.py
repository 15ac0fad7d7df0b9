"""The oracle: Kruskal's algorithm in plain Python, obviously right."""

import numpy as np


def kruskal(graph, maximum=False):
    """Return the edge ids, ascending, of the forest minimal under (weight, edge id)."""
    u, v, weight = graph.u.tolist(), graph.v.tolist(), graph.weight.tolist()
    parent = list(range(graph.num_vertices))

    def find(vertex):
        while parent[vertex] != vertex:
            parent[vertex] = parent[parent[vertex]]
            vertex = parent[vertex]
        return vertex

    forest = []
    # A stable sort, also in reverse: edges of one weight stay in order of id.
    for edge in sorted(range(len(u)), key=weight.__getitem__, reverse=maximum):
        a, b = find(u[edge]), find(v[edge])
        if a != b:
            parent[a] = b
            forest.append(edge)
    return np.array(sorted(forest), dtype=np.int64)


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
