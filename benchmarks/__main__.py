"""The commands of `python -m benchmarks`, which run in the repository's root."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mstflow.errors import MstflowError, OptionError

from . import graphs, machine, pages, records, suite, tables
from .device import run as device_run
from .device.steps import STEPS
from .runner import codes, figures, turns


def main(
    arguments: Sequence[str] | None = None,
    root: Path = records.ROOT,
    benchmarks: Mapping[str, suite.Benchmark] = suite.SUITE,
) -> int:
    """Run a command on the records and pages below `root`, and return its exit code."""
    parser = _parser()
    parser.set_defaults(root=root, benchmarks=benchmarks)
    options = parser.parse_args(arguments)
    try:
        return int(options.command(options))
    except MstflowError as error:
        parser.error(str(error))


def run(options: argparse.Namespace) -> int:
    """Compare codes and print the ratios."""
    external, versions = turns.externals(options.external)
    for code in options.codes:
        codes.name_of(code)
    _check_threads(options.threads)
    compared = {
        "graphs": options.graphs,
        "codes": options.codes,
        "threads": options.threads,
        "rounds": options.rounds,
        "budget": options.budget,
        "limit": options.limit,
        "on_disk": options.on_disk,
    }
    others = machine.OtherPrograms()
    result = turns.compare(**compared, external=external)
    measured = suite.STREAM if options.on_disk else suite.SOLVE
    record = records.make("run", compared, measured, result, others.busy(), versions)
    _print(tables.ratios(result))
    for row in figures.figures(result):
        for problem in row.problems:
            print(f"{row.graph} {row.code}: {problem}")
    print(tables.origin(record))
    return 0


def record(options: argparse.Namespace) -> int:
    """Measure the benchmarks whose records are stale or missing; write each record at once."""
    external, versions = turns.externals(options.external)
    if external and len(options.names) != 1:
        message = "--external needs the name of one benchmark, such as authors"
        raise OptionError(message)
    folder = Path(options.root, records.RESULTS, options.machine)
    for name, benchmark in suite.named(options.names, options.benchmarks).items():
        path = folder / f"{name}.json"
        if not (options.again or options.tiny) and path.exists():
            reasons = records.reasons(records.read(path), benchmark.options, options.root)
            if not list(reasons):
                print(f"{name}: current")
                continue
        records.check_import(benchmark.measured, options.root)
        sizes = {**benchmark.options, **(benchmark.tiny if options.tiny else {})}
        start, others = time.monotonic(), machine.OtherPrograms()
        result = benchmark.measure(**sizes, **({"external": external} if external else {}))
        if not options.tiny:
            facts = sizes, benchmark.measured, result, others.busy(), versions
            records.write(records.make(name, *facts, root=options.root), folder)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    return 0


def device(options: argparse.Namespace) -> int:
    """Test and measure a GPU and many threads in one run; write a record after each step."""
    _check_threads(options.threads)
    start, others = time.monotonic(), machine.OtherPrograms()
    sizes = {"seconds": options.seconds, "threads": options.threads, "tiny": options.tiny}
    for steps in device_run.measure(
        options.out,
        options.seconds,
        options.threads,
        options.steps,
        is_tiny=options.tiny,
        interprets_gpu=options.interpret_gpu,
    ):
        facts = sizes, suite.DEVICE, {"steps": steps}, others.busy()
        records.write(records.make("device", *facts, commit=options.commit), options.out)
    print(f"device: {time.monotonic() - start:.0f} s; {options.out}", flush=True)
    return 0


def stale(options: argparse.Namespace) -> int:
    """List the records as current or stale, then the tables on pages that quote stale records."""
    for path, reasons in pages.stale_records(options.root):
        state = f"stale: {'; '.join(reasons)}" if reasons else "current"
        print(f"{path.parent.name}/{path.stem}: {state}")
    quotes = list(pages.stale_quotes(options.root))
    for quote, reason in quotes:
        page = quote.page.relative_to(options.root)
        print(f"{page} quotes {quote.table} of {quote.machine}: {reason}")
    return int(bool(quotes))


def write_tables(options: argparse.Namespace) -> int:
    """Write all tables on pages; with `--check`, return 1 if one differs from its record."""
    is_different = False
    for page in pages.all_pages(options.root):
        text = pages.written(page, options.root)
        if text != page.read_text():
            is_different = True
            print(page.relative_to(options.root))
            if not options.check:
                page.write_text(text)
    return int(options.check and is_different)


def show_list(options: argparse.Namespace) -> int:
    """Print the named graphs and the benchmarks."""
    print("graphs")
    for name, (description, spec) in graphs.GRAPHS.items():
        print(f"  {name:5} {description}: {spec}")
    print("benchmarks")
    for name, benchmark in options.benchmarks.items():
        print(f"  {name:24} {benchmark.about}")
    print("steps of `device`")
    for step in STEPS:
        print(f"  {step.name:24} {step.about}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure mstflow.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Any) -> Any:
        about = (function.__doc__ or "").partition("\n")[0]
        added = commands.add_parser(name, help=about, description=about)
        added.set_defaults(command=function)
        return added.add_argument

    add = command("run", run)
    add("--graphs", nargs="+", default=["E"], help="see `list`; or a file, or random:n=1000,m=5000")
    known = ", ".join([*codes.CODES, "mstflow:OPTION=VALUE,..."])
    add("--codes", nargs="+", default=["mstflow"], help=f"{known}; the first is the reference")
    add("--threads", nargs="+", type=int, default=[1], metavar="T")
    add("--rounds", type=int, default=5, metavar="K")
    add("--budget", type=float, metavar="SECONDS", help="of solving, for a code on a graph")
    add("--limit", type=float, metavar="SECONDS", help="for a process, loading included")
    add("--on-disk", action="store_true", help="leave the graphs on disk")
    _add_external(add)
    add = command("record", record)
    add("names", nargs="*", metavar="NAME", help="see `list`; all usual ones if not given")
    add("--again", action="store_true", help="measure current records, too")
    add("--tiny", action="store_true", help="try the benchmarks on tiny graphs; write no record")
    add("--machine", default=machine.folder_name(), help="folder of records; default: %(default)s")
    _add_external(add)
    powers = [2**i for i in range(len(os.sched_getaffinity(0)).bit_length())]
    add = command("device", device)
    add("--seconds", type=float, default=480, metavar="S", help="default: %(default)s")
    add("--out", type=Path, required=True, metavar="FOLDER", help="for the record, rows and log")
    add("--threads", nargs="+", type=int, default=powers, metavar="T", help="default: %(default)s")
    add("--steps", nargs="+", default=[], metavar="NAME", help="run only these; see `list`")
    add("--commit", default="", help="commit of the code, without a git repository")
    add("--tiny", action="store_true", help="rehearse with the smallest sizes")
    add("--interpret-gpu", action="store_true", help="needs mstflow[gpu-test]")
    command("stale", stale)
    add = command("tables", write_tables)
    add("--check", action="store_true", help="change nothing; exit code 1 if a table differs")
    command("list", show_list)
    return parser


def _add_external(add: Any) -> None:
    add(
        "--external",
        action="append",
        default=[],
        metavar="NAME@VERSION=COMMAND",
        help="another program, run as COMMAND FOLDER with MST_THREADS set; its last line must be "
        "'seconds S [edges K] [weight W] [peak BYTES]'",
    )


def _check_threads(threads: Sequence[int]) -> None:
    processors = len(os.sched_getaffinity(0))
    if not 1 <= min(threads) <= max(threads) <= processors:
        message = f"--threads must be 1 to {processors}, the number of processors"
        raise OptionError(message)


def _print(rows: Any) -> None:
    lines = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))


if __name__ == "__main__":
    sys.exit(main())
