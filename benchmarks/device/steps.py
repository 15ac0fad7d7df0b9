"""The steps of the run on a device, in order of worth, and their sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import checks, equality, kernels, prepare, threads, times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Step(NamedTuple):
    """A step: a function that yields rows, its options, and the share of all time it may take.

    `tiny` replaces options in a rehearsal. A step `beside` runs while the next ones do, until one
    that runs `alone` because it measures time.
    """

    name: str
    about: str
    rows: Callable[..., Iterator[dict[str, Any]]]
    share: float
    options: Mapping[str, Any] = {}
    tiny: Mapping[str, Any] = {}
    is_beside: bool = False
    is_alone: bool = False
    takes_threads: bool = False


LARGE = ["N", "rmat:scale=20", "E", "rmat:scale=22", "L", "rmat:scale=24"]
#: Each array is allocated on its own, so that the sanitizer knows where it ends.
UNPOOLED = ["--no-pool", "--examples", "5"]
TINY_TESTS = "cupy and gather and small"

STEPS = (
    Step("facts", "the machine, the import, and first solves", prepare.facts, 0.1),
    Step(
        "prepare",
        "graphs of later steps, and compiled kernels",
        prepare.everything,
        0.5,
        {"graphs": [*LARGE, *equality.STREAMED, "rmat:scale=16", "G", "R", "D"]},
        {"graphs": ["tiny"], "files": ["select"]},
        is_beside=True,
    ),
    Step(
        "equality",
        "edge ids beside NumPy: families, dtypes of weights and ids, algorithms",
        equality.rows,
        0.25,
        tiny={"graphs": ["tiny"], "weights": ["i4"], "files": [], "streamed": ["tiny"]},
        is_beside=True,
    ),
    Step(
        "primitives",
        "each primitive beside its definition",
        checks.rows,
        0.2,
        {"options": ["-n", "8", "--examples", "20"]},
        {"options": ["--examples", "1"], "words": TINY_TESTS},
        is_beside=True,
    ),
    Step(
        "launches",
        "launches by CuPy and by cuda.core",
        kernels.launches,
        0.04,
        tiny={"count": 10},
        is_alone=True,
    ),
    Step(
        "times",
        "solves beside compiled kernels and NumPy",
        times.solves,
        0.35,
        {"graphs": LARGE},
        {"graphs": ["tiny"], "seconds": 0.01},
        is_alone=True,
        takes_threads=True,
    ),
    Step(
        "kernels",
        "time and traffic of each kernel of a solve",
        kernels.profile,
        0.1,
        {"graphs": ["N", "rmat:scale=16", "rmat:scale=22"]},
        {"graphs": ["tiny"]},
        is_alone=True,
    ),
    Step(
        "limits",
        "sizes from which a GPU and a filter pay, and sizes of blocks",
        times.limits,
        0.12,
        tiny={"sizes": [1000], "graphs": ["tiny"], "small": [100], "stream": "tiny"},
        is_alone=True,
        takes_threads=True,
    ),
    Step(
        "threads",
        "solves by number of threads",
        threads.solves,
        0.25,
        tiny={"graphs": ["tiny"], "disk": ["tiny"], "seconds": 0.01},
        is_alone=True,
        takes_threads=True,
    ),
    Step(
        "workers",
        "two scans by number of Dask's workers",
        threads.clusters,
        0.12,
        {"graph": "D"},
        {"graph": "tiny"},
        is_alone=True,
        takes_threads=True,
    ),
    *(
        Step(
            tool,
            f"the tests of primitives under compute-sanitizer's {tool}, for as long as is left",
            checks.rows,
            1.0,
            {"command": ["compute-sanitizer", "--tool", tool], "options": UNPOOLED},
            {"words": TINY_TESTS},
            is_beside=True,
        )
        for tool in ("memcheck", "initcheck", "racecheck")
    ),
)
