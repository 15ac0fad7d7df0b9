"""The record of a plan, which reports keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Estimate(NamedTuple):
    """The estimated cost of a run that scans a graph.

    Attributes
    ----------
    scans : int
    read, sent : int
        Total bytes read from disks, and sent between workers.
    seconds : float
    """

    scans: int
    read: int
    sent: int
    seconds: float


@dataclass(frozen=True)
class Plan:
    """The decisions about a run.

    Attributes
    ----------
    strategy, algorithm, backend, scheduler : str
    partitions : int
    capacity : int
        Number of edges that a task holds.
    holds_forests : bool
        Whether each partition is reduced to its forest before rounds run over them.
    num_light : int
        Number of light edges that the first of two scans takes; 0 for no limit.
    reason : str
        Why this strategy was chosen.
    memory, least_memory : int or None
        Bytes that this plan needs, and the least bytes that any plan with this strategy needs. On
        a cluster they are for each task, otherwise for all tasks that run at once. None if the
        strategy holds the whole graph.
    estimate : Estimate or None
        Cost of a strategy that reads the graph in scans.
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
