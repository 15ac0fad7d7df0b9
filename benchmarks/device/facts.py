"""Facts of the machine, and its first solves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

IMPORT = """
import time
start = time.perf_counter()
import mstflow
print(time.perf_counter() - start)
"""


def rows() -> Iterator[dict[str, Any]]:
    """Yield the time of the import, the device, and the first solves of a small graph on it.

    The first solve of a machine compiles kernels.
    """
    done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True)
    yield {"import_seconds": json.loads(done.stdout), "processors": os.cpu_count()}

    import mstflow
    from mstflow.primitives.cuda import device

    from .gpu import Gpu

    gpu = Gpu()
    yield {"gpu": gpu.about(), "cuda": device.describe_devices()}
    random = np.random.default_rng(0)
    u, v = random.integers(0, 1000, (2, 5000), dtype=np.int32)
    graph = u, v, random.random(5000, dtype=np.float32)
    expected = mstflow.minimum_spanning_forest(graph, backend="numpy").edge_ids
    for name in ("first", "second"):
        start = time.perf_counter()
        found = mstflow.minimum_spanning_forest(graph, backend="cupy").edge_ids
        seconds = time.perf_counter() - start
        yield {"solve": name, "seconds": seconds, "is_equal": bool(np.array_equal(found, expected))}
