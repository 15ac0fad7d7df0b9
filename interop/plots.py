"""Plots of forests with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..doors.formats.text.coordinates import checked_coordinates
from ..errors import OptionError
from ..forest.edges import ForestEdges
from ..runtime.device import host_array

#: Edges in a Matplotlib path. Matplotlib draws a few long paths faster, but too long ones exceed
#: its cell pool.
_EDGES_PER_PATH = 200
#: Multiples of the golden ratio, modulo 1, map neighboring labels to distant colors.
_GOLDEN_RATIO = 0.6180339887498949


def plot_forest(
    forest: ForestEdges,
    coordinates: ArrayLike,
    color: Any,
    cmap: Any,
    norm: Any,
    ax: Any,
    **style: Any,
) -> Any:
    """Draw a forest, as documented at `Forest.plot`; `color` is "weight" or an array of labels."""
    plt = _pyplot()
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize

    positions = checked_coordinates(coordinates, forest.num_vertices)
    lines = np.stack([positions[forest.u], positions[forest.v]], axis=1)
    style = {"linewidths": np.clip(200 / np.sqrt(1 + len(lines)), 0.4, 1.5), **style}
    if isinstance(color, str) and color == "weight":
        values, cmap = forest.weight.astype(np.float64), plt.get_cmap(cmap)
        norm, is_colored = ScalarMappable(norm).norm, np.ones(len(values), np.bool_)
        finite = values[np.isfinite(values)]
        norm.autoscale_None(finite if len(finite) else np.zeros(1))
    else:
        label = _labels(forest, color)
        values, cmap = (0.5 + label[forest.u] * _GOLDEN_RATIO) % 1, plt.get_cmap(cmap or "turbo")
        # Leave out the ends of turbo, whose dark colors are hard to distinguish.
        norm = ScalarMappable(norm or Normalize(-0.1, 1.1)).norm
        is_colored = label[forest.u] == label[forest.v]
    paths, first_lines = _paths(lines[is_colored], _levels(values[is_colored], norm, cmap.N))
    ax = plt.gca() if ax is None else ax
    colors = {"array": values[is_colored][first_lines], "norm": norm, "cmap": cmap}
    ax.add_collection(LineCollection(paths, **colors, **style), autolim=False)
    if not is_colored.all():
        between = lines[~is_colored]
        paths, _ = _paths(between, np.zeros(len(between), np.int64))
        ax.add_collection(LineCollection(paths, colors="0.5", **style), autolim=False)
    ax.update_datalim(lines.reshape(-1, 2))
    ax.autoscale_view()
    ax.set_aspect("equal")
    return ax


def _labels(forest: ForestEdges, color: Any) -> NDArray[Any]:
    """Return the argument `color` as a checked array of labels on the host."""
    label = np.asarray(host_array(color))
    if label.dtype.kind not in "biu" or label.shape != (forest.num_vertices,):
        shown = repr(color) if label.ndim == 0 else f"{label.dtype} of shape {label.shape}"
        message = (
            f"color must be 'component', 'weight', or integer labels of shape "
            f"({forest.num_vertices},), not {shown}"
        )
        raise OptionError(message)
    return label


def _levels(values: NDArray[np.float64], norm: Any, num_colors: int) -> NDArray[np.int64]:
    """Return which of `num_colors` colors each value has; -1 if it is below the range or masked."""
    scaled: NDArray[np.float64] = np.ma.filled(norm(values), -1.0)
    return np.clip(np.floor(scaled * num_colors), -1, num_colors).astype(np.int64)


def _paths(
    lines: NDArray[np.float64], level: NDArray[np.int64]
) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
    """Join the lines of each level into paths, and return the position of each path's first line.

    In a path, a NaN separates each line from the next.
    """
    order = np.argsort(level, kind="stable")
    level = level[order]
    position = np.arange(len(level)) - np.searchsorted(level, level)  # within its color
    start = np.flatnonzero(position % _EDGES_PER_PATH == 0)
    points = np.full((len(lines), 3, 2), np.nan)
    points[:, :2] = lines[order]
    return np.split(points.reshape(-1, 2), 3 * start[1:]), order[start]


def _pyplot() -> Any:
    """Return matplotlib's pyplot."""
    try:
        import matplotlib.pyplot
    except ModuleNotFoundError as error:
        raise OptionError("plots need the package matplotlib; install mstflow[plot]") from error
    return matplotlib.pyplot
