"""The machine of a measurement: description, versions of packages, use by other programs."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from .measure import processor_seconds

PACKAGES = (
    "numpy",
    "numba",
    "llvmlite",
    "dask",
    "scipy",
    "igraph",
    "networkx",
    "pandas",
    "pyarrow",
)


def about() -> dict[str, Any]:
    """Describe the processor, the memory and the operating system.

    `parallel_arithmetic` is measured: the speed of arithmetic on all processors in parallel,
    divided by the speed on one. It is near 1 if two processors are threads of a core.
    """
    processors = len(os.sched_getaffinity(0))
    return {
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cpu_family": _field("/proc/cpuinfo", "cpu family"),
        "cpu_model": _field("/proc/cpuinfo", "model"),
        "processors": processors,
        "parallel_arithmetic": round(_hash_rate(processors) / _hash_rate(1), 2),
        "memory_gb": round(int(_field("/proc/meminfo", "MemTotal").split()[0]) / 1e6, 1),
        "system": platform.platform(),
    }


def folder_name() -> str:
    """Return the default name of the folder of this machine's records."""
    names = (_field("/proc/cpuinfo", name) for name in ("model name", "cpu family", "model"))
    words = re.findall(r"[a-z0-9.]+", "-".join(names).lower().replace("(r)", ""))
    return "-".join([*words, f"{len(os.sched_getaffinity(0))}p"])


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that are measured or used."""
    installed = {"python": platform.python_version()}
    for package in (*PACKAGES, "cupy-cuda12x", "cupy-cuda13x"):
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed


def others() -> Callable[[], float]:
    """Return a function that returns how many processors other programs have kept busy since."""
    start, before = time.monotonic(), _used_by_others()
    return lambda: round(max((_used_by_others() - before) / (time.monotonic() - start), 0), 2)


def _used_by_others() -> float:
    """Return the processor seconds of all programs except this one and its finished children."""
    import psutil

    times = psutil.cpu_times()
    busy = times.user + times.system + times.nice + times.irq + times.softirq + times.steal
    return float(busy - processor_seconds())


def _hash_rate(threads: int) -> float:
    """Return the number of blocks that threads hash in a second: arithmetic, without memory."""
    block = bytes(2**20)  # hashlib releases the GIL

    def hash_blocks(_: int) -> int:
        end, count = time.perf_counter() + 0.1, 0
        while time.perf_counter() < end:
            hashlib.sha512(block)
            count += 1
        return count

    with ThreadPoolExecutor(threads) as pool:
        start = time.perf_counter()
        return sum(pool.map(hash_blocks, range(threads))) / (time.perf_counter() - start)


def _field(path: str, name: str) -> str:
    """Return the first value of a name in a file of lines `name: value`."""
    pairs = (line.partition(":") for line in Path(path).read_text().splitlines())
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "0")
