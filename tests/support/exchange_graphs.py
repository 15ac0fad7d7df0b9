"""Graphs on which the strategy "exchange" takes all its paths."""

import numpy as np

from mstflow import EdgeList

RNG = np.random.default_rng(3)
#: Numbers of ranks to test.
RANKS = (1, 2, 3, 4, 8)
CHAIN = np.arange(700)


def of_pairs(u, v, weight):
    return EdgeList(np.asarray(u), np.asarray(v), weight, num_vertices=int(np.max([u, v])) + 3)


def shuffled(graph):
    order = RNG.permutation(len(graph.u))
    return of_pairs(graph.u[order], graph.v[order], graph.weight[order])


def grid(rows, columns, repeats=1):
    """Return a grid whose edges are sorted by vertex; each occurs `repeats` times."""
    places = np.arange(rows * columns).reshape(rows, columns)
    right, down = (places[:, :-1], places[:, 1:]), (places[:-1], places[1:])
    u, v = (np.concatenate([a.ravel(), b.ravel()]) for a, b in zip(right, down, strict=True))
    order = np.repeat(np.argsort(u, kind="stable"), repeats)
    return of_pairs(u[order], v[order], RNG.integers(0, 50, len(order)))


def random(vertices, edges, values):
    u, v = RNG.integers(0, vertices, (2, edges))
    return of_pairs(u, v, RNG.integers(0, values, edges))


def skewed(scale, edges):
    """Return a graph with few vertices of high degree, as R-MAT makes it."""
    u, v = (RNG.random((2, edges)) ** 3 * 2**scale).astype(int)
    return of_pairs(u, v, RNG.random(edges))


GRAPHS = {
    "random": random(300, 900, 10**6),
    "random with ties": random(300, 3000, 3),
    "parallel edges and loops": random(9, 600, 4),
    "grid": grid(25, 31),
    "shuffled grid": shuffled(grid(25, 31)),
    "dense grid": grid(20, 20, 5),
    "skewed": skewed(9, 4000),
    "path with ascending weights": of_pairs(CHAIN[:-1], CHAIN[1:], CHAIN[1:]),
    "shuffled path": shuffled(of_pairs(CHAIN[:-1], CHAIN[1:], CHAIN[1:])),
    "star": of_pairs(np.zeros(700, int), CHAIN, RNG.random(700)),
    "equal weights": of_pairs(*RNG.integers(0, 90, (2, 800)), np.ones(800, "u1")),
}
