"""What the machine is, and how many of its processors a measurement may use."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = ("mstflow", "numpy", "numba", "scipy", "igraph", "rustworkx", "networkit", "networkx")

#: Processors that other programs may use in a measurement that is worth keeping.
DISTURBED = 0.15
GLANCE = 0.2  # seconds


def about() -> dict[str, Any]:
    """Tell the processor, the memory, and the versions of what is installed."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _first("/proc/cpuinfo", "model name"),
        "processors": len(os.sched_getaffinity(0)),
        "memory": _first("/proc/meminfo", "MemTotal"),
        "python": platform.python_version(),
        "packages": dict(_versions()),
    }


@contextmanager
def pinned(threads: int) -> Iterator[None]:
    """Use the first so many processors only, in this thread and all that it starts meanwhile."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(processors)[:threads])
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)


def worked() -> float:
    """Return how many seconds the processors have worked since they started, for all programs."""
    ticks = [int(text) for text in Path("/proc/stat").read_text().split()[1:9]]
    idle, waiting = ticks[3:5]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")


def wait_for_pause(seconds: float) -> None:
    """Return when other programs rest, or after so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        before = worked()
        time.sleep(GLANCE)
        if worked() - before <= DISTURBED * GLANCE:
            return


def _first(path: str, name: str) -> str:
    """Return the first value called `name` in a file of `name: value` lines."""
    lines = Path(path).read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "?")


def _versions() -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        try:
            yield package, importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            yield package, "not installed"
