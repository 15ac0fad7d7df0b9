"""The request of a caller: an algorithm, a graph's reading options, and the options of the run."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from ..graphs.reading import Reading
from ..progress import Listener
from ..runtime.sizes import sizes
from .dataflow import Dataflow
from .options import check_count, check_flag, parse_bytes


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of a run; see `mstflow.minimum_spanning_forest` for the options.

    A plan chooses among `pipeline`, `on_numpy` and `few`, which find the same forest.
    """

    pipeline: Dataflow
    #: Whether the caller defined the pipeline: it may not find the minimum forest.
    is_custom: bool = False
    #: Replaces `pipeline` on NumPy if the edges are in memory.
    on_numpy: Dataflow | None = None
    #: Replaces `on_numpy` for few edges; see `Sizes.few`.
    few: Dataflow | None = None
    reading: Reading = field(default_factory=Reading)
    maximum: bool = False
    backend: Any = "auto"
    threads: int | None = None
    scheduler: Any = "inline"
    partitions: int | None = None
    strategy: str = "auto"
    split_every: int = 4
    memory: int | str | None = None
    checkpoint: str | os.PathLike[str] | None = None
    progress: bool | Listener = True
    #: The bound on memory in bytes.
    bound: int | None = field(init=False)

    def __post_init__(self) -> None:
        check_flag("maximum", self.maximum)
        object.__setattr__(self, "maximum", bool(self.maximum))
        check_count("threads", self.threads, 1)
        check_count("partitions", self.partitions, 1)
        check_count("split_every", self.split_every, 2, optional=False)
        bound = None if self.memory is None else parse_bytes(self.memory)
        object.__setattr__(self, "bound", bound)

    @property
    def streams(self) -> bool:
        """Whether the run streams files, instead of loading them."""
        return is_streamed(self.strategy, self.scheduler, self.memory)

    @property
    def is_default(self) -> bool:
        """Whether the caller chose no pipeline."""
        return self.on_numpy is not None

    def in_memory(self, backend: str, num_edges: int) -> Dataflow:
        """Return the pipeline for this number of edges in memory."""
        if backend != "numpy" or not self.on_numpy:
            return self.pipeline
        return self.few if self.few and num_edges <= sizes().few else self.on_numpy

    @property
    def gives_fields(self) -> bool:
        """Whether the caller requests fields other than the forest."""
        return self.pipeline.result != ("forest",)

    @property
    def finds_forest(self) -> bool:
        """Whether the run finds the minimum forest and nothing else."""
        return not (self.is_custom or self.gives_fields)


def is_streamed(strategy: str, scheduler: Any, memory: int | str | None) -> bool:
    """Return whether a run with these options streams files, instead of loading them."""
    is_whole = strategy in ("auto", "whole") and scheduler == "inline"
    return memory is not None or not is_whole
