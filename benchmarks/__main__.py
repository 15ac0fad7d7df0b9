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

from . import codes, graphs, machine, records, suite, tables
from .device import run as device_run
from .device.steps import STEPS
from .measure import Benchmark


def main(
    arguments: Sequence[str] | None = None,
    root: Path = graphs.ROOT,
    benchmarks: Mapping[str, Benchmark] = suite.SUITE,
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
    """Compare codes and print the times and ratios."""
    external, versions = _externals(options.external)
    for code in options.codes:
        codes.name_of(code)
    processors = len(os.sched_getaffinity(0))
    if not 1 <= min(options.threads) <= max(options.threads) <= processors:
        message = f"--threads must be 1 to {processors}, the number of processors"
        raise OptionError(message)
    names = ("graphs", "codes", "threads", "rounds", "budget", "limit")
    compared = {name: getattr(options, name) for name in names}
    others = machine.others()
    rows = list(codes.compare(**compared, external=external))
    record = records.make("run", compared, rows, others(), versions)
    print(tables.markdown(codes.RATIOS, record))
    for row in rows:
        for error in row.get("error", ()):
            print(f"{row['graph']} {row['code']}: {error}")
    return 0


def record(options: argparse.Namespace) -> int:
    """Measure benchmarks that have no record yet, or those that are named; write each record."""
    folder = options.root / records.RESULTS / options.machine
    for name, benchmark in suite.named(options.names, options.benchmarks).items():
        if not options.names and not options.tiny and (folder / f"{name}.json").exists():
            print(f"{name}: is recorded")
            continue
        sizes = {**benchmark.options, **(benchmark.tiny if options.tiny else {})}
        start, others = time.monotonic(), machine.others()
        rows = list(benchmark.rows(**sizes))
        if not options.tiny:
            records.write(records.make(name, sizes, rows, others()), folder)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    return 0


def device(options: argparse.Namespace) -> int:
    """Test and measure a GPU and many threads in one run; write a record after each step."""
    others = machine.others()
    sizes = {"seconds": options.seconds, "tiny": options.tiny}
    finished = device_run.measure(options.out, options.seconds, options.steps, is_tiny=options.tiny)
    for rows in finished:
        record = records.make("device", sizes, rows, others(), commit=options.commit)
        records.write(record, options.out)
    return 0


def write_tables(options: argparse.Namespace) -> int:
    """Write all tables on pages; with `--check`, return 1 if one differs from its record."""

    def record_of(benchmark: str, where: str) -> Any:
        path = options.root / records.RESULTS / where / f"{benchmark}.json"
        return records.read(path) if path.exists() else None

    is_different = False
    for page in tables.all_pages(options.root):
        text = tables.written(page, suite.TABLES, record_of)
        if text != page.read_text():
            is_different = True
            print(page.relative_to(options.root))
            if not options.check:
                page.write_text(text)
    return int(options.check and is_different)


def show_list(options: argparse.Namespace) -> int:
    """Print the named graphs, the benchmarks and the steps of `device`."""
    graphs_of = {name: f"{about}: {spec}" for name, (about, spec) in graphs.GRAPHS.items()}
    benchmarks = {name: benchmark.about for name, benchmark in options.benchmarks.items()}
    steps = {step.name: step.about for step in STEPS}
    listed = {"graphs": graphs_of, "benchmarks": benchmarks, "steps of `device`": steps}
    for title, lines in listed.items():
        print(title, *(f"  {name:20} {about}" for name, about in lines.items()), sep="\n")
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
    add(
        "--external",
        action="append",
        default=[],
        metavar="NAME@VERSION=COMMAND",
        help="another program, run as COMMAND FOLDER with MST_THREADS set; its last line must be "
        '{"seconds": S}, with "found", "weight" and "peak" if they are known',
    )
    add = command("record", record)
    add("names", nargs="*", metavar="NAME", help="see `list`")
    add("--tiny", action="store_true", help="try the benchmarks on tiny graphs; write no record")
    add("--machine", default=machine.folder_name(), help="folder of records; default: %(default)s")
    add = command("device", device)
    add("--seconds", type=float, default=480, metavar="S", help="default: %(default)s")
    add("--out", type=Path, required=True, metavar="FOLDER", help="for the record, rows and logs")
    add("--steps", nargs="+", default=[], metavar="NAME", help="run only these; see `list`")
    add("--commit", default="", help="commit of the code, without a git repository")
    add("--tiny", action="store_true", help="rehearse with the smallest sizes")
    add = command("tables", write_tables)
    add("--check", action="store_true", help="change nothing; exit code 1 if a table differs")
    command("list", show_list)
    return parser


def _externals(texts: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split `NAME@VERSION=COMMAND` into the commands and the versions, by name."""
    commands, versions = {}, {}
    for text in texts:
        named, _, command = text.partition("=")
        name, _, version = named.partition("@")
        if not (name and version and command) or name in commands:
            message = (
                f"expected --external NAME@VERSION=COMMAND with a new name, got {text!r}; "
                "VERSION is the commit or release that was built"
            )
            raise OptionError(message)
        commands[name], versions[name] = command, version
    return commands, versions


if __name__ == "__main__":
    sys.exit(main())
