"""The command `mstflow generate`: write a random or regular graph, block by block."""

from __future__ import annotations

import argparse
import inspect

from ..graphs.generate.families import FAMILIES
from ..graphs.write import write_table
from ..progress import set_listener
from .shared.terminal import add_output, output_path, print_size

_OPTIONS = ("weights", "keep", "shuffle_vertices", "shuffle_edges", "seed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add one subcommand for each family; the parameters of its function become options."""
    families = parser.add_subparsers(required=True, metavar="FAMILY", dest="family")
    for name, function in FAMILIES.items():
        summary = (function.__doc__ or "").split("\n", 1)[0]
        family = families.add_parser(name, help=summary, description=summary)
        add = family.add_argument
        for parameter in _parameters(name):
            required = parameter.default is parameter.empty
            option = f"--{parameter.name.replace('_', '-')}"
            if parameter.annotation is bool:
                switch = argparse.BooleanOptionalAction
                add(option, action=switch, default=parameter.default, help="default: %(default)s")
                continue
            add(
                option,
                type=parameter.annotation,
                required=required,
                default=None if required else parameter.default,
                metavar=parameter.name[0].upper(),
                help=None if required else "default: %(default)s",
            )
        add("--weights", default="float32", metavar="W", help="float32, float64 or int:LOW:HIGH")
        add("--keep", type=float, default=1.0, metavar="SHARE", help="fraction of edges to keep")
        add("--shuffle-vertices", action="store_true", help="renumber the vertices at random")
        add("--shuffle-edges", action="store_true", help="write the edges in random order")
        add("--seed", type=int, default=0, metavar="S", help="default: %(default)s")
        add_output(family)


def run(options: argparse.Namespace) -> None:
    """Generate the graph, write it, and print its size."""
    names = [*(parameter.name for parameter in _parameters(options.family)), *_OPTIONS]
    graph = FAMILIES[options.family](**{name: getattr(options, name) for name in names})
    with set_listener(not options.quiet), output_path(options.output) as output:
        write_table(output, graph.table())
    print_size(options, graph)


def _parameters(family: str) -> list[inspect.Parameter]:
    signature = inspect.signature(FAMILIES[family], eval_str=True)
    return [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
