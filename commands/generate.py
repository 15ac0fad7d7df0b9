"""The command `mstflow generate`: write a random or regular graph, block by block."""

from __future__ import annotations

import argparse

from ..doors.generated.families import FAMILIES
from ..doors.write import write_table
from .arguments import parameters
from .shared.terminal import open_output, print_size

#: Options that all families have.
_OPTIONS = ("weights", "keep", "shuffle_vertices", "shuffle_edges", "seed")


def run(options: argparse.Namespace) -> None:
    """Generate the graph, write it, and print its size."""
    family = FAMILIES[options.family]
    names = [*(parameter.name for parameter in parameters(family)), *_OPTIONS]
    graph = family(**{name: getattr(options, name) for name in names})
    with open_output(options) as output:
        write_table(output, graph.table())
    print_size(options, graph)
