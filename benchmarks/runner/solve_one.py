"""Solve one graph with one code in this process; print time, memory and answer as a line of JSON.

Usage: MST_THREADS=T python -m benchmarks.runner.solve_one CODE FOLDER [on-disk]
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mstflow.errors import MstflowError

from . import codes

#: A shorter solve is repeated, because a single one mostly measures cold caches.
SHORT_SECONDS = 0.02
REPEATS = 20
#: More memory than any code uses in addition to its input, except on the largest graphs.
TOUCHED_BYTES = 2**30


def main(code: str, folder: str, on_disk: str = "") -> None:
    """Print the measurement or the error."""
    threads = int(os.environ.get("MST_THREADS", "1"))
    try:
        prepared = codes.prepare(code, Path(folder), threads, bool(on_disk))
        if not on_disk:  # otherwise the runner samples the memory of this process
            touch_memory()
        facts = measure(prepared)
    except ModuleNotFoundError as error:
        facts = {"error": f"{error.name} is not installed"}
    except MstflowError as error:
        facts = {"error": str(error)}
    print(json.dumps(facts))


def touch_memory(size: int = TOUCHED_BYTES) -> None:
    """Write to memory and free it.

    A virtual machine may give freed memory back to its host, and the first write to a page that the
    host must provide takes much longer.
    """
    np.ones(size, np.uint8)


def measure(prepared: codes.Prepared) -> dict[str, Any]:
    """Solve once, or several times if one solve is short; `seconds` is the median."""
    with suppress(OSError):  # resets the peak, which may be that of loading
        Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    seconds, forest = _timed(prepared.solve)
    peak = memory("VmHWM") - before
    answer = prepared.answer(forest)
    if seconds < SHORT_SECONDS:
        seconds = statistics.median(_timed(prepared.solve)[0] for _ in range(REPEATS))
    facts = {
        "seconds": seconds,
        "peak": peak,
        "edges": answer.edges,
        "weight": answer.weight,
        "checksum": None if answer.ids is None else checksum(answer.ids),
        "solver": answer.solver or None,
        "stages": answer.stages,
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def _timed(solve: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    forest = solve()
    return time.perf_counter() - start, forest


def memory(field: str) -> int:
    """Return bytes of `VmRSS` (resident now) or `VmHWM` (its peak) of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(field + ":")[1].split()[0]) * 1024


def checksum(ids: NDArray[np.int64]) -> str:
    """Return a short digest of edge ids."""
    return hashlib.blake2b(ids.astype("<i8").tobytes(), digest_size=8).hexdigest()


if __name__ == "__main__":
    main(*sys.argv[1:])
