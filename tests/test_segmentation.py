"""The example that segments an image, beside Higra and scikit-image."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import mstflow

DATA = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(DATA / "segment_camera.py"))


@pytest.fixture(scope="module")
def camera():
    image = pytest.importorskip("PIL.Image", reason="images need pillow")
    return np.asarray(image.open(DATA / "data" / "camera.png"))


@pytest.fixture(scope="module")
def higra():
    return pytest.importorskip("higra", reason="compared with Higra, which is not installed")


def same_regions(ours, theirs):
    """Return whether two labellings differ by the numbers of the regions only."""
    pairs = np.unique(np.stack([ours.ravel(), theirs.ravel()]), axis=1)
    return len(np.unique(ours)) == len(np.unique(theirs)) == pairs.shape[1]


def test_flat_zones_equal_those_of_higra(example, camera, higra):
    graph = higra.get_4_adjacency_graph(camera.shape)
    step = higra.weight_graph(graph, camera.astype(float), higra.WeightFunction.L1)
    tree = higra.quasi_flat_zone_hierarchy(graph, step)
    for most in (0, 4, 20):
        theirs = higra.labelisation_horizontal_cut_from_threshold(*tree, most)
        assert same_regions(example["flat_zones"](camera, most), theirs)


def test_the_tree_of_camera_weighs_as_much_as_that_of_higra(camera, higra):
    graph = higra.get_4_adjacency_graph(camera.shape)
    step = higra.weight_graph(graph, camera.astype(float), higra.WeightFunction.L1)
    theirs = higra.bpt_canonical(graph, step, compute_mst=True)[0].mst
    forest = mstflow.minimum_spanning_forest(mstflow.grid(camera))
    assert (theirs.num_edges(), forest.total_weight) == (len(forest.edge_ids), 725804)


def test_watersheds_equal_those_of_higra(example, higra):
    draw = np.random.default_rng(2)
    image = draw.permutation(60 * 70).reshape(60, 70)  # no two pixels are equal
    seeds = np.zeros(image.size, np.int64)
    seeds[draw.choice(image.size, 9, replace=False)] = np.arange(1, 10)
    weight = draw.permutation(image.size * 2).astype(float)

    u, v, _ = mstflow.grid(image).columns()
    edges = mstflow.EdgeList(u, v, weight[: len(u)])
    ours = example["watershed"](mstflow.minimum_spanning_forest(edges), seeds)
    graph = higra.UndirectedGraph(image.size)
    graph.add_edges(u, v)
    theirs = higra.labelisation_seeded_watershed(graph, edges.weight, seeds)
    assert np.array_equal(ours, theirs)


def test_watersheds_are_those_of_scikit_image_but_for_borders(example, camera):
    segmentation = pytest.importorskip(
        "skimage.segmentation", reason="compared with scikit-image, which is not installed"
    )
    hills, seeds = example["slope"](camera), example["markers"](camera)
    ours = example["watershed"](example["passes"](hills), seeds.ravel()).reshape(camera.shape)
    assert (ours == segmentation.watershed(hills, seeds)).mean() > 0.98


def test_regions_are_about_those_of_scikit_image(example, camera):
    segmentation = pytest.importorskip(
        "skimage.segmentation", reason="compared with scikit-image, which is not installed"
    )
    metrics = pytest.importorskip("skimage.metrics")
    ours = example["felzenszwalb"](camera, 300, 50)
    theirs = segmentation.felzenszwalb(camera, scale=300, sigma=0, min_size=50)
    assert min(np.bincount(ours.ravel())) >= 50
    assert sum(metrics.variation_of_information(ours, theirs)) < 1.3  # bits
