"""The arguments of all commands: for each command, a function that adds them to its parser.

The module of a command is imported only when the command runs. So help is printed before NumPy is
loaded, which takes longer.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from ..pipeline.catalogue.algorithms import NAMES
from ..plugins import registered

#: The names of the registries, which load NumPy; a test compares them.
BACKENDS = ("numpy", "numba", "cupy")
STRATEGIES = ("whole", "scan", "sweep", "iterate", "tiles", "exchange", "fold", "tree", "two-scan")
FORMATS = "gr, txt, mtx, metis, npz, npy, bin, image, csv, parquet, arrow"
OUTPUTS = ".gr, .mtx, .npz, .csv, .parquet"

_THREADS = (
    "inline: threads of compiled kernels; threads, processes: tasks that run at once, with one "
    "thread each; on a cluster: threads of each task, by default 1"
)


def solve(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `mstflow solve`."""
    add = parser.add_argument
    _add_inputs(parser)
    _add_output(parser, required=False)
    _add_choice(parser, "--algorithm", _Names("algorithm", NAMES))
    _add_choice(parser, "--backend", _Names("backend", BACKENDS))
    _add_choice(parser, "--strategy", ("auto", *STRATEGIES))
    text = "set a parameter of the algorithm, such as sample_size=1000; repeatable"
    add("--set", action="append", default=[], type=_value, metavar="NAME=VALUE", help=text)
    add("--threads", type=int, metavar="T", help=_THREADS)
    text = "inline, synchronous, threads, processes, dask, or an address"
    add("--scheduler", default="inline", metavar="S", help=text)
    add("--partitions", type=int, metavar="K", help="number of partitions of the edges")
    _add_bounds(parser)
    add("--maximum", action="store_true", help="compute the maximum spanning forest")
    _add_json(parser)


