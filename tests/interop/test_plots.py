"""Plots of forests and reports, drawn without a display."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import LogNorm, to_rgba

import mstflow
from mstflow.errors import OptionError

matplotlib.use("Agg")

# Two trees and an isolated vertex.
FOREST = mstflow.minimum_spanning_forest(
    ([0, 1, 2, 0, 4, 5], [1, 2, 3, 3, 5, 6], [1.0, 10.0, 100.0, 5.0, 1.0, np.inf]), num_vertices=8
)
PLACES = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [3, 0], [4, 0], [4, 2], [9, 9]])


@pytest.fixture(autouse=True)
def axes():
    _, axes = pyplot.subplots()
    yield axes
    pyplot.close("all")


def segments(collection):
    """Draw a collection and return the color of each segment."""
    collection.figure.canvas.draw()
    drawn = {}
    for path, color in zip(collection.get_paths(), collection.get_colors(), strict=True):
        for start, end, gap in path.vertices.reshape(-1, 3, 2):
            assert np.isnan(gap).all()
            drawn[(*start, *end)] = tuple(color)
    return drawn


def edges(label=None):
    """Return the ends of the edges within labels, or of all edges."""
    ends = zip(FOREST.u.tolist(), FOREST.v.tolist(), strict=True)
    kept = [(u, v) for u, v in ends if label is None or label[u] == label[v]]
    return {(*PLACES[u].tolist(), *PLACES[v].tolist()) for u, v in kept}


def test_each_component_has_its_own_color(axes):
    assert FOREST.plot(PLACES) is axes  # the current axes
    (lines,) = axes.collections
    colors = segments(lines)
    assert colors.keys() == edges()
    assert {color for place, color in colors.items() if place[0] < 2}.isdisjoint(
        color for place, color in colors.items() if place[0] > 2
    )
    assert len(set(colors.values())) == 2
    assert axes.get_xlim()[0] < 0 < 4 < axes.get_xlim()[1] < 9  # the isolated vertex is not drawn


def test_weights_are_colored_exactly(axes):
    _, other = pyplot.subplots()
    assert FOREST.plot(PLACES, color="weight", cmap="magma", norm=LogNorm(), ax=axes) is axes
    assert not other.collections
    (lines,) = axes.collections
    assert (lines.norm.vmin, lines.norm.vmax) == (1, 10)  # infinite weights do not affect the scale
    at = np.hstack([PLACES[FOREST.u], PLACES[FOREST.v]])
    expected = {
        tuple(place): tuple(lines.cmap(lines.norm(weight)))
        for place, weight in zip(at.tolist(), FOREST.weight, strict=True)
    }
    assert segments(lines) == expected
    axes.figure.colorbar(lines)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint64, np.float16])
def test_weights_of_any_kind(axes, dtype):
    graph = ([0, 1], [1, 2], np.array([0, 1], dtype))
    mstflow.minimum_spanning_forest(graph).plot(PLACES[:3], color="weight")
    assert len(set(segments(axes.collections[0]).values())) == 2


def test_edges_between_labels_are_gray(axes):
    label = FOREST.cut(k=4)
    FOREST.plot(PLACES, color=label, linewidths=3)
    within, between = axes.collections
    assert segments(within).keys() == edges(label)
    assert segments(between).keys() == edges() - edges(label)
    assert set(segments(between).values()) == {to_rgba("0.5")}
    assert set(within.get_linewidths()) == set(between.get_linewidths()) == {3}


def test_edges_are_grouped_into_few_paths(axes):
    count = 5000
    random = np.random.default_rng(1)
    graph = (np.arange(count), np.arange(count) + 1, random.random(count))
    forest = mstflow.minimum_spanning_forest(graph)
    forest.plot(random.random((count + 1, 2)), color="weight")
    (lines,) = axes.collections
    assert len(lines.get_paths()) <= 258  # one for each color, and two beyond the range
    assert sum(len(path.vertices) for path in lines.get_paths()) == 3 * count
    shown = set(map(tuple, lines.cmap(lines.norm(forest.weight))))
    assert set(segments(lines).values()) == shown


@pytest.mark.parametrize("color", ["component", "weight"])
def test_a_forest_without_edges(axes, color):
    mstflow.minimum_spanning_forest(([], []), num_vertices=2).plot(PLACES[:2], color=color)
    axes.figure.canvas.draw()


def test_vertex_at_nan(axes):
    places = np.where(np.arange(8)[:, None] == 6, np.nan, PLACES)
    FOREST.plot(places)
    axes.figure.canvas.draw()
    assert np.isfinite(axes.dataLim.get_points()).all()


@pytest.mark.parametrize(("color", "norm"), [("weight", "log"), ("component", "linear")])
def test_norms_have_names(axes, color, norm):
    FOREST.plot(PLACES, color=color, norm=norm)
    assert isinstance(axes.collections[0].norm, LogNorm) == (norm == "log")
    axes.figure.canvas.draw()


@pytest.mark.parametrize(
    ("places", "color", "message"),
    [
        (PLACES[:7], "component", r"coordinates must have shape \(8, 2\), not \(7, 2\)"),
        (PLACES.T, "component", r"must have shape \(8, 2\), not \(2, 8\)"),
        ("roads.co", "component", "coordinates must be an array of numbers"),
        (PLACES, "length", "'weight', or integer labels of shape .8,., not 'length'"),
        (PLACES, np.zeros(7, int), r"not int64 of shape \(7,\)"),
        (PLACES, np.zeros(8), r"not float64 of shape \(8,\)"),
    ],
)
def test_bad_arguments(axes, places, color, message):
    with pytest.raises(OptionError, match=message):
        FOREST.plot(places, color=color)
    assert not axes.collections


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(OptionError, match=r"matplotlib; install mstflow\[plot\]"):
        FOREST.plot(PLACES)
