"""HDBSCAN with tied distances: clusters equal their definition, in any order of the edges."""

import math
from bisect import bisect_left
from functools import partial

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist, squareform

from mstflow import minimum_spanning_forest, mutual_reachability


def is_connected(distance, threshold):
    return connected_components(distance <= threshold, directed=False)[0] == 1


def split(distance, members):
    """Remove the heaviest edges that connect some vertices, all of equal weight together.

    Returns
    -------
    components : list of arrays
    density : float
    """
    inner = distance[np.ix_(members, members)]
    weights = np.unique(inner)
    threshold = weights[bisect_left(weights, True, key=partial(is_connected, inner))]
    count, label = connected_components(inner < threshold, directed=False)
    parts = [members[label == number] for number in range(count)]
    return parts, 1 / threshold if threshold else math.inf


def select(distance, members, min_cluster_size, birth=0.0):
    """Return the greatest total stability of clusters among some vertices, and these clusters."""
    stability, rest = 0.0, members
    while True:
        parts, density = split(distance, rest)
        large = [part for part in parts if len(part) >= min_cluster_size]
        stays = large[0] if len(large) == 1 else members[:0]
        if density > birth:
            stability += (density - birth) * (len(rest) - len(stays))
        if len(large) != 1:
            break
        rest = stays
    found = [select(distance, part, min_cluster_size, density) for part in large]
    within = sum(best for best, _ in found)
    if birth and stability >= within:  # the root cannot be selected
        return stability, [members]
    return within, [cluster for _, clusters in found for cluster in clusters]


def clusters_by_definition(points, min_samples, min_cluster_size):
    """Return the labels of HDBSCAN (Campello et al., PAKDD 2013, Algorithm 1) by recursion."""
    distance = squareform(pdist(points))
    core = np.sort(distance, axis=1)[:, min_samples - 1]
    distance = np.maximum(distance, np.maximum(core[:, None], core))
    np.fill_diagonal(distance, np.inf)
    label = np.full(len(points), -1)
    _, clusters = select(distance, np.arange(len(points)), min_cluster_size)
    for number, members in enumerate(sorted(clusters, key=min)):
        label[members] = number
    return label


def draw(random, kind):
    """Return points whose distances have many ties, or few."""
    count = random.integers(20, 80)
    if kind == "grid":
        return random.integers(0, 8, (count, 2)).astype(float)
    blobs = random.normal(scale=0.3, size=(count, 2)) + random.integers(0, 3, (count, 1))
    return (10 * blobs).round() if kind == "rounded blobs" else blobs


@pytest.mark.parametrize("kind", ["grid", "rounded blobs", "blobs"])
def test_tied_edges_are_removed_together(kind):
    random = np.random.default_rng(3)
    for _ in range(8):
        points, min_samples = draw(random, kind), int(random.integers(1, 8))
        u, v = np.triu_indices(len(points), 1)
        samples = np.stack([u, v, pdist(points)])
        shuffled = random.permutation(samples, axis=1)
        for size in (2, 5, 9):
            expected = clusters_by_definition(points, min_samples, size).tolist()
            for ends in (samples, shuffled):
                graph = (ends[0].astype(int), ends[1].astype(int), ends[2])
                reach = mutual_reachability(graph, min_samples=min_samples)
                labels = minimum_spanning_forest(reach).hdbscan(min_cluster_size=size)
                assert labels.tolist() == expected
