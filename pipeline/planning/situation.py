"""The situation of a run: the request, and the facts about its graph, workers and device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..catalogue.strategies import STRATEGIES, Variant, variant
from ..dataflow import Dataflow
from ..request import Request
from ..schedulers.scheduler import Workers
from ..streaming.bounds import ScanMemory, SweepMemory, rounds_bytes, tiles_bytes
from ..streaming.facts import GraphFacts
from .costs import seconds_gained
from .exchange import RankCosts


@dataclass(frozen=True)
class Situation:
    """The request and the facts on which a plan depends."""

    #: Its bound on memory is for all tasks that run at once; on a cluster, for each task.
    request: Request
    graph: GraphFacts
    workers: Workers
    #: The array module for this number of edges.
    backend: str
    #: If tasks compute on a device: its free bytes, and those that the whole graph needs.
    device_memory: int | None = None
    device_bytes: int = 0

    @cached_property
    def requested(self) -> Variant:
        """The strategy that the caller requested, which may be "auto"."""
        name = self.request.strategy
        return Variant(name) if name == "auto" else variant(name)

    @property
    def partitions(self) -> int:
        """The number of partitions, for a strategy that may have several."""
        count = self.request.partitions
        if count is None:
            is_single = self.requested.is_single or self.graph.is_read_once
            count = 1 if is_single else self.graph.num_chunks or self.workers.workers
        return max(1, min(count, self.graph.num_edges))

    @property
    def is_split(self) -> bool:
        """Whether there are several partitions."""
        return self.partitions > 1

    def pipeline(self, strategy: str) -> Dataflow:
        """Return the pipeline that a strategy runs."""
        if STRATEGIES[strategy].streams:
            return self.request.pipeline
        return self.request.in_memory(self.backend, self.graph.num_edges)

    def scans(self, strategy: str = "scan", *, rescans: bool = True) -> ScanMemory:
        """Return the memory of the tasks of a strategy that scans the graph.

        With `rescans`, later scans may take the edges that a scan skips.
        """
        return ScanMemory(
            self.graph,
            strategy,
            rescans,
            self.partitions,
            self.request.split_every,
            self.workers,
            self.backend,
            self.pipeline(strategy).footprint,
            on_device=self.device_bound is not None,
        )

    @property
    def sweep(self) -> SweepMemory:
        """The memory of a sweep."""
        return SweepMemory(self.graph, self.workers)

    @property
    def ranks(self) -> RankCosts:
        """The costs of the strategy "exchange"."""
        process = self.scans().process_bytes
        return RankCosts(self.graph, self.partitions, process)

    @property
    def tiles_memory(self) -> int:
        """The bytes of the strategy "tiles"."""
        return tiles_bytes(self.graph, self.partitions, self.workers)

    @property
    def device_bound(self) -> int | None:
        """Two thirds of the device's free memory, if this is less than the caller's bound.

        On a device, a forest takes up to 1.5 times the memory of the model.
        """
        if self.device_memory is None:
            return None
        bound = self.device_memory * 2 // 3
        return bound if self.request.bound is None or bound < self.request.bound else None

    @property
    def bound_and_prefix(self) -> tuple[int | None, str]:
        """The bound on memory of a caller or a device, and the words that errors put before it."""
        if self.device_bound is not None:
            return self.device_bound, "two thirds of the GPU's free memory: "
        return self.request.bound, "memory="

    @property
    def suits_tiles(self) -> bool:
        """Whether the graph is a grid, and memory and options allow the strategy "tiles"."""
        if self.graph.edges_after_tiles is None or self.request.is_custom:
            return False
        bound = self.workers.default_memory if self.request.bound is None else self.request.bound
        has_room = bound is None or self.tiles_memory <= bound
        return has_room and self.device_memory is None and self.request.checkpoint is None

    @property
    def may_sweep(self) -> bool:
        """Whether "auto" may choose a sweep."""
        is_single = self.workers.eager and not self.is_split
        return self.request.finds_forest and is_single and not self.graph.is_read_once

    def can_hold(self, workers: int) -> bool | None:
        """Return whether rounds over all edges fit in some workers; None if this is not known.

        They may use half of the memory of these workers, and what each worker may use.
        """
        each, most = self.workers.worker_memory, self.workers.max_memory
        if each is None or most is None:
            return None
        is_half = 2 * rounds_bytes(self.graph) <= each * workers
        return is_half and self.scans("iterate", rescans=False).unreduced_memory(workers) <= most

    @property
    def workers_can_hold(self) -> bool | None:
        """Whether rounds over all edges fit in the workers; None if this is not known."""
        return self.can_hold(self.workers.workers)

    @property
    def suits_one_worker(self) -> bool:
        """Whether one worker can hold all edges, and more workers would not be faster."""
        is_free = self.request.is_default and self.request.partitions is None
        gains = seconds_gained(self.graph, self.workers.workers) > 0
        return is_free and bool(self.can_hold(1)) and not gains

    @property
    def can_iterate(self) -> bool:
        """Whether "auto" may choose "iterate", which keeps no checkpoint and no weights.

        The chunks of Dask would be computed again for the weights of the forest.
        """
        return self.request.checkpoint is None and not self.graph.num_chunks

    @property
    def needs_sweep(self) -> bool:
        """Whether the bound is too small for scans, and a sweep needs less memory."""
        if self.request.bound is None or not self.may_sweep:
            return False
        least = self.scans().least_memory
        return self.request.bound < least and self.sweep.least_memory < least

    @property
    def exceeds_device(self) -> bool:
        """Whether the device's memory is too small for the graph."""
        return self.device_memory is not None and self.device_bytes > self.device_memory
