"""The strategies that only read a graph in scans, as dataflows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...stages.edges import count_edges
from ...stages.fields import ANYTHING, Field
from ...stages.fragments import list_forest
from ..check import Known
from ..dataflow import Dataflow
from ..run.loading import IN_PARTITIONS, SHARED, TO_KEYS
from ..steps import Loop
from .scan import (
    choose_limit,
    collect_forest,
    finish_forest,
    hold_forest,
    join_fragments,
    nothing_left_out,
    sample_weights,
    scan_partition,
    start_scans,
)

if TYPE_CHECKING:
    from ..steps import Step

_COUNT = Known(Field("", "count"))
#: What a scan starts from: see `scan.scan_partition`.
_SCANNED = {
    **SHARED,
    "source": IN_PARTITIONS,
    "num_edges": Known(ANYTHING),  # None where only reading can tell
    "solver": Known(ANYTHING),
    "capacity": _COUNT,
    "several_scans": Known(Field("", "verdict")),
    "first_edge": _COUNT,
    "num_light": _COUNT,
    "num_partitions": _COUNT,
}

#: One scan of all partitions; their forests are merged up a tree.
SCAN = (scan_partition, finish_forest, collect_forest)


def _scanning(name: str, *steps: Step, summary: str, **values: None) -> Dataflow:
    return Dataflow(name, (*steps, list_forest), _SCANNED, ("forest",), summary, values)


fold = _scanning(
    "fold",
    start_scans,
    *SCAN,
    summary="one partition, read block by block; a full buffer is replaced by its forest",
    labels=None,
    limit=None,
)

tree = _scanning(
    "tree",
    start_scans,
    *SCAN,
    summary="a forest of each partition, merged up a tree",
    labels=None,
    limit=None,
)

two_scan = _scanning(
    "two-scan",
    start_scans,
    sample_weights,
    choose_limit,
    *SCAN,
    Loop(join_fragments, *SCAN, until=nothing_left_out),
    summary="the lightest edges first, then what joins the fragments that they leave",
    labels=None,
)

#: How the strategy "iterate" reads a partition if not all edges fit into memory.
HOLD = (hold_forest, *TO_KEYS, count_edges)

SCANNING = {flow.name: flow for flow in (fold, tree, two_scan)}
