"""The command line: `mstflow` and `python -m mstflow`."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import resource
import signal
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from . import (
    __version__,
    algorithm,
    algorithms,
    minimum_spanning_forest,
    read,
    read_coordinates,
    verify,
)
from .errors import MemoryBoundError, MstflowError, OptionError, VerificationError
from .graphs import convert, generate
from .graphs.convert import add_inputs
from .graphs.open import open_files
from .graphs.write import OUTPUTS, check_output
from .pipeline import estimate, info, machine
from .pipeline.bounds import parse_bytes, show_bytes
from .pipeline.plan import STRATEGIES, is_streamed
from .primitives import known_backends
from .progress import heard_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from .pipeline.forest import Forest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 is success, 1 a forest that `verify` found wrong, 2 follows one line ``error: ...``.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)  # so that scratch files are cleared away
    try:
        options = _parser().parse_args(arguments)
        code: int | None = options.command(options)
    except (MstflowError, OSError, MemoryError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        print(f"error: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    return code or 0


def _terminate(*_: object) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, like all others."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)  # --edges is not --edges-per-vertex

    def error(self, message: str) -> NoReturn:
        raise OptionError(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="mstflow", description="Minimum spanning forests of large graphs.")
    parser.add_argument("--version", action="version", version=f"mstflow {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)

    solve = commands.add_parser("solve", help="find the minimum spanning forest of a graph")
    solve.set_defaults(command=_solve)
    add = solve.add_argument
    add_inputs(solve)
    add("-o", "--output", metavar="OUT", help=f"write the forest: {OUTPUTS}, or a new folder")
    add("--coordinates", metavar="FILE", help="where vertices lie (.co), for an output in .geojson")
    for name, known in (
        ("algorithm", ["auto", *algorithms()]),
        ("backend", ["auto", *known_backends()]),
        ("strategy", STRATEGIES),
    ):
        add(
            f"--{name}",
            default="auto",
            choices=known,
            metavar=name[0].upper(),
            help=", ".join(known),
        )
    add("--threads", type=int, metavar="T", help="of kernels; workers of threads, processes")
    schedulers = "inline, synchronous, threads, processes, dask, or an address"
    add("--scheduler", default="inline", metavar="S", help=schedulers)
    add("--partitions", type=int, metavar="K", help="number of ranges of edge ids")
    add("--memory", metavar="SIZE", help="what the command may take in all, such as 2GB")
    add("--checkpoint", metavar="DIR", help="keep what is found there; go on from what is")
    add("--performance-report", metavar="FILE", help="of a cluster's scheduler, as HTML")
    add("--maximum", action="store_true", help="find the maximum spanning forest")
    add("--json", action="store_true", help="print one JSON object")
    add("--quiet", action="store_true", help="print nothing but errors and JSON")

    _add_verify(commands.add_parser("verify", help="check that a forest is the minimum one"))
    command = commands.add_parser("plan", help="tell what a graph of some size would take")
    command.set_defaults(command=lambda options: estimate.run(options, _rss_bytes()))
    estimate.add_arguments(command)
    command = commands.add_parser("generate", help="write a graph of a known family")
    command.set_defaults(command=generate.run)
    generate.add_arguments(command)
    command = commands.add_parser("convert", help="write a graph in another format")
    command.set_defaults(command=convert.run)
    convert.add_arguments(command)
    command = commands.add_parser("algorithms", help="list the algorithms")
    command.set_defaults(command=_list_algorithms)
    command = commands.add_parser("info", help="tell what a graph is like, or this machine")
    command.set_defaults(command=_info)
    add_inputs(command, nargs="*")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command = commands.add_parser("completion", help="print what completes commands in a shell")
    command.set_defaults(command=_print_completion)
    command.add_argument("shell", choices=["bash", "zsh", "fish"])
    return parser


def _add_verify(command: argparse.ArgumentParser) -> None:
    command.set_defaults(command=_verify)
    add = command.add_argument
    add_inputs(command)
    add("forest", metavar="FOREST", help="what solve wrote: .npz, .parquet, .csv, or a folder")
    add("--maximum", action="store_true", help="check for the maximum spanning forest")
    add("--json", action="store_true", help="print one JSON object")
    add("--quiet", action="store_true", help="print nothing but errors and JSON")


def _solve(options: argparse.Namespace) -> None:
    places = None if options.coordinates is None else read_coordinates(options.coordinates)
    if options.output is not None:
        check_output(options.output, places)  # before the work, not after it
    with heard_by(not options.quiet):
        forest, seconds = _find_forest(options, places)
    facts = _facts(forest, seconds)
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        _print_summary(facts, options.output)


def _find_forest(
    options: argparse.Namespace, places: NDArray[np.float64] | None
) -> tuple[Forest, dict[str, float]]:
    """Read, solve and write; return the forest and what each took."""
    started = time.perf_counter()
    streamed = is_streamed(options.strategy, options.scheduler, options.memory)
    opened = partial(open_files, is_bounded=options.memory is not None) if streamed else read
    graph = opened(options.inputs, format=options.format, weight=options.weight)
    was_read = time.perf_counter()
    with _cluster(options) as scheduler, _within(options.memory) as memory:
        forest = minimum_spanning_forest(
            graph,
            maximum=options.maximum,
            algorithm=options.algorithm,
            backend=options.backend,
            threads=options.threads,
            scheduler=scheduler,
            partitions=options.partitions,
            strategy=options.strategy,
            memory=memory,
            checkpoint=options.checkpoint,
        )
    was_solved = time.perf_counter()
    if options.output is not None:
        forest.save(options.output, coordinates=places)
    was_written = time.perf_counter()
    return forest, {
        "read": was_read - started,
        "solve": was_solved - was_read,
        "write": was_written - was_solved,
    }


@contextlib.contextmanager
def _within(memory: str | None) -> Iterator[int | None]:
    """Yield what is left of a bound on the memory of this process."""
    if memory is None:
        yield None
        return
    bound, held = parse_bytes(memory), _rss_bytes()
    try:
        yield max(1, bound - held)
    except MemoryBoundError as error:
        message = f"--memory {memory} is not enough: at least {show_bytes(error.needed + held)} is"
        raise OptionError(f"{message} needed ({error})") from error


@contextlib.contextmanager
def _cluster(options: argparse.Namespace) -> Iterator[Any]:
    """Yield the scheduler to use, and have it report on itself if that was asked for."""
    if options.performance_report is None:
        yield options.scheduler
        return
    if "://" not in options.scheduler:
        message = "--performance-report needs the address of a cluster's scheduler"
        raise OptionError(message)
    from .pipeline.dask_scheduler import reporting_client

    with reporting_client(options.scheduler, options.performance_report) as client:
        yield client


def _verify(options: argparse.Namespace) -> int:
    """Return 0 if the forest is right, 1 after one line ``wrong: ...`` if it is not."""
    started = time.perf_counter()
    try:
        with heard_by(not options.quiet):
            graph = open_files(options.inputs, format=options.format, weight=options.weight)
            was_read = time.perf_counter()
            found = verify(graph, options.forest, maximum=options.maximum)
    except VerificationError as error:
        if options.json:
            print(json.dumps({"right": False, "problem": str(error)}))
        print(f"wrong: {options.forest}: {error}", file=sys.stderr)
        return 1
    seconds = {"read": was_read - started, "verify": time.perf_counter() - was_read}
    facts = {
        "right": True,
        "vertices": found.num_vertices,
        "edges": found.num_edges,
        "components": found.num_components,
        "forest_edges": found.num_forest_edges,
        "compared": list(found.compared),
        "seconds": {step: round(spent, 6) for step, spent in seconds.items()},
        "peak_rss_bytes": _peak_rss_bytes(),
    }
    if options.json:
        print(json.dumps(facts))
    elif not options.quiet:
        which = "maximum" if options.maximum else "minimum"
        forest = f"right: edge for edge the {which} spanning forest"
        compared = {"compared": ", ".join(("edge ids", *found.compared))}
        _print_lines({"forest": forest, **_counts(facts), **compared, **_costs(facts)})
    return 0


def _facts(forest: Forest, seconds: dict[str, float]) -> dict[str, Any]:
    total = forest.total_weight
    return {
        "vertices": forest.num_vertices,
        "edges": forest.graph.num_edges,
        "components": forest.num_components,
        "forest_edges": len(forest.edge_ids),
        "total_weight": total if math.isfinite(total) else None,
        "algorithm": forest.algorithm,
        "backend": forest.backend,
        "scheduler": forest.scheduler,
        "strategy": forest.strategy,
        "partitions": forest.partitions,
        "seconds": {step: round(spent, 6) for step, spent in seconds.items()},
        "peak_rss_bytes": _peak_rss_bytes(),
    }


def _rss_bytes() -> int:
    """Return the resident memory of this process; on systems that do not tell, its peak."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return _peak_rss_bytes()


