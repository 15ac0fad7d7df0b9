"""Segment a photograph with Boruvka's algorithm and two additional stages.

An image is a graph: each pixel is joined to the pixels beside, above and below it. The two stages
change the weights between rounds, so that a segment joins the neighbor with the most similar mean
color: superpixel hierarchy (Wei et al., IEEE TIP 2018). Needs mstflow[io,plot] and scikit-learn,
which includes the photograph (danielbuechele, CC BY 2.0).
Usage: python segment_photo.py [picture.jpg]
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn import datasets
from stop_at_k_fragments import few_fragments

import mstflow
from mstflow.stages.fields import Edges, VertexIndex


@mstflow.stage(writes=("red", "green", "blue", "size"))
def blend_colors(ops, label: VertexIndex, num_fragments, red, green, blue, size):
    """Add up the colors of the pixels of each new fragment, and count the pixels."""
    fields = (red, green, blue, size)
    return tuple(ops.scatter_reduce(label, field, num_fragments, "sum", 0) for field in fields)


@mstflow.stage(writes="edges")
def compare_colors(ops, edges: Edges, red, green, blue, size) -> Edges:
    """Set the weight of each edge to the distance between the mean colors of its two fragments."""
    colors = [total / size for total in (red, green, blue)]
    steps = [ops.gather(color, edges.u) - ops.gather(color, edges.v) for color in colors]
    return edges._replace(key=ops.order_key(sum(step**2 for step in steps)))


photo = datasets.load_sample_image("china.jpg")
red, green, blue = photo.reshape(-1, 3).T.astype(float)
pixels = mstflow.read(Path(datasets.__file__).parent / "images" / "china.jpg", format="image")
segment = (
    mstflow.algorithm("boruvka-edgelist")
    .insert_before("relabel_edges", blend_colors)
    .insert_after("contract_fragments", compare_colors)
    .replace("no_edges_left", few_fragments)
    .given(red=red, green=green, blue=blue, size=np.ones(len(red)))
    .named("segments")
)

figure, axes = plt.subplots(2, 2, figsize=(12, 8.45), facecolor="#0b1020")
panels = axes.ravel()
panels[0].imshow(photo)
panels[0].set_title(f"{len(red):,} pixels", color="white")
for k, panel in zip((6000, 600, 60), panels[1:], strict=True):
    label = mstflow.minimum_spanning_forest(pixels, algorithm=segment.given(k=k)).labels
    size = np.bincount(label)
    mean = np.stack([np.bincount(label, channel) / size for channel in (red, green, blue)], axis=1)
    panel.imshow(mean[label].reshape(photo.shape) / 255)
    panel.set_title(f"{len(size):,} segments", color="white")
for panel in panels:
    panel.axis("off")
figure.subplots_adjust(0.01, 0.01, 0.99, 0.96, wspace=0.02, hspace=0.08)
picture = sys.argv[1] if len(sys.argv) > 1 else "segments.jpg"
figure.savefig(picture, dpi=100)
print(f"{picture}: {len(size)} segments in the last panel")
