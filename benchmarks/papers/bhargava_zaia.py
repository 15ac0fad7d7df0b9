"""The measurements of Bhargava and Zaia: five families, problem size, and both arcs of each edge.

Speed-up over a sequential code is that code's ratio. Weights are integers of 1 to 1000, as theirs.
Left out by default are the smallest of each family, and graphs of 31 to 300 million edges.
"""

from __future__ import annotations

from common import arguments, measure, plot

CODES = ["mstflow:boruvka-edgelist:numba", "mstflow:kruskal:numba"]
FAMILIES = [
    "circulant:n=250000,degree=2",
    "circulant:n=500000,degree=5",
    "hypercube:dimension=18",
    "caveman:cliques=7500,size=50",
    "connected-caveman:cliques=7500,size=50",
    "complete:n=350000,keep=8e-5",
    "complete:n=500000,keep=5e-5",
]
SPARSE = "circulant:n={},degree=3"
DENSE = "connected-caveman:cliques=100,size={}"
BOTH_ARCS = ["circulant:n=500000,degree=5", "complete:n=350000,keep=8e-5"]


def main() -> None:
    """Measure, print and draw."""
    parser = arguments("bhargava_zaia", __doc__, rounds=2)
    add = parser.add_argument
    add("--codes", nargs="+", default=CODES)
    add("--families", nargs="+", default=FAMILIES, metavar="GRAPH")
    add("--vertices", nargs="+", type=int, default=[10**5, 10**6, 10**7], help="of sparse graphs")
    add("--sizes", nargs="+", type=int, default=[45, 142, 448], help="of the cliques of dense ones")
    add("--both-arcs", nargs="+", default=BOTH_ARCS, metavar="GRAPH")
    options = parser.parse_args()
    graphs = [
        *options.families,
        *map(SPARSE.format, options.vertices),
        *map(DENSE.format, options.sizes),
        *(f"{graph},arcs=True" for graph in options.both_arcs),
    ]
    record = measure(options, [f"{graph},weights=int:1:1000" for graph in graphs], options.codes)
    plot.draw(record, options.plot)


if __name__ == "__main__":
    main()