def _peak_rss_bytes() -> int:
    """Return the largest resident memory this process or one of its children has had."""
    unit = 1 if sys.platform == "darwin" else 1024
    ours, theirs = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return unit * max(resource.getrusage(who).ru_maxrss for who in (ours, theirs))


def _print_summary(facts: dict[str, Any], output: str | None) -> None:
    weight = facts["total_weight"]
    parts = f", {facts['partitions']} partitions" if facts["partitions"] > 1 else ""
    lines = {
        **_counts(facts),
        "total weight": "not finite" if weight is None else str(weight),
        "by": f"{facts['algorithm']} on {facts['backend']}, "
        f"{facts['scheduler']} ({facts['strategy']}{parts})",
        **_costs(facts),
    }
    if output is not None:
        lines["written to"] = output
    _print_lines(lines)


def _counts(facts: dict[str, Any]) -> dict[str, str]:
    names = ("vertices", "edges", "components", "forest_edges")
    return {name.replace("_", " "): f"{facts[name]:,}" for name in names}


def _costs(facts: dict[str, Any]) -> dict[str, str]:
    return {
        "seconds": ", ".join(f"{spent:.3g} {step}" for step, spent in facts["seconds"].items()),
        "peak memory": f"{facts['peak_rss_bytes'] / 1e6:,.0f} MB",
    }


def _print_lines(lines: dict[str, str]) -> None:
    for name, value in lines.items():
        print(f"{name:<13} {value}")


def _print_completion(options: argparse.Namespace) -> None:
    try:
        import shtab
    except ImportError as error:
        message = "completion needs the package shtab: mstflow[completion]"
        raise OptionError(message) from error
    parser = _parser()
    for action in _actions(parser):
        if action.metavar in ("INPUT", "OUT", "FOREST", "FILE", "DIR"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, options.shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)


def _list_algorithms(_: argparse.Namespace) -> None:
    width = max(map(len, algorithms()))
    for name in algorithms():
        try:
            summary = algorithm(name).summary
        except OptionError as error:  # a plugin's
            summary = f"({error})"
        print(f"{name:<{width}}  {summary}")


def _info(options: argparse.Namespace) -> None:
    if options.inputs:
        info.run(options)
    else:
        machine.run(options, __version__)


if __name__ == "__main__":
    sys.exit(main())
