"""The measurement of parallel-boruvka: one road graph by threads, beside sequential codes.

Theirs is roadNet-CA with random weights. The roads of New York are shipped; a grid thinned to its
numbers of vertices and edges stands in for the larger graph. Other files are given by their paths.
"""

from __future__ import annotations

from common import NEW_YORK, arguments, measure, plot

CALIFORNIA = "grid:rows=1400,columns=1404,keep=0.7045,weights=int:1:1000000"
CODES = ("mstflow:boruvka-sorted:numba", "mstflow:boruvka-edgelist:numba", "mstflow:kruskal:numba")


def main() -> None:
    """Measure, print and draw."""
    parser = arguments("parallel_boruvka", __doc__, rounds=3)
    parser.add_argument("--graphs", nargs="+", default=[str(NEW_YORK), CALIFORNIA])
    options = parser.parse_args()
    plot.draw(measure(options, options.graphs, CODES), options.plot)


if __name__ == "__main__":
    main()
