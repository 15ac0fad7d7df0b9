"""Draw HDBSCAN clusters of very different density, which no single distance separates from noise.

The weights of all pairs of points are mutual reachability distances. HDBSCAN keeps the clusters of
their tree that persist longest as density grows. The lower picture has the points in the order of
the hierarchy: a cluster is a mountain, as high as it is dense.
Needs mstflow[plot] and scipy.
Usage: python hdbscan_points.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.cluster.hierarchy import leaves_list

import mstflow

random = np.random.default_rng(3)


def arm(center, size, start, count):
    """Return points along one arm of a spiral; `start` in half turns."""
    along = np.sqrt(random.uniform(0.03, 1, count))
    angle = np.pi * (1.9 * along + start)
    spiral = along[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return center + size * (spiral + random.normal(scale=0.03, size=(count, 2)))


points = np.concatenate([
    *(arm((0, 0), 3.0, start, 1000) for start in (0, 1)),
    *(arm((6.3, 1.3), 0.9, start, 600) for start in (0.3, 1.3)),  # a small and dense one
    random.normal((4.2, -2.2), 0.08, (300, 2)),
    random.normal((7.2, -1.8), (0.7, 0.42), (500, 2)),
    random.uniform((-3.8, -3.5), (9.8, 3.5), (400, 2)),  # noise
])  # fmt: skip
tree = mstflow.minimum_spanning_forest(mstflow.points(points, min_samples=8))
cluster = tree.hdbscan(min_cluster_size=100)
palette = ["#ff6b6b", "#4dd0e1", "#ffd166", "#b388ff", "#7bd88f", "#f48fb1", "#5b6785"]
colors = np.array(palette)[np.where(cluster < 0, -1, cluster % 6)]

# The height at which neighbors in scipy's dendrogram join, shown as a density.
table = tree.linkage()
order = leaves_list(table)
start = np.argsort(order).tolist()  # first position of each node of the hierarchy
density = np.zeros(len(points))
for left, right, height in zip(*table[:, :2].T.astype(int), table[:, 2], strict=True):
    first, second = sorted((start[left], start[right]))
    start.append(first)
    density[second] = 1 / height

figure, (plane, mountains) = plt.subplots(
    2, figsize=(12, 8.6), height_ratios=(7, 2), facecolor="#0b1020"
)
is_inside = (cluster[tree.u] == cluster[tree.v]) & (cluster[tree.u] >= 0)
shades = np.where(is_inside, colors[tree.u], "#3a4566")
lines = np.stack([points[tree.u], points[tree.v]], axis=1)
plane.add_collection(LineCollection(lines, colors=shades, linewidths=0.7))
plane.scatter(*points.T, s=np.where(cluster < 0, 3, 5), c=colors)
plane.set_aspect("equal")
mountains.vlines(np.arange(len(points)), 0.8, density, colors=colors[order], lw=0.5)
mountains.set(yscale="log", ylim=(0.8, None))
mountains.margins(x=0)
for axes in (plane, mountains):
    axes.axis("off")
figure.subplots_adjust(0, 0, 1, 1, hspace=0)
picture = sys.argv[1] if len(sys.argv) > 1 else "hdbscan.png"
figure.savefig(picture, dpi=90)
print(f"{picture}: {cluster.max() + 1} clusters, {np.sum(cluster < 0)} points are noise")
