"""Segment an image by its minimum spanning forest, and compare with scikit-image and Higra.

The image is a graph without an edge list (`mstflow.grid`). Forests give three segmentations: flat
zones, the regions of Felzenszwalb and Huttenlocher (2004), and watersheds from markers, which
are minimum spanning forests rooted in the markers (Cousty et al., 2009). Needs mstflow[io].
scikit-image and Higra, if they are installed, segment the same image for comparison.
Usage: python segment_camera.py [picture.png]
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image

import mstflow


def flat_zones(image, step):
    """Return the regions in which neighboring pixels differ by at most `step`."""
    forest = mstflow.minimum_spanning_forest(mstflow.grid(image, 4))
    return forest.cut(distance=step).reshape(image.shape)


def felzenszwalb(image, scale, min_size):
    """Return the regions of Felzenszwalb and Huttenlocher, by edges of the forest alone.

    Two regions merge if the edge between them is not much heavier than the edges inside: by at most
    `scale` over their size. Then regions below `min_size` pixels merge with a neighbor. The method
    also reads edges outside the forest. These join pixels that lighter edges connect, so they merge
    two regions only around a third one that has stopped to grow.
    """
    forest = mstflow.minimum_spanning_forest(mstflow.grid(image, 8))
    order = np.argsort(forest.weight, kind="stable")
    columns = (column[order].tolist() for column in (forest.u, forest.v, forest.weight))
    edges = list(zip(*columns, strict=True))
    parent, size, inside = list(range(image.size)), [1] * image.size, [0.0] * image.size

    def find(pixel):
        while parent[pixel] != pixel:
            parent[pixel] = pixel = parent[parent[pixel]]
        return pixel

    def merge(a, b, weight):
        parent[b] = a
        size[a] += size[b]
        inside[a] = weight

    for u, v, weight in edges:
        a, b = find(u), find(v)
        if weight <= min(inside[a] + scale / size[a], inside[b] + scale / size[b]):
            merge(a, b, weight)
    for u, v, weight in edges:
        a, b = find(u), find(v)
        if a != b and min(size[a], size[b]) < min_size:
            merge(a, b, weight)
    roots = np.array(list(map(find, range(image.size))))
    return np.unique(roots, return_inverse=True)[1].reshape(image.shape)


def watershed(forest, markers):
    """Return for each vertex the label of the marker to which the lowest pass leads.

    `forest` is the minimum spanning forest of the image. One more vertex is joined to all markers
    by edges lighter than any other, and `Forest.add` finds the forest without reading the image
    again. So other markers take little time.
    """
    (seeds,) = np.nonzero(markers)
    root = np.full(len(seeds), forest.num_vertices)
    lowest = np.full(len(seeds), forest.weight.min() - 1, forest.weight.dtype)
    rooted = forest.add((seeds, root, lowest))
    kept = rooted.u != forest.num_vertices, rooted.v != forest.num_vertices
    u, v = (column[kept[0] & kept[1]] for column in (rooted.u, rooted.v))
    basins = mstflow.minimum_spanning_forest((u, v), num_vertices=forest.num_vertices).labels
    label = np.zeros(basins.max() + 1, markers.dtype)
    label[basins[seeds]] = markers[seeds]
    return label[basins]


def passes(image):
    """Return the forest of an image of floats whose edges weigh the higher of two pixels."""
    return mstflow.minimum_spanning_forest(mstflow.grid(image, 4, weight=np.maximum))


def slope(image):
    """Return the length of the gradient, with a small slant so that no two pixels are equal."""
    down, right = np.gradient(image.astype(float))
    return np.hypot(down, right) + np.linspace(0, 1e-3, image.size).reshape(image.shape)


def markers(image, step=64):
    """Return an array with the numbers 1, 2, ... at pixels of a regular grid, and 0 elsewhere."""
    label = np.zeros(image.shape, np.int64)
    chosen = label[step // 2 :: step, step // 2 :: step]
    chosen[:] = np.arange(1, chosen.size + 1).reshape(chosen.shape)
    return label


def main(path):
    """Print the number of regions of each segmentation."""
    image = np.asarray(Image.open(path).convert("L"))
    hills, seeds = slope(image), markers(image)
    zones = flat_zones(image, 4)
    regions = felzenszwalb(image, 300, 50)
    basins = watershed(passes(hills), seeds.ravel()).reshape(image.shape)
    print(f"mstflow       flat zones {zones.max() + 1}, regions {regions.max() + 1}, ", end="")
    print(f"basins {len(np.unique(basins))}")
    if find_spec("skimage"):
        from skimage import segmentation

        theirs = segmentation.felzenszwalb(image, scale=300, sigma=0, min_size=50)
        flooded = segmentation.watershed(hills, seeds)
        same = (flooded == basins).mean()
        print(f"scikit-image  regions {theirs.max() + 1}, basins {same:.0%} like ours")
    if find_spec("higra"):
        import higra

        graph = higra.get_4_adjacency_graph(image.shape)
        step = higra.weight_graph(graph, image.astype(float), higra.WeightFunction.L1)
        theirs = higra.labelisation_horizontal_cut_from_threshold(
            *higra.quasi_flat_zone_hierarchy(graph, step), 4
        )
        print(f"Higra         flat zones {len(np.unique(theirs))}")


if __name__ == "__main__":
    here = Path(__file__).parent / "data" / "camera.png"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here)
