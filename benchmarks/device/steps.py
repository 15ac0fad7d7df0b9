"""The steps of the run on a device, the most important first, and their sizes.

`python -m benchmarks.device.steps NAME ROWS OPTIONS` runs one step: it appends each row to the file
ROWS as a line of JSON. OPTIONS is a JSON object. If the environment names the driver that
interprets kernels, CuPy runs on it.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .. import work
from . import checks, equality, kernels, prepare, threads, times
from .gpu import interpreter


class Step(NamedTuple):
    """A step: a function that yields rows, its options, and the share of all time it may take.

    `tiny` replaces options in a rehearsal. Consecutive steps that are `is_concurrent` run at the
    same time. All others run alone, because they measure time.
    """

    name: str
    about: str
    rows: Callable[..., Iterator[dict[str, Any]]]
    share: float
    options: Mapping[str, Any] = {}
    tiny: Mapping[str, Any] = {}
    is_concurrent: bool = False
    takes_threads: bool = False


LARGE = ["N", "rmat:scale=20", "E", "rmat:scale=22", "L", "rmat:scale=24"]
#: Without a pool, the sanitizer knows where each array ends.
UNPOOLED = ["--no-pool", "--examples", "5"]
TINY_TESTS = "cupy and gather and small"

STEPS = (
    Step("facts", "the machine, the import, and first solves", prepare.facts, 0.1),
    Step(
        "prepare",
        "graphs of later steps, and compiled kernels",
        prepare.prepare,
        0.5,
        {"graphs": [*LARGE, *equality.STREAMED, "rmat:scale=16", "E64", "G64", "G", "R", "D"]},
        {"graphs": ["tiny"], "files": ["select"]},
        is_concurrent=True,
    ),
    Step(
        "work",
        "empty calls, solves and primitives by number of threads, with their processor time",
        work.rows,
        0.6,
        {
            "graphs": ["E", "G", "R", "N", "E64", "G64"],
            "algorithms": [work.DEFAULT, *work.ROUNDS],
            "elements": [2**20, 2**24],
        },
        {"graphs": ["tiny"], "algorithms": [work.DEFAULT], "elements": [3000], "rounds": 1},
        takes_threads=True,
    ),
    Step(
        "equality",
        "edge ids, compared with NumPy: families, dtypes of weights and ids, algorithms",
        equality.rows,
        0.25,
        tiny={"graphs": ["tiny"], "weights": ["i4"], "files": [], "streamed": ["tiny"]},
        is_concurrent=True,
    ),
    Step(
        "primitives",
        "each primitive, compared with its definition",
        checks.rows,
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
        {"graphs": LARGE},
        {"graphs": ["tiny"], "seconds": 0.01},
        takes_threads=True,
    ),
    Step(
        "kernels",
        "time and traffic of each kernel of a solve",
        kernels.profile,
        0.1,
        {"graphs": ["N", "rmat:scale=16", "rmat:scale=22"]},
        {"graphs": ["tiny"]},
    ),
    Step(
        "joins",
        "joins in order, by variants of the kernels",
        times.joins,
        0.12,
        {"graphs": ["rmat:scale=16", *LARGE]},
        {"graphs": ["tiny"], "seconds": 0.01},
    ),
    Step(
        "limits",
        "sizes from which a GPU and a filter are faster",
        times.limits,
        0.12,
        tiny={"sizes": [1000], "graphs": ["tiny"], "small": [100]},
        takes_threads=True,
    ),
    Step(
        "threads",
        "solves by number of threads",
        threads.solves,
        0.25,
        tiny={"graphs": ["tiny"], "disk": ["tiny"], "seconds": 0.01},
        takes_threads=True,
    ),
    *(
        Step(
            tool,
            f"the tests of primitives under compute-sanitizer's {tool}, in the remaining time",
            checks.rows,
            1.0,
            {"command": ["compute-sanitizer", "--tool", tool], "options": UNPOOLED},
            {"selection": TINY_TESTS},
            is_concurrent=True,
        )
        for tool in checks.TOOLS
    ),
)


def main(name: str, path: str, options: str) -> int:
    """Append the rows of a step to a file. If it fails, append the reason and return 1."""
    interpreted_gpu = interpreter()
    if interpreted_gpu.VARIABLE in os.environ:
        interpreted_gpu.install()
    (step,) = (each for each in STEPS if each.name == name)
    with Path(path).open("a", buffering=1) as file:
        try:
            for row in step.rows(**json.loads(options)):
                file.write(json.dumps({"step": name, **row}) + "\n")
        except Exception as error:  # of any library
            traceback.print_exc()
            failure = traceback.format_exception_only(error)[-1].strip()
            file.write(json.dumps({"step": name, "failure": failure}) + "\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