def clusters(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `mstflow clusters`."""
    add = parser.add_argument
    _add_inputs(parser)
    text = "join pairs of at most this weight; with --similarity, of at least this weight"
    add("--at", nargs="+", type=_number, required=True, metavar="T", help=text)
    add("--similarity", action="store_true", help="large weights mean similar")
    text = "the table of clusters: .parquet or .csv, or - for CSV on standard output"
    add("-o", "--output", metavar="OUT", help=text)
    _add_bounds(parser)
    add("--threads", type=int, metavar="T", help="threads of compiled kernels")
    _add_json(parser)
    _add_quiet(parser)


def verify(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `mstflow verify`."""
    add = parser.add_argument
    _add_inputs(parser)
    add("forest", metavar="FOREST", help="output of solve: .npz, .parquet, .csv, or a folder")
    text = "check for the maximum spanning forest; default: what the file of the forest states"
    add("--maximum", action="store_true", default=None, help=text)
    _add_json(parser)
    _add_quiet(parser)


def plan(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `mstflow plan`."""
    _add_inputs(parser, nargs="*")
    add = parser.add_argument
    add("--vertices", type=_count, metavar="N", help="number of vertices, for a plan without files")
    add("--edges", type=_count, metavar="M", help="number of edges, for a plan without files")
    text = "bytes of a weight: 1, 2, 4 or 8; default: %(default)s"
    add("--weight-bytes", type=int, choices=(1, 2, 4, 8), default=4, metavar="B", help=text)
    _add_choice(parser, "--strategy", ("auto", *STRATEGIES))
    add("--partitions", type=int, metavar="K", help="number of partitions of the edges")
    add("--scheduler", default="inline", metavar="S", help="scheduler, as for solve")
    text = "memory bound of the command or, on a cluster, of each task"
    add("--memory", metavar="SIZE", help=text)
    text = "number of tasks that a cluster runs at once; default: no cluster"
    add("--workers", type=int, default=1, metavar="W", help=text)
    add("--threads", type=int, metavar="T", help=_THREADS)
    text = "bytes per second that each task reads from disk; default: %(default)s"
    add("--disk", default="2GB", metavar="RATE", help=text)
    text = "bytes per second that each task sends; default: %(default)s"
    add("--network", default="1GB", metavar="RATE", help=text)
    _add_json(parser)


def generate(parser: argparse.ArgumentParser) -> None:
    """Add one subcommand for each family; the parameters of its function become options."""
    from ..doors.generated.families import FAMILIES

    families = parser.add_subparsers(required=True, metavar="FAMILY", dest="family")
    for name, function in FAMILIES.items():
        summary = (function.__doc__ or "").split("\n", 1)[0]
        family = families.add_parser(name, help=summary, description=summary)
        add = family.add_argument
        for parameter in parameters(function):
            required = parameter.default is parameter.empty
            option = f"--{parameter.name.replace('_', '-')}"
            if parameter.annotation is bool:
                switch = argparse.BooleanOptionalAction
                add(option, action=switch, default=parameter.default, help="default: %(default)s")
                continue
            add(
                option,
                type=_count if parameter.annotation is int else parameter.annotation,
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
        _add_output(family)


def parameters(family: Any) -> list[inspect.Parameter]:
    """Return the parameters of a family, without the options that all families have."""
    *own, _ = inspect.signature(family, eval_str=True).parameters.values()
    return own


def convert(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `mstflow convert`."""
    _add_inputs(parser)
    _add_output(parser)


def algorithms(_: argparse.ArgumentParser) -> None:
    """Add no arguments; `mstflow algorithms` has none."""


def info(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `mstflow info`."""
    _add_inputs(parser, nargs="*")
    parser.add_argument("--compile", action="store_true", help="compile the kernels ahead of use")
    _add_json(parser)


def _add_inputs(parser: argparse.ArgumentParser, nargs: str = "+") -> None:
    """Add the input files of a graph, their format, and the names of their columns."""
    add = parser.add_argument
    text = "files, folders, patterns or URLs that form one graph; - for standard input"
    add("inputs", nargs=nargs, metavar="INPUT", help=text)
    text = f"format, if not clear from the file names: {FORMATS}, or the name of a plugin"
    add("--format", metavar="F", help=text)
    text = "column of the weights: its name, or its position from 0 in text"
    add("--weight", type=_column, default="weight", metavar="W", help=text)
    text = "ignore all weights: each edge has weight 1"
    add("--unweighted", action="store_const", dest="weight", const=None, help=text)
    text = (
        "columns of the two ends, by name or position, if their values are names of vertices, "
        "strings or integers; two columns of an end together as A,B"
    )
    add("--ends", nargs=2, type=_end, metavar=("LEFT", "RIGHT"), help=text)
    text = "two or three columns of vertex numbers and weights, by name or position from 0"
    add("--columns", nargs="+", type=_column, metavar="C", help=text)
    text = "smallest vertex id in the inputs; it becomes vertex 0"
    add("--first-id", type=int, metavar="N", help=text)
    add("--encoding", metavar="E", help="encoding of text, such as utf-16; default: utf-8")


def _add_output(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the output file or folder, and --quiet."""
    text = f"file ({OUTPUTS}), new folder, or - for CSV on standard output"
    parser.add_argument("-o", "--output", required=required, metavar="OUT", help=text)
    _add_quiet(parser)


def _add_bounds(parser: argparse.ArgumentParser) -> None:
    """Add --memory and --checkpoint."""
    add = parser.add_argument
    add("--memory", metavar="SIZE", help="memory bound of the whole command, such as 2GB")
    add("--checkpoint", metavar="DIR", help="save intermediate results and resume from them")


def _add_quiet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="print only errors and results")


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object")


class _Names:
    """The names of a registry, then the names of plugins, which are looked up only if needed."""

    def __init__(self, kind: str, known: tuple[str, ...]) -> None:
        self._kind, self._known = kind, ("auto", *known)

    def __iter__(self) -> Iterator[str]:
        yield from self._known
        yield from registered(self._kind, self._known)


def _add_choice(parser: argparse.ArgumentParser, option: str, choices: Iterable[str]) -> None:
    """Add an option for one of the choices, by default "auto"."""
    letter, listed = option[2].upper(), "%(choices)s"
    parser.add_argument(option, default="auto", choices=choices, metavar=letter, help=listed)


def _value(text: str) -> tuple[str, Any]:
    """Parse NAME=VALUE, where the value is a number, True or False."""
    name, _, value = text.partition("=")
    with contextlib.suppress(ValueError, SyntaxError):
        if name.isidentifier() and isinstance(number := ast.literal_eval(value), int | float):
            return name, number
    message = f"expected NAME=VALUE with a number, True or False, found {text!r}"
    raise argparse.ArgumentTypeError(message)


def _column(text: str) -> str | int:
    """Parse a column: its position if it consists of digits, otherwise its name."""
    return int(text) if text.isdecimal() else text


def _end(text: str) -> str | int | tuple[str | int, ...]:
    """Parse the column of an end, or several columns separated by commas."""
    columns = tuple(map(_column, text.split(",")))
    return columns if len(columns) > 1 else columns[0]


def _number(text: str) -> int | float:
    """Parse a threshold."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    message = f"expected a number, found {text!r}; write the inputs before --at"
    raise argparse.ArgumentTypeError(message)


def _count(text: str) -> int:
    """Parse a whole number, which may be written as 1e9."""
    with contextlib.suppress(ValueError, OverflowError):
        if (count := int(value := float(text))) == value and count >= 0:
            return count
    raise argparse.ArgumentTypeError(f"expected a whole number, found {text!r}")
