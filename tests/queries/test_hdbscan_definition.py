"""HDBSCAN equals its definitions, computed by brute force from minimax distances."""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from mstflow import minimum_spanning_forest, points


class Cluster:
    """A cluster of the condensed tree: where it appears, and where its members leave it."""

    def __init__(self, members, birth, parent):
        self.members, self.birth, self.parent = members, birth, parent
        self.children, self.left, self.death = [], {}, math.inf

    @property
    def stability(self):
        return math.fsum(1 / at - 1 / self.birth for at in self.left.values())

    def descend(self):
        """Yield this cluster and those inside, parents first."""
        yield self
        for child in self.children:
            yield from child.descend()


def minimax(values, min_samples):
    """Return, for each pair, the smallest possible largest step of a path between both."""
    distance = squareform(pdist(values))
    core = np.sort(distance, axis=1)[:, min_samples - 1]
    reach = np.maximum(distance, np.maximum(core, core[:, None]))
    for middle in range(len(reach)):
        np.minimum(reach, np.maximum(reach[:, middle, None], reach[middle]), out=reach)
    np.fill_diagonal(reach, -1)  # a point is connected to itself
    return reach


def condensed(reach, min_size):
    """Remove the largest distances from the root down, all equal ones together."""
    root = Cluster(np.arange(len(reach)), math.inf, None)
    todo = [(root, root.members)]
    while todo:
        cluster, rest = todo.pop()
        largest = reach[rest[0], rest].max()
        _, part = np.unique(reach[rest][:, rest] < largest, axis=0, return_inverse=True)
        parts = [rest[part.ravel() == number] for number in range(part.max() + 1)]
        large = [each for each in parts if len(each) >= min_size]
        stays = large[0] if len(large) == 1 else rest[:0]
        cluster.left |= dict.fromkeys(np.setdiff1d(rest, stays).tolist(), largest)
        if len(large) == 1:
            todo.append((cluster, stays))
            continue
        cluster.death = largest
        cluster.children = [Cluster(each, largest, cluster) for each in large]
        todo += [(child, child.members) for child in cluster.children]
    return root


def chosen(root, method, epsilon, max_size, allow_root):
    """Return the selected clusters."""
    if method == "leaf":
        found = [c for c in root.descend() if not c.children and c is not root]
    else:

        def best(cluster):
            inside = [best(child) for child in cluster.children]
            total = math.fsum(value for value, _ in inside)
            may_be_chosen = cluster is not root or allow_root
            size_fits = max_size is None or len(cluster.members) <= max_size
            if may_be_chosen and size_fits and cluster.stability >= total - 1e-12 * abs(total):
                return cluster.stability, [cluster]
            return total, list(itertools.chain(*(clusters for _, clusters in inside)))

        found = best(root)[1]
    if epsilon and found != [root]:
        merged = set()
        for cluster in found:
            while cluster.birth < epsilon:
                if cluster.parent is root and not allow_root:
                    break
                cluster = cluster.parent
            merged.add(cluster)
        inside = {below for cluster in merged for below in list(cluster.descend())[1:]}
        found = merged - inside
    return sorted(found, key=lambda cluster: cluster.members[0])


def by_definition(reach, min_size, method, epsilon, max_size, allow_root):
    """Return labels, probabilities and outlier scores."""
    root, n = condensed(reach, min_size), len(reach)
    last, lowest = {}, {}
    for cluster in root.descend():
        last |= dict.fromkeys(cluster.left.keys(), cluster)
        lowest[cluster] = min(each.death for each in cluster.descend())
    for point in range(n):
        last[point] = [c for c in root.descend() if point in c.left][-1]
    left = {point: last[point].left[point] for point in range(n)}
    scores = [1 - lowest[last[point]] / left[point] for point in range(n)]
    labels, probabilities = np.full(n, -1), np.zeros(n)
    for cluster in chosen(root, method, epsilon, max_size, allow_root):
        for point in cluster.members.tolist():
            if cluster is root and left[point] > (epsilon or root.death):
                continue
            labels[point] = cluster.members[0]
            probabilities[point] = min(1.0, cluster.death / left[point])
    names = {}
    for label in labels[labels >= 0].tolist():
        names.setdefault(label, len(names))
    return [names.get(label, -1) for label in labels.tolist()], probabilities, scores


def options():
    for method, epsilon, max_size, allow_root in itertools.product(
        ("eom", "leaf"), (0.0, 0.5, 2.0), (None, 12), (False, True)
    ):
        yield {
            "method": method,
            "epsilon": epsilon,
            "max_cluster_size": max_size,
            "allow_single_cluster": allow_root,
        }


def draw(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(12, 40))
    if seed % 2:
        values = random.normal(size=(n, 2)) + 3 * random.integers(0, 3, (n, 2))
    else:  # many ties; no two points are equal
        values = random.permutation(np.argwhere(np.ones((9, 9))))[:n] * 0.5
    return values, int(random.integers(1, 5)), int(random.integers(2, 6))


@pytest.mark.parametrize("seed", range(8))
def test_clusters_equal_their_definitions(seed):
    values, min_samples, min_size = draw(seed)
    reach = minimax(values, min_samples)
    tree = minimum_spanning_forest(points(values, min_samples=min_samples)).dendrogram()
    for each in options():
        expected = by_definition(reach, min_size, *each.values())
        found = tree.hdbscan(min_cluster_size=min_size, **each)
        assert found.labels.tolist() == expected[0], each
        np.testing.assert_allclose(found.probabilities, expected[1], atol=1e-12)
        np.testing.assert_allclose(found.outlier_scores, expected[2], atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_tenths_have_the_clusters_of_integers(seed):
    """Distances that are equal in exact arithmetic differ in their last bits."""
    random = np.random.default_rng(seed)
    whole = random.integers(0, 16, (60, 2))
    for min_samples, size in itertools.product((1, 3, 5), (2, 4, 8)):
        labels = [
            minimum_spanning_forest(points(values, min_samples=min_samples)).hdbscan(
                min_cluster_size=size
            )
            for values in (whole, whole / 10)
        ]
        assert labels[0].tolist() == labels[1].tolist()


@pytest.mark.parametrize("gap", [92, 93, 9.2, 0.3])
def test_a_cluster_that_is_born_at_epsilon_stays(gap):
    """In floats, 1 / (1 / 93) is less than 93."""
    steps = np.array(
        [0, gap / 92, gap / 9, gap / 92, gap, gap / 92, 5 * gap, gap / 92, gap, gap / 92]
    )
    tree = minimum_spanning_forest(points(np.cumsum(steps)[:, None])).dendrogram()
    found = tree.hdbscan(min_cluster_size=2, method="leaf", epsilon=gap)
    assert found.labels.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 3, 3]
    assert len(set(tree.hdbscan(min_cluster_size=2, method="leaf", epsilon=gap * 1.01).labels)) == 2
