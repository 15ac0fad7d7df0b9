"""The command `mstflow verify`: check that a forest is the minimum spanning forest of a graph."""

from __future__ import annotations

import argparse
import json
import sys

from ..errors import VerificationError
from ..progress import set_listener
from ..queries.verify import verify
from .shared.terminal import Stopwatch, cost_lines, costs, counts, open_inputs, print_lines, report


def run(options: argparse.Namespace) -> int:
    """Return 0 if the forest is right; otherwise print a line ``wrong: ...`` and return 1."""
    watch = Stopwatch(options.started)
    watch.stop("start")
    try:
        with set_listener(not options.quiet):
            graph = open_inputs(options, is_streamed=True)
            watch.stop("read")
            verification = verify(graph, options.forest, maximum=options.maximum)
    except VerificationError as error:
        if options.json:
            print(json.dumps({"right": False, "problem": str(error)}))
        print(f"wrong: {options.forest}: {error}", file=sys.stderr)
        return 1
    watch.stop("verify")
    facts = {
        "right": True,
        "vertices": verification.num_vertices,
        "edges": verification.num_edges,
        "components": verification.num_components,
        "forest_edges": verification.num_forest_edges,
        "compared": list(verification.compared),
        "maximum": verification.maximum,
        **costs(watch),
    }
    which = "maximum" if verification.maximum else "minimum"
    lines = {
        "forest": f"right: this is the {which} spanning forest, edge for edge",
        **counts(facts),
        "compared": ", ".join(("edge ids", *verification.compared)),
        **cost_lines(facts),
    }
    report(options, facts, lambda: print_lines(lines.items()))
    return 0
