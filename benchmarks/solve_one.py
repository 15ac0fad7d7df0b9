"""Solves one graph with one code in this process, and prints what that took as a line of JSON.

Usage: MST_THREADS=T [MST_TOUCH=BYTES] python solve_one.py CODE FOLDER
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import codes
import numpy as np

import graphs
from mstflow.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def memory(field: str) -> int:
    """Return bytes of `VmRSS` (resident now) or `VmHWM` (its peak) of this process."""
    status = Path("/proc/self/status").read_text()
    return int(status.split(field + ":")[1].split()[0]) * 1024


def checksum(ids: NDArray[np.int64]) -> str:
    """Return what equal edge ids have in common, and others all but never."""
    return hashlib.blake2b(ids.astype("<i8").tobytes(), digest_size=8).hexdigest()


def main(code: str, folder: str, warm_up: str = "") -> None:
    """Measure; with mstflow perhaps once more, after another warm-up."""
    threads = int(os.environ.get("MST_THREADS", "1"))
    graph = graphs.load(Path(folder))
    try:
        prepared = codes.prepare(code, graph, threads, warm_up)
    except (OptionError, ModuleNotFoundError) as error:
        missing = isinstance(error, ModuleNotFoundError)
        print(json.dumps({"error": f"{error.name} is not installed" if missing else str(error)}))
        return
    # Imports and kernels take so long that what the runner touched is the host's again: see there.
    np.ones(int(os.environ.get("MST_TOUCH", "0")), np.uint8)
    with suppress(OSError):  # else the peak may be that of loading
        Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    start, worked = time.perf_counter(), time.process_time()
    result = prepared.solve()
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    peak = memory("VmHWM") - before
    answer = prepared.answer(result)
    if answer.solver != prepared.solver and not warm_up:
        # What is chosen for small graphs was warmed up, and this graph is not one of them.
        again = [sys.executable, __file__, code, folder, answer.solver]
        os.execv(sys.executable, again)
    facts = {
        "seconds": seconds,
        "processor_seconds": worked,
        "peak": peak,
        "edges": answer.edges,
        "weight": answer.weight,
        "solver": answer.solver,
        "checksum": None if answer.ids is None else checksum(answer.ids),
    }
    print(json.dumps({name: fact for name, fact in facts.items() if fact not in ("", None)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
