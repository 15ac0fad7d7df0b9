"""The host: its processors, memory and cache folder, sizes as text, and defaults of modules."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

#: The files in which Linux states its free memory in kB, and whether mappings are limited.
_MEMINFO = Path("/proc/meminfo")
_OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")


class Resources(Protocol):
    """The part of an `ArrayModule` that describes its threads and its memory.

    The defaults are those of the host.
    """

    #: The maximal number of threads that share a call.
    threads: int

    def device_memory(self, enough: int = sys.maxsize) -> int | None:
        """Return the size in bytes of the largest array on the device; None for the host.

        If it is at least `enough` without the idle memory of a pool, idle memory does not count:
        the pool would have to return it, and allocate it again.
        """
        return None

    def beside(self) -> contextlib.AbstractContextManager[Any]:
        """Return a context in which another thread computes on the same device.

        Work queued before entry runs first; work queued after exit runs last. On the host, where
        nothing is queued, the context does nothing.
        """
        return contextlib.nullcontext()


def available_bytes(root: Path = Path("/")) -> int | None:
    """Return the number of bytes that this process can allocate; None if it is unknown.

    Memory is available if it is free or if the system can free it without swapping. The settings
    of control groups are read below `root`.
    """
    limits = [memory_limit(root)]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    if resource is not None:
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits += [limit] if limit != resource.RLIM_INFINITY else []
    if stated := re.search(r"MemAvailable: *(\d+)", _text(_MEMINFO)):
        limits.append(1024 * int(stated[1]))
    least = min(limits)
    return least if least < sys.maxsize else None


def addresses_are_limited() -> bool:
    """Return whether mapped memory counts against a limit even if it was never written to."""
    if _text(_OVERCOMMIT).strip() == "2":
        return True
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA) if resource is not None else ()
    return any(resource.getrlimit(kind)[0] != resource.RLIM_INFINITY for kind in kinds)


def processors(root: Path = Path("/")) -> int:
    """Return the number of processors that this process may use.

    The settings of control groups are read below `root`.
    """
    has_affinity = hasattr(os, "sched_getaffinity")
    count = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return min(count, _processor_quota(root))


@functools.cache
def _processor_quota(root: Path = Path("/")) -> int:
    """Return the processors whose time a container may use, rounded up; large without a quota."""
    quotas = [sys.maxsize]
    for text in _settings(root, "cpu", "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"):
        words = text.split()
        if len(words) == 2 and words[0].isdigit():  # without a quota, "max" or -1
            quotas.append(max(1, -(-int(words[0]) // int(words[1]))))
    return min(quotas)


def memory_limit(root: Path = Path("/")) -> int:
    """Return the bytes of memory that a container may use; large without a limit."""
    limits = _settings(root, "memory", "memory.max", "memory.limit_in_bytes")
    return min((int(text) for text in limits if text.isdigit()), default=sys.maxsize)


def _settings(root: Path, controller: str, v2: str, *v1: str) -> Iterator[str]:
    """Yield a setting of this process's control group and of each group above it.

    `v2` is the name of its file in cgroup v2, and `v1` the names of its files in cgroup v1.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        is_v1 = controller in controllers.split(",")
        folder = root / "sys/fs/cgroup" / (controller if is_v1 else "") / group.lstrip("/")
        for place in (folder, *folder.parents):
            yield " ".join(_text(place / name).strip() for name in (v1 if is_v1 else (v2,)))


def _text(path: Path) -> str:
    """Return the content of a file of the system; empty if it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""


def private_cache_folder(name: str) -> Path | None:
    """Return a folder of mstflow in the user's cache folder; None if there can be none.

    It must belong to this user, and no other user may write to it, because this process runs the
    code in it.
    """
    import platformdirs

    folder = platformdirs.user_cache_path("mstflow", appauthor=False) / name
    if not folder.is_absolute():  # without a home
        return None
    with contextlib.suppress(OSError):
        folder.mkdir(0o700, parents=True, exist_ok=True)
        status = folder.stat()
        is_private = os.name != "posix" or (
            status.st_uid == os.geteuid() and not status.st_mode & 0o022
        )
        return folder if is_private else None
    return None


def show_bytes(count: float, rounded: Callable[[float], int] = math.ceil) -> str:
    """Format a number of bytes, rounded up."""
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if count >= unit:
            return f"{rounded(count * 100 / unit) / 100:g} {name}"
    return f"{count:g} bytes"


def printable(text: str) -> str:
    """Replace characters that control a terminal by escapes; keep line breaks."""
    return "".join(
        each if each.isprintable() or each == "\n" else ascii(each)[1:-1] for each in text
    )
