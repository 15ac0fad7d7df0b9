"""The measurement of AlgoWiki's page on Boruvka's algorithm: edges a second by size and threads.

Its sizes are 2^20 to 2^27 vertices on 28 processors; its graphs are not named. Here they are R-MAT
and SSCA#2 graphs. What it calls TEPS is the right axis of the picture: each edge counts once.
"""

from __future__ import annotations

from common import arguments, measure, plot

FAMILIES = ("rmat:scale={},edges_per_vertex=16", "ssca2:scale={},max_clique_size=40,max_parallel=1")


def main() -> None:
    """Measure, print and draw."""
    parser = arguments("algowiki", __doc__, rounds=3)
    parser.add_argument("--algorithm", default="boruvka-unionfind", metavar="A")
    parser.add_argument("--scales", nargs="+", type=int, default=[14, 16, 18, 20], metavar="S")
    options = parser.parse_args()
    graphs = [family.format(scale) for family in FAMILIES for scale in options.scales]
    record = measure(options, graphs, [f"mstflow:{options.algorithm}:numba", "mstflow"])
    plot.draw(record, options.plot)


if __name__ == "__main__":
    main()
