"""Draw a Chow-Liu tree for each handwritten digit: which pixels depend on which.

Of all distributions in which each pixel depends on one other, the closest to the data is given by
the maximum spanning tree of mutual information (Chow and Liu, IEEE Trans. Inf. Theory, 1968). Below
each tree are random digits drawn from it. Needs mstflow[plot], scipy and scikit-learn.
Usage: python chow_liu_digits.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.sparse.csgraph import breadth_first_order
from sklearn.datasets import load_digits

import mstflow

LEVELS, PIXELS, DRAWN = 6, 64, 4
random = np.random.default_rng(1)
digits = load_digits()
levels = (digits.data * LEVELS / 17).astype(int)  # of 17 shades


def chow_liu(samples):
    """Return the tree of the variables, and the joint frequencies of every two of them."""
    is_level = np.eye(LEVELS)[samples].reshape(len(samples), -1)
    joint = (is_level.T @ is_level / len(samples)).reshape(PIXELS, LEVELS, PIXELS, LEVELS)
    joint = joint.swapaxes(1, 2)
    alone = np.eye(LEVELS)[samples].mean(axis=0)
    independent = alone[:, None, :, None] * alone[:, None]
    ratio = np.divide(joint, independent, out=np.ones_like(joint), where=joint > 0)
    information = (joint * np.log(ratio)).sum(axis=(2, 3))
    u, v = np.triu_indices(PIXELS, 1)
    return mstflow.minimum_spanning_forest((u, v, information[u, v]), maximum=True), joint


def draw(tree, joint):
    """Draw a random digit: one pixel first, then every other given its parent in the tree."""
    root = PIXELS // 2
    order, before = breadth_first_order(tree.to_scipy(), root, directed=False)
    image = np.zeros(PIXELS, int)
    image[root] = random.choice(LEVELS, p=joint[root, root].diagonal())
    for pixel in order[1:]:
        given = joint[before[pixel], pixel, image[before[pixel]]]
        image[pixel] = random.choice(LEVELS, p=given / given.sum())
    return image.reshape(8, 8)


def arcs(first, second):
    """Return arcs between points of the plane as lines of 20 points; longer arcs bend more."""
    across = (second - first)[:, ::-1] * (1, -1)
    bend = 0.06 * np.linalg.norm(across, axis=1, keepdims=True) - 0.06
    middle = (first + second) / 2 + np.minimum(bend, 0.3) * across
    t = np.linspace(0, 1, 20)[:, None]
    return [(1 - t) ** 2 * a + 2 * t * (1 - t) * m + t**2 * b
            for a, m, b in zip(first, middle, second, strict=True)]  # fmt: skip


figure = plt.figure(figsize=(12, 6.2))
place = np.stack([np.arange(PIXELS) % 8, np.arange(PIXELS) // 8], axis=1)
for digit, part in enumerate(figure.subfigures(2, 5).flat):
    images = levels[digits.target == digit]
    tree, joint = chow_liu(images)
    panels = part.subplot_mosaic("TTTT;TTTT;TTTT;TTTT;abcd")
    large = panels["T"]
    depends = tree.weight > 0.05  # pixels at the margin are always blank
    lines = LineCollection(arcs(place[tree.u[depends]], place[tree.v[depends]]), cmap="plasma")
    shown = tree.weight[depends]
    lines.set(array=shown, linewidths=1 + 5 * shown, capstyle="round")
    large.add_collection(lines)
    for name, panel in panels.items():
        image = images.mean(axis=0).reshape(8, 8) / 2 if name == "T" else draw(tree, joint)
        panel.imshow(image, cmap="bone", vmin=0, vmax=LEVELS, interpolation="bicubic")
        panel.axis("off")
    part.subplots_adjust(0.02, 0.02, 0.98, 0.98, 0.06, 0.06)
    part.set_facecolor("#0b1020")
picture = sys.argv[1] if len(sys.argv) > 1 else "chow-liu.png"
figure.savefig(picture, dpi=90)
print(f"{picture}: the last tree holds {tree.total_weight:.2f} nats")
