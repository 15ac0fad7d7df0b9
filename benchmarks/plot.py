"""Draws a record of `compare.py`: ratios as bars, and times over size, density or threads as lines.

Three graphs or more that are written out and differ only in size are lines; all others are bars.
Usage: python plot.py RECORD.json PICTURE.svg
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import figures
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FuncFormatter, NullFormatter, NullLocator

import graphs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

#: Colors that colour-blind people tell apart, after Okabe and Ito.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#000000", "#b8a800")
#: Text as text, and the same file whenever the figures are the same.
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "mstflow", "font.size": 9}
STYLES = ("-", "--", "-.", ":")
MARKS = "osD^vP"
#: Options of a name that say how large a graph is, not what kind.
SIZES = {
    "vertices",
    "edges",
    "scale",
    "edges_per_vertex",
    "rows",
    "columns",
    "cliques",
    "size",
    "degree",
    "dimension",
    "keep",
}
LEAST = 3  # points that make a line


@dataclass(frozen=True)
class Series:
    """Graphs of a kind and where they stand on an axis, in its order."""

    title: str
    axis: str
    places: dict[str, float]


def draw(record: figures.Record, path: Path) -> None:
    """Write the picture of a record; the suffix of the path says in which format."""
    names = list(dict.fromkeys(run["code"] for run in record["runs"]))
    colors = {name: COLORS[number % len(COLORS)] for number, name in enumerate(names)}
    threads = sorted({run["threads"] for run in record["runs"]})
    series = list(_series(record))
    swept = {graph for each in series for graph in each.places}
    barred = [graph for graph in record["graphs"] if graph not in swept]
    scaled = list(record["graphs"]) if len(threads) >= LEAST else []
    panels = (len(threads) if barred else 0) + len(series) + len(scaled)
    with mpl.rc_context(STYLE):
        # Inches, to fit the bars' numbers and the names that are written out.
        written = sum(":" in name for name in barred)
        width = max(8.5, 1 + 0.22 * len(barred) * len(names), 1 + 1.2 * written)
        figure = Figure(figsize=(width, 0.5 + 3.3 * panels), layout="constrained")
        axes = iter(figure.subplots(panels, squeeze=False)[:, 0])
        for count in threads if barred else []:
            _draw_bars(next(axes), record, barred, count, colors)
        for each in series:
            _draw_sweep(next(axes), record, each, colors, threads)
        for graph in scaled:
            _draw_scaling(next(axes), record, graph, colors, threads)
        handles = [Line2D([], [], color=color, lw=5, label=name) for name, color in colors.items()]
        figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
        figure.savefig(path, dpi=150)


def _series(record: figures.Record) -> Iterator[Series]:
    """Yield sweeps over size at one density, and over density at one n or one m."""
    kinds: dict[str, list[str]] = {}
    for name, graph in record["graphs"].items():
        if ":" in name:
            family, options = graphs.parse(graph["spec"])
            rest = [f"{key}={value}" for key, value in options.items() if key not in SIZES]
            kinds.setdefault(" ".join([family, *rest]), []).append(name)
    for kind, names in kinds.items():
        sizes = {
            name: (record["graphs"][name]["edges"], record["graphs"][name]["vertices"])
            for name in names
        }
        density = {name: m / n for name, (m, n) in sizes.items()}
        edges = {name: m for name, (m, _) in sizes.items()}
        vertices = {name: n for name, (_, n) in sizes.items()}
        about = {name: float(f"{each:.2g}") for name, each in density.items()}
        for held, unit, places, axis in (
            (about, "edges a vertex", edges, "edges"),
            (vertices, "vertices", density, "edges a vertex"),
            (edges, "edges", density, "edges a vertex"),
        ):
            for value in dict.fromkeys(held.values()):
                alike = {name: places[name] for name in names if held[name] == value}
                if len(alike) >= LEAST:
                    ordered = dict(sorted(alike.items(), key=lambda item: item[1]))
                    yield Series(f"{kind}, {value:,.10g} {unit}", axis, ordered)


def _draw_bars(
    axes: Axes, record: figures.Record, names: list[str], threads: int, colors: dict[str, str]
) -> None:
    """Draw the ratio of each code on each graph, upwards where it is slower than the reference."""
    reference = record["reference"]
    rivals = [name for name in colors if name != reference] or [reference]
    width = 0.8 / len(rivals)
    ratios = {
        (row.graph, row.code): row.ratio
        for name in names
        for row in figures.rows(record, name)
        if row.threads == threads
    }
    for position, name in enumerate(rivals):
        for place, graph in enumerate(names):
            ratio = ratios.get((graph, name))
            x = place + (position - (len(rivals) - 1) / 2) * width
            if ratio is None:
                axes.plot(x, 1, "x", color=colors[name])
                continue
            axes.bar(x, ratio - 1, width * 0.92, bottom=1, color=colors[name])
            above = ratio >= 1
            axes.annotate(
                f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}",
                (x, ratio),
                (0, 2 if above else -2),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                size=7,
            )
    axes.axhline(1, color=colors[reference], lw=1.2)
    axes.set_yscale("log")
    axes.margins(y=0.15)
    axes.set_xticks(range(len(names)), _labels(names))
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylabel(f"time / time of {reference}")
    axes.set_title(
        f"{threads} thread{'s' * (threads > 1)} (the line at 1 is {reference})", loc="left"
    )
    _plain_ticks(axes.yaxis)
    axes.spines["right"].set_visible(False)
    _tidy(axes)


def _labels(names: list[str]) -> list[str]:
    """Return the names in lines, less the options that all of them have."""
    options = [name.partition(":")[2].split(",") for name in names]
    common = set.intersection(*map(set, options)) if len(names) > 1 else set()
    rest = (",".join(part for part in name.split(",") if part not in common) for name in names)
    return [re.sub("([:,]|-(?=[a-z]))", r"\1\n", name) for name in rest]


def _draw_sweep(
    axes: Axes,
    record: figures.Record,
    series: Series,
    colors: dict[str, str],
    threads: list[int],
) -> None:
    """Draw the time for an edge over the sizes of a series, a line for each code and threads."""
    lines: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for name, place in series.places.items():
        for row in figures.rows(record, name):
            if row.minimum is not None:
                edges = record["graphs"][name]["edges"]
                point = (place, row.minimum / max(edges, 1) * 1e9)
                lines.setdefault((row.code, row.threads), []).append(point)
    for (code, count), points in lines.items():
        style = threads.index(count)
        axes.plot(
            *zip(*points, strict=True),
            color=colors[code],
            ls=STYLES[style % len(STYLES)],
            marker=MARKS[style % len(MARKS)],
            ms=4,
        )
    if len(threads) > 1:
        handles = [
            Line2D([], [], color="gray", ls=STYLES[k % len(STYLES)], marker=MARKS[k % len(MARKS)])
            for k in range(len(threads))
        ]
        labels = [f"{count} thread{'s' * (count > 1)}" for count in threads]
        axes.legend(handles, labels, frameon=False)
    axes.set_xscale("log")
    axes.set_xticks(list(series.places.values()))
    prefixed = EngFormatter(places=1, sep="")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: prefixed(x).replace(".0", "")))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(series.axis)
    axes.set_title(series.title, loc="left")
    _time_per_edge(axes)


def _draw_scaling(
    axes: Axes, record: figures.Record, graph: str, colors: dict[str, str], threads: list[int]
) -> None:
    """Draw the time for an edge of one graph over the number of threads."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in figures.rows(record, graph):
        if row.minimum is not None:
            edges = max(record["graphs"][graph]["edges"], 1)
            lines.setdefault(row.code, []).append((row.threads, row.minimum / edges * 1e9))
    for code, points in lines.items():
        axes.plot(*zip(*points, strict=True), color=colors[code], marker="o", ms=4)
    axes.set_xscale("log", base=2)
    axes.set_xticks(threads, [str(count) for count in threads])
    axes.set_xlabel("threads")
    axes.set_title(graph, loc="left")
    _time_per_edge(axes)


def _time_per_edge(axes: Axes) -> None:
    """Label the time for an edge on the left; on the right, what that is in edges a second."""
    axes.set_yscale("log")
    axes.set_ylabel("ns an edge")
    _plain_ticks(axes.yaxis)
    right = axes.secondary_yaxis("right", functions=(_inverse, _inverse))
    right.set_ylabel("million edges a second")
    _plain_ticks(right.yaxis)
    _tidy(axes)


def _inverse(values: Any) -> Any:
    return 1e3 / np.maximum(values, 1e-9)  # it is tried with 0 before there are limits


def _plain_ticks(axis: Any) -> None:
    """Write 20, not 2 x 10^1, and number the ticks between powers of ten only where few."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    low, high = sorted(axis.get_view_interval())
    few = FuncFormatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
    axis.set_minor_formatter(few if high < 100 * low else NullFormatter())


def _tidy(axes: Axes) -> None:
    axes.spines["top"].set_visible(False)
    axes.grid(axis="y", which="major", lw=0.4, color="#cccccc")
    axes.set_axisbelow(True)


if __name__ == "__main__":
    source, picture = map(Path, sys.argv[1:])
    draw(json.loads(source.read_text()), picture)
