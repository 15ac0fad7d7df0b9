"""The steps of the run on a device, the most important first, their sizes, and their tables.

`python -m benchmarks.device.steps NAME ROWS OPTIONS` runs one step: it writes each row to the file
ROWS as a line of JSON. OPTIONS is a JSON object.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .. import graphs, work
from ..measure import Row
from ..tables import Table, among, milliseconds, peak
from . import checks, gpu, times


class Step(NamedTuple):
    """A step: a function that yields rows, its options, and the share of all time it may take.

    `tiny` replaces options in a rehearsal. Consecutive steps that are `is_concurrent` run at the
    same time. All others run alone, because they measure time.
    """

    name: str
    about: str
    rows: Callable[..., Iterator[Row]]
    share: float
    options: Mapping[str, Any] = {}
    tiny: Mapping[str, Any] = {}
    is_concurrent: bool = False


#: Powers of two, up to the number of processors.
THREADS = [2**power for power in range(len(os.sched_getaffinity(0)).bit_length())]
LARGE = ["N", "rmat:scale=20", "E", "rmat:scale=22", "L", "rmat:scale=24"]
#: Without a pool, the sanitizer knows where each array ends.
UNPOOLED = ["--no-pool", "--examples", "5"]
TINY_TESTS = "cupy and gather and small"
TINY = {"graphs": ["tiny"], "threads": [1, 2], "seconds": 0.01}

STEPS = (
    Step("facts", "the device, and first solves", gpu.facts, 0.1),
    Step(
        "prepare",
        "graphs of later steps",
        graphs.prepare,
        0.5,
        {"graphs": [*reversed(LARGE), "D", "R", "G", "E64", "G64", *checks.STREAMED]},
        {"graphs": ["tiny"]},
        is_concurrent=True,
    ),
    Step(
        "work",
        "solves, also from disk, and primitives by number of threads, with their processor time",
        work.rows,
        0.6,
        {
            **work.OPTIONS,
            "graphs": [*work.OPTIONS["graphs"], "L"],
            "algorithms": [work.DEFAULT, *work.ROUNDS],
            "elements": [2**20, 2**24],
            "threads": THREADS,
            "disk": ["D"],
        },
        {**work.TINY, "disk": ["tiny"]},
    ),
    Step(
        "equality",
        "edge ids, compared with NumPy: families, dtypes of weights and ids, algorithms",
        checks.forests,
        0.25,
        tiny={"graphs": ["tiny"], "weights": ["i4"], "streamed": ["tiny"], "real": ["tiny"]},
        is_concurrent=True,
    ),
    Step(
        "primitives",
        "each primitive, compared with its definition",
        checks.primitives,
        0.2,
        {"options": ["-n", "8", "--examples", "20"]},
        {"options": ["--examples", "1"], "selection": TINY_TESTS},
        is_concurrent=True,
    ),
    Step(
        "times",
        "solves, compared with compiled kernels and NumPy",
        times.solves,
        0.35,
        {"graphs": LARGE, "threads": THREADS},
        TINY,
    ),
    Step(
        "kernels",
        "time and traffic of each kernel of a solve",
        times.kernels,
        0.1,
        {"graphs": ["N", "rmat:scale=16", "rmat:scale=22"]},
        {"graphs": ["tiny"]},
    ),
    Step(
        "limits",
        "sizes from which a GPU and a filter are faster",
        times.limits,
        0.12,
        {"threads": THREADS},
        {**TINY, "sizes": [1000], "small": [100]},
    ),
    *(
        Step(
            tool,
            f"the tests of primitives under compute-sanitizer's {tool}, in the remaining time",
            checks.primitives,
            1.0,
            {"command": ["compute-sanitizer", "--tool", tool], "options": UNPOOLED},
            {"selection": TINY_TESTS},
            is_concurrent=True,
        )
        for tool in checks.TOOLS
    ),
)


def main(name: str, path: str, options: str) -> int:
    """Write the rows of a step to a file. If it fails, write the reason and return 1."""
    if "MSTFLOW_FAKE_DRIVER" in os.environ:  # a test rehearses the run without a GPU
        sys.path.append(str(graphs.ROOT / "tests" / "support"))
        import interpreted_gpu

        interpreted_gpu.install()
    (step,) = (each for each in STEPS if each.name == name)
    with Path(path).open("w", buffering=1) as file:
        try:
            for row in step.rows(**json.loads(options)):
                file.write(json.dumps(row) + "\n")
        except Exception as error:  # of any library
            traceback.print_exc()
            failure = traceback.format_exception_only(error)[-1].strip()
            file.write(json.dumps({"failure": failure}) + "\n")
            return 1
    return 0


def facts(steps: Mapping[str, Any]) -> Iterator[Row]:
    """Yield facts of the device and the outcome of all checks."""
    rows = {name: step["rows"] for name, step in steps.items()}
    merged = {name: fact for row in rows["facts"] for name, fact in row.items()}
    cuda, bus = merged["cuda"], merged["gpu"]["bus_bytes_per_second"]
    (device, *_) = cuda["devices"]
    first = next(row for row in rows["facts"] if row.get("solve") == "first")
    forests = Counter(row["is_equal"] for row in rows.get("equality", ()))
    known = {
        "device": f"{device['name']}, {device['memory_bytes'] / 1e9:.0f} GB",
        "CUDA of the driver, of CuPy, of NVRTC": f"{cuda['driver']}, {cuda['runtime']}, "
        + cuda["nvrtc"],
        "copies from pinned memory": f"{bus / 1e9:.0f} GB/s",
        "first solve of the machine, compiling": f"{first['seconds']:.1f} s",
        "forests equal to NumPy's": f"{forests[True]} of {forests.total()}",
    }
    for name in ("primitives", *checks.TOOLS):
        tests = Counter(row["outcome"] for row in rows.get(name, ()) if "outcome" in row)
        faults = [row["fault"] for row in rows.get(name, ()) if "fault" in row]
        refused = sum("API call" in fault for fault in faults)
        found = f"{len(faults) - refused} findings, {refused} refused calls of the driver"
        known[f"tests: {name}"] = f"{tests['PASSED']} of {tests.total()} passed; {found}"
    yield from ({"fact": name, "value": value} for name, value in known.items())


def _rows(name: str, needed: str = "") -> Callable[[Mapping[str, Any]], Iterable[Row]]:
    """Return a function that selects the rows of a step that have a field."""
    return lambda steps: [row for row in steps[name]["rows"] if not needed or needed in row]


def _kernels(steps: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the rows of kernels that take a thirtieth of the time on some graph."""
    rows, total = steps["kernels"]["rows"], Counter[str]()
    for row in rows:
        total[row["graph"]] += row["nanoseconds"]
    named = [{**row, "kernel": row["kernel"].rpartition("::")[2]} for row in rows]
    return among(named, "kernel", lambda row, _: row["nanoseconds"] / total[row["graph"]], 1 / 30)


def _bandwidth(row: Mapping[str, Any], _: object) -> float:
    return float((row["bytes_read"] + row["bytes_written"]) / row["nanoseconds"])


MS = {"ms": milliseconds()}
#: The tables of a run on a device, by name.
TABLES = {
    "device": Table(("fact", "value"), (), {}, prepared=facts),
    "device-times": Table(
        ("graph", "edges"),
        ("code",),
        {**MS, "bytes per edge": peak("edges")},
        prepared=_rows("times"),
    ),
    "device-kernels": Table(
        ("kernel",),
        ("graph",),
        {
            "launches": lambda row, _: row["launches"],
            "µs": lambda row, _: row["nanoseconds"] / 1e3,
            "GB/s": _bandwidth,
        },
        prepared=_kernels,
    ),
    "device-sizes": Table(("edges",), ("code",), MS, prepared=_rows("limits", "edges")),
    "device-filters": Table(("graph",), ("small",), MS, prepared=_rows("limits", "small")),
    "device-threads": Table(
        ("algorithm", "graph"), ("threads",), MS, prepared=_rows("work", "algorithm")
    ),
}

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
