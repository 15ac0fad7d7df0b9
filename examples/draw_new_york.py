"""Draw the minimum spanning tree of New York's roads, colored by clusters of Boruvka's algorithm.

The colors are the fragments at the first round with at most 100 of them. Edges that join these
fragments later are white. Needs mstflow[plot].
Usage: python draw_new_york.py [folder]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from stop_at_k_fragments import cluster, roads

import mstflow

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
place = mstflow.read_coordinates(Path(__file__).parent / "data" / "USA-road-d.NY.co.gz")

tree = mstflow.minimum_spanning_forest(roads)
clusters = mstflow.minimum_spanning_forest(roads, algorithm=cluster)

figure, ax = plt.subplots(figsize=(9, 9), facecolor="#0b1020")
tree.plot(place, color=clusters.labels, ax=ax, linewidths=0.4)
ax.collections[-1].set(color="white", linewidth=1.2)
ax.set_aspect(1 / np.cos(np.radians(40.7)))
ax.margins(0.01)
ax.axis("off")
figure.savefig(folder / "new-york.webp", dpi=150, bbox_inches="tight")

print(f"{len(tree.edge_ids)} edges, total weight {tree.total_weight}, in {folder}")
