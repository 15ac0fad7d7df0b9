"""Draw the minimum spanning tree of New York's roads, colored by clusters of Boruvka's rounds.

Each color is a fragment of the moment when at most 100 were left; the edges that joined those
fragments later are white. Usage: python draw_new_york.py [picture.png]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from stop_at_k_fragments import cluster, roads

import mstflow

place = mstflow.read_coordinates(Path(__file__).parent / "data" / "USA-road-d.NY.co.gz")

forest = mstflow.minimum_spanning_forest(roads)
label = mstflow.minimum_spanning_forest(roads, algorithm=cluster).labels
lines = np.stack([place[forest.u], place[forest.v]], axis=1)
joins = label[forest.u] != label[forest.v]

shade = np.random.default_rng(4).permutation(label.max() + 1) / label.max()
figure, axes = plt.subplots(figsize=(9, 9), facecolor="#0b1020")
color = plt.get_cmap("turbo")(0.08 + 0.84 * shade[label[forest.u[~joins]]])
axes.add_collection(LineCollection(lines[~joins], colors=color, linewidths=0.4))
axes.add_collection(LineCollection(lines[joins], colors="white", linewidths=1.2))
axes.autoscale()
axes.set_aspect(1 / np.cos(np.radians(40.7)))
axes.axis("off")
picture = sys.argv[1] if len(sys.argv) > 1 else "new-york.png"
figure.savefig(picture, dpi=110, bbox_inches="tight")
print(f"{picture}: {len(lines)} edges, total weight {forest.total_weight}")
