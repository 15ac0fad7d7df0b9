"""The measurements of Sousa, Mariano and Proenca: road graphs by threads, and the load by rounds.

Shipped are the roads of New York; grids thinned to as few edges stand in for the larger graphs.
Other files are given by their paths. The load is that of the parts of the edge list, which are the
threads' shares wherever rounds are run on parts: how many arcs the fullest has above the mean.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from common import NEW_YORK, arguments, figures, graphs, measure, plot
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from mstflow import algorithm, minimum_spanning_forest, stage
from mstflow.stages.fields import Arcs, Count  # noqa: TC001  # annotations are read

if TYPE_CHECKING:
    from pathlib import Path

CODE = "mstflow:boruvka-csr:numba"
NORTH_EAST = "grid:rows=1000,columns=1524,keep=0.64,weights=int:1:10000"
WEST = "grid:rows=2500,columns=2500,keep=0.61,weights=int:1:10000"

#: From here on they take the load's imbalance to matter.
MATTERS = 0.05


def imbalance(graph: graphs.Graph, parts: int) -> dict[int, float]:
    """Return by round how many arcs the fullest of the parts has above their mean, as a share."""
    counts: list[int] = []

    @stage(writes="num_edges", combine="sum")
    def count_arcs(arcs: Arcs) -> Count:
        counts.append(len(arcs.edge))
        return len(arcs.edge) // 2

    minimum_spanning_forest(
        graph[:3],
        num_vertices=graph.n,
        algorithm=algorithm("boruvka-csr").replace("count_arcs", count_arcs),
        strategy="iterate",
        partitions=parts,
    )
    rounds = (counts[first : first + parts] for first in range(0, len(counts), parts))
    return {turn: max(of) * parts / sum(of) - 1 for turn, of in enumerate(rounds, 1) if any(of)}


def draw(record: dict[str, Any], path: Path) -> None:
    """Draw the speed-up of each graph by threads, and the imbalance of the first by rounds."""
    with mpl.rc_context(plot.STYLE):
        figure = Figure(figsize=(8.5, 3.3), layout="constrained")
        left, right = figure.subplots(1, 2)
        for color, graph in zip(plot.COLORS, record["graphs"], strict=False):
            least = {r.threads: r.minimum for r in figures.rows(record, graph) if r.code == CODE}
            points = [(t, least[min(least)] / seconds) for t, seconds in least.items()]
            size = record["graphs"][graph]["vertices"]
            label = f"{graph.partition(':')[0]}, {size / 1e6:.2g} million vertices"
            left.plot(*zip(*points, strict=True), "o-", color=color, label=label)
        left.set(xlabel="threads", ylabel="speed-up", xticks=record["threads"])
        for color, (parts, by_round) in zip(plot.COLORS, record["imbalance"].items(), strict=False):
            right.plot([*map(int, by_round)], [*by_round.values()], "o-", color=color, label=parts)
        right.axhline(MATTERS, color="gray", ls=":")
        right.set(xlabel="round", ylabel="arcs of the fullest part above the mean")
        right.set(yscale="log", ylim=(0.01, None))
        right.yaxis.set_major_formatter(PercentFormatter(1))
        right.legend(title="parts", frameon=False)
        left.legend(frameon=False)
        figure.savefig(path)


def main() -> None:
    """Measure, print and draw."""
    parser = arguments("sousa", __doc__, rounds=5)
    parser.add_argument("--graphs", nargs="+", default=[str(NEW_YORK), NORTH_EAST, WEST])
    parser.add_argument("--parts", nargs="+", type=int, default=[2, 4, 8, 16], metavar="P")
    options = parser.parse_args()
    record = measure(options, options.graphs, [CODE, "mstflow"])
    first = graphs.load(graphs.ensure(options.graphs[0], options.cache))
    record["imbalance"] = {str(parts): imbalance(first, parts) for parts in options.parts}
    options.output.write_text(json.dumps(record, indent=1) + "\n")
    draw(record, options.plot)


if __name__ == "__main__":
    main()
