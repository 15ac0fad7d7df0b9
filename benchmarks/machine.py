"""The machine of a measurement: its description, versions of packages, and use of processors."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
    "cupy-cuda12x",
    "cupy-cuda13x",
)


def about() -> dict[str, Any]:
    """Describe the processor, the memory and the operating system.

    Returns
    -------
    dict
        `cores` is the number that the system reports; a virtual machine may report one for each
        thread. `parallel_arithmetic` is measured: the speed of arithmetic on all processors in
        parallel, divided by the speed on one. It is near 1 if two processors are threads of a core.
    """
    processors = sorted(os.sched_getaffinity(0))
    topology = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    siblings = {_text(topology.format(number)) or str(number) for number in processors}
    return {
        "cpu": _field("/proc/cpuinfo", "model name"),
        "cpu_family": _field("/proc/cpuinfo", "cpu family"),
        "cpu_model": _field("/proc/cpuinfo", "model"),
        "processors": len(processors),
        "cores": len(siblings),
        "parallel_arithmetic": round(_hash_rate(len(processors)) / _hash_rate(1), 2),
        "memory_gb": round(int(_field("/proc/meminfo", "MemTotal").split()[0]) / 1e6, 1),
        "system": f"{_system()}, {platform.machine()}",
    }


def folder_name() -> str:
    """Return the default name of the folder of this machine's records."""
    names = (_field("/proc/cpuinfo", name) for name in ("model name", "cpu family", "model"))
    words = re.findall(r"[a-z0-9.]+", "-".join(names).lower().replace("(r)", ""))
    return "-".join([*words, f"{len(os.sched_getaffinity(0))}p"])


def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages that are measured or used."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


@contextmanager
def pinned(threads: int | None) -> Iterator[None]:
    """Restrict this thread, and the threads and processes it starts, to the first processors."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(processors)[:threads])
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)


def with_bytecode() -> dict[str, str]:
    """Return the environment without the variable that prevents Python from storing bytecode."""
    return {name: os.environ[name] for name in os.environ if name != "PYTHONDONTWRITEBYTECODE"}


class OtherPrograms:
    """Measures how many processors other programs keep busy, from its creation on.

    `all_programs` returns the processor seconds of all programs so far.
    """

    def __init__(self, all_programs: Callable[[], float] | None = None) -> None:
        self._all = all_programs or processor_seconds
        self._start, self._before = time.monotonic(), self._all() - used_here()

    def busy(self) -> float:
        """Return the mean number of processors that other programs have used."""
        worked = self._all() - used_here() - self._before
        return round(max(worked / (time.monotonic() - self._start), 0.0), 2)


def processor_seconds() -> float:
    """Return the seconds that all processors have been busy since the machine started."""
    ticks = [int(text) for text in Path("/proc/stat").read_text().split()[1:9]]
    idle, waiting = ticks[3:5]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")


def used_here() -> float:
    """Return the processor time of this process and of its finished children."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


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


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def _field(path: str, name: str) -> str:
    """Return the first value of a name in a file of lines `name: value`."""
    pairs = (line.partition(":") for line in _text(path).splitlines())
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "0")


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
