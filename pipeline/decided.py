"""What is decided before a run, as a record that reports keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Estimate(NamedTuple):
    """What a run by scans takes.

    Attributes
    ----------
    scans : int
    held : int
        Edges that a task will hold.
    read, sent : int
        Bytes from disks and between workers, in all.
    seconds : float
    """

    scans: int
    held: int
    read: int
    sent: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What a run will do.

    Attributes
    ----------
    strategy, algorithm, backend, scheduler : str
    partitions : int
    capacity : int
        How many edges a task holds at a time.
    holds_forests : bool
        Whether each partition is reduced to its forest before rounds run over them.
    num_light : int
        How many edges the first of several scans takes for light; 0 for no limit.
    reason : str
        Why this strategy.
    memory, least_memory : int or None
        Bytes of all tasks that run at once (on a cluster, of each): what they take, and what they
        can do with. None where the strategy holds the whole graph.
    estimate : Estimate or None
        Scans, bytes moved and seconds, for strategies that read a graph in scans.
    """

    strategy: str = "whole"
    partitions: int = 1
    capacity: int = 0
    reason: str = ""
    scheduler: str = "inline"
    holds_forests: bool = False
    num_light: int = 0
    memory: int | None = None
    least_memory: int | None = None
    estimate: Estimate | None = None
    algorithm: str = ""
    backend: str = ""

    def __str__(self) -> str:
        where = "" if self.scheduler == "inline" else f", on {self.scheduler}"
        return f"{self.strategy}: {self.reason}{where}" if self.reason else self.strategy
