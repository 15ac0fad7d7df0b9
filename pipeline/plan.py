"""What a run will do and need: strategy, partitions and how many edges are held at a time.

The sizes below are bytes for each edge or vertex at the peak, for indices of `index` bytes and
weights of `weight` bytes. `docs/scale.md` derives them and holds them against measured runs.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ..graphs.source import BLOCK_EDGES

if TYPE_CHECKING:
    from ..graphs.source import EdgeSource
    from .schedulers import Scheduler

#: Strategies by which a graph is streamed, and all of them.
SCANNING = ("fold", "tree", "two-scan")
STRATEGIES = ("auto", "whole", *SCANNING, "iterate")

#: Loaded kernels and what a block takes on its way, for each thread.
_FIXED, _THREAD = 120_000_000, 64 * BLOCK_EDGES
#: Without a bound on memory so many edges are held at least.
_COMFORTABLE = 2**24

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


class MemoryBoundError(OptionError):
    """A bound on memory that is too tight.

    Attributes
    ----------
    needed : int
        Bytes that would do.
    """

    def __init__(self, message: str, needed: int) -> None:
        super().__init__(message)
        self.needed = needed


@dataclass(frozen=True)
class Size:
    """What memory depends on: numbers of vertices and edges, and bytes of an index and a weight."""

    num_vertices: int
    num_edges: int
    weight: int = 4

    @classmethod
    def of(cls, source: EdgeSource) -> Size:
        """Return the size of a source; one that is read once may have any number of edges."""
        num_edges = sys.maxsize if source.num_edges is None else source.num_edges
        return cls(source.num_vertices or 0, num_edges, source.weight_bytes)

    @property
    def index(self) -> int:
        """Bytes of a vertex id."""
        return 4 if self.num_vertices <= 2**31 else 8

    @property
    def held_edge(self) -> int:
        """Bytes of an edge that is held: two ends, weight and id."""
        return 2 * self.index + self.weight + 8

    @property
    def solved_edge(self) -> int:
        """Bytes for each edge while the forest of those held is found: sorted keys, ends in order.

        Kruskal's: key, (key, position) twice, both ends by order.
        """
        return 2 * self.weight + 16

    @property
    def solved_vertex(self) -> int:
        """Bytes for each vertex while a forest is found and ends become fragments: three arrays."""
        return 4 * self.index

    @property
    def kept_vertex(self) -> int:
        """Bytes for each vertex from one scan to the next: its fragment, and an edge id."""
        return self.index + 8

    def memory(self, capacity: int, threads: int, *, several_scans: bool) -> int:
        """Return the bytes that scans take which hold `capacity` edges."""
        fixed = _FIXED + threads * _THREAD
        vertex = self.solved_vertex + (self.kept_vertex if several_scans else 0)
        return fixed + self.num_vertices * vertex + capacity * (self.held_edge + self.solved_edge)

    def capacity(self, memory: int, threads: int, *, several_scans: bool) -> int:
        """Return how many edges can be held in `memory` bytes."""
        left = memory - self.memory(0, threads, several_scans=several_scans)
        return left // (self.held_edge + self.solved_edge)


@dataclass(frozen=True)
class Plan:
    """What a run does.

    Attributes
    ----------
    strategy : str
    partitions : int
    capacity : int
        Edges that a task holds at a time.
    reason : str
        Why, in words.
    """

    strategy: str
    partitions: int
    capacity: int
    reason: str


def is_streamed(strategy: str, scheduler: Any, memory: Any) -> bool:
    """Tell whether files are better left where they are than loaded."""
    return memory is not None or strategy not in ("auto", "whole") or scheduler != "inline"


@dataclass(frozen=True)
class Request:
    """What a caller asked for, of what decides about a plan.

    `memory` is in bytes, for all tasks that run at once; on a cluster, for each. `is_own` says
    whether the pipeline is the caller's: it may find something else than forests.
    """

    strategy: str
    partitions: int | None
    split_every: int
    memory: int | None
    is_own: bool


def choose_plan(request: Request, source: EdgeSource, scheduler: Scheduler, threads: int) -> Plan:
    """Return what follows from a request and a graph, for tasks of so many threads.

    Raises
    ------
    OptionError
        If options contradict each other or the graph.
    MemoryBoundError
        If the bound on memory is too tight. Says what would do.
    """
    strategy, partitions = request.strategy, request.partitions
    if strategy not in STRATEGIES:
        message = f"strategy {strategy!r} is not available; choose from: {', '.join(STRATEGIES)}"
        raise OptionError(message)
    if strategy in ("whole", "fold") and (partitions or 1) > 1:
        message = f"strategy {strategy!r} has one partition, not {partitions}"
        raise OptionError(message)
    if source.is_read_once and (strategy not in ("auto", "fold") or (partitions or 1) > 1):
        message = "a graph that can be read but once can only be folded, in one partition"
        raise OptionError(message)
    partitions = partitions or (1 if strategy in ("whole", "fold") else scheduler.workers)
    reason = "asked for"
    if strategy == "auto":
        strategy, reason = _choose(request, source, partitions)
    if strategy == "fold":
        partitions = 1
    capacity = source.num_edges or 0
    if strategy in SCANNING:
        capacity = _capacity(strategy, partitions, request, Size.of(source), scheduler, threads)
    elif request.memory is not None:
        message = f"strategy {strategy!r} holds all edges; with memory= choose another"
        raise OptionError(message)
    return Plan(strategy, partitions, capacity, reason)


def _choose(request: Request, source: EdgeSource, partitions: int) -> tuple[str, str]:
    if source.is_read_once:
        return "fold", "the graph can be read but once"
    if request.memory is not None:
        return "two-scan", "memory is bounded"
    if request.is_own and partitions > 1:
        return "iterate", "a pipeline of your own may find something else than forests to merge"
    if not source.is_checked:
        return "two-scan", "the graph is streamed"
    if partitions > 1:
        return "tree", "the graph is in memory, in parts"
    return "whole", "the graph is in memory"


def _capacity(
    strategy: str,
    partitions: int,
    request: Request,
    size: Size,
    scheduler: Scheduler,
    threads: int,
) -> int:
    """Return how many edges each task shall hold.

    A forest of n vertices must fit twice, or that of every part it is merged with; where there may
    be several scans, half a forest will do, shared among the parts.
    """
    vertices, several = size.num_vertices, strategy == "two-scan"
    fan, memory = min(request.split_every, partitions), request.memory
    most = -(-size.num_edges // partitions)
    wanted = max(4 * vertices // (partitions if several else 1), _COMFORTABLE)
    least = vertices // (2 * partitions) if several else max(2, fan) * vertices
    least = max(2 * BLOCK_EDGES, min(most, least))
    if memory is None:
        return max(least, min(most, wanted))
    tasks = 1 if scheduler.name == "distributed" else min(scheduler.workers, partitions)
    room = size.capacity(memory // tasks, threads, several_scans=several)
    if fan > 1 and fan * min(room, vertices) > room:  # what is merged must fit as well
        room //= fan if several else 1
    if room < least:
        held = least * fan if several else least
        needed = tasks * size.memory(held, threads, several_scans=several)
        message = (
            f"memory: {show_bytes(memory)} is not enough; strategy {strategy!r} in {partitions} "
            f"parts needs at least {show_bytes(needed)} for {vertices:,} vertices"
        )
        raise MemoryBoundError(message, needed)
    return max(least, min(most, wanted, room))


def parse_bytes(value: int | str) -> int:
    """Return the bytes of a size such as 2000000000 or "2GB" (10^9) or "2GiB" (2^30).

    Raises
    ------
    OptionError
        If it is none.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(value), re.IGNORECASE)
    unit = _UNITS.get(found[2].upper(), 0) if found and not isinstance(value, bool) else 0
    count = int(float(found[1]) * unit) if found else 0
    if count < 1:
        message = f"memory must be a number of bytes or a size like '2GB', not {value!r}"
        raise OptionError(message)
    return count


def show_bytes(count: float) -> str:
    """Return a number of bytes in words, rounded up."""
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if count >= unit:
            return f"{-(-count * 100 // unit) / 100:g} {name}"
    return f"{count:g} bytes"
