"""Draw single-linkage clusters of points, their tree and its hierarchy.

`mstflow.points` is the graph of all pairs of points. The components of its minimum spanning tree
without the longest edges are the clusters. Small clusters are noise, drawn in gray.
Needs mstflow[plot] and scipy. Usage: python cluster_points.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.cluster.hierarchy import leaves_list

import mstflow

random = np.random.default_rng(11)


def arc(center, radius, start, stop, size):
    """Return points along an arc of a circle; angles in half turns."""
    angle = np.pi * random.uniform(start, stop, size)
    around = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return center + radius * around + random.normal(scale=0.055, size=(size, 2))


points = np.concatenate([
    arc((0.0, 0.25), 1.0, 0, 1, 900),  # two moons
    arc((1.0, -0.25), 1.0, 1, 2, 900),
    arc((3.5, 0.0), 1.0, 0, 2, 1400),  # a ring, and a blob inside it
    random.normal((3.5, 0.0), 0.19, (700, 2)),
    random.normal((1.15, 1.75), (0.32, 0.13), (500, 2)),
    random.uniform((-1.6, -1.8), (5.1, 2.4), (150, 2)),  # noise
])  # fmt: skip

tree = mstflow.minimum_spanning_forest(mstflow.points(points))

distance = 0.125
cluster = tree.cut(distance=distance)
sizes = np.bincount(cluster)
large = np.flatnonzero(sizes >= 100)
gray = "#5b6785"
colors = np.full(len(sizes), gray)
colors[large] = ["#ff6b6b", "#4dd0e1", "#ffd166", "#b388ff", "#7bd88f"]

# In the order of scipy's dendrogram, the points of a cluster are consecutive. The skyline shows the
# height at which neighbors join. Clusters are valleys, and the dashed line is the cut.
table = tree.linkage()
order = leaves_list(table)
start = np.argsort(order).tolist()  # first position of each node of the hierarchy
height = np.full(len(points), np.nan)
for left, right, joined in zip(*table[:, :2].T.astype(int), table[:, 2], strict=True):
    first, second = sorted((start[left], start[right]))
    start.append(first)
    height[second] = joined

figure, (plane, skyline) = plt.subplots(
    2, figsize=(10, 8.4), height_ratios=(7, 2), facecolor="#0b1020"
)
lines = np.stack([points[tree.u], points[tree.v]], axis=1)
is_cut = cluster[tree.u] != cluster[tree.v]
plane.add_collection(LineCollection(lines[is_cut], colors=gray, linewidths=0.5))
plane.add_collection(LineCollection(lines[~is_cut], colors=colors[cluster[tree.u[~is_cut]]]))
plane.scatter(*points.T, s=3, c=colors[cluster])
plane.set_aspect("equal")
skyline.vlines(np.arange(len(points)), 0.005, height, colors=colors[cluster[order]], lw=0.6)
skyline.set(yscale="log", ylim=(0.005, None))
skyline.axhline(distance, color="white", lw=0.8, ls=(0, (6, 4)))
skyline.margins(x=0)
figure.subplots_adjust(hspace=0)
for axes in (plane, skyline):
    axes.axis("off")
picture = sys.argv[1] if len(sys.argv) > 1 else "clusters.png"
figure.savefig(picture, dpi=110, bbox_inches="tight")
print(f"{picture}: {len(large)} clusters of {', '.join(map(str, sizes[large]))} points")
