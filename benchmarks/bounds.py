"""The smallest memory bound that mstflow accepts for a graph, and the peak of a run with it.

Every run is a fresh process, and its peak counts from the import of mstflow.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mstflow.__main__ import main

from .programs import MEMORY, run

#: The arguments of `mstflow generate` for n vertices and m edges. A grid has about n vertices.
FAMILIES = {
    "random": "random --vertices {n} --edges {m}",
    "grid": "grid --rows {root} --columns {root} --shuffle-vertices",
    "path": "chain --vertices {n}",
    "hub": "star --vertices {n}",
    "rmat": "rmat --scale {scale} --edges-per-vertex {ratio}",
    "equal weights": "random --vertices {n} --edges {m} --weights int:1:1",
}

_PROGRAM = (
    MEMORY
    + """
import json, sys
import mstflow
folder, options = sys.argv[1], json.loads(sys.argv[2])
before = memory("VmRSS")
try:
    forest = mstflow.minimum_spanning_forest(folder, progress=False, **options)
except mstflow.errors.MemoryBoundError as error:
    print(json.dumps({"least": error.needed}))
else:
    peak, planned = memory("VmHWM") - before, forest.report.plan.memory
    print(json.dumps({"peak": peak, "planned": planned}))
"""
)


def measure(
    vertices: Sequence[int],
    ratios: Sequence[int],
    families: Sequence[str],
    cases: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Solve graphs of all families with the smallest bound.

    `ratios` are numbers of edges per vertex, and `cases` are options of `minimum_spanning_forest`.
    Return `rows`: for each graph and case, `least` (the bound), `planned` and `peak` in bytes.
    """
    rows = []
    for n, ratio, family in itertools.product(vertices, ratios, families):
        with tempfile.TemporaryDirectory() as scratch:
            folder = str(Path(scratch, "graph"))
            sizes = {"n": n, "m": ratio * n, "root": int(n**0.5), "ratio": ratio}
            words = FAMILIES[family].format(**sizes, scale=n.bit_length() - 1).split()
            main(["generate", *words, "-o", folder, "--quiet"])
            for case in cases:
                facts = in_least_memory(folder, case)
                rows.append({"family": family, "vertices": n, "ratio": ratio, **case, **facts})
    return {"rows": rows}


def in_least_memory(folder: str, options: Mapping[str, Any]) -> dict[str, int]:
    """Return the smallest bound for a graph, and the planned and peak memory of a run with it."""
    least = _run(folder, {**options, "memory": 1})["least"]
    return {"least": least, **_run(folder, {**options, "memory": least})}


def _run(folder: str, options: Mapping[str, Any]) -> dict[str, int]:
    return run(_PROGRAM, folder, json.dumps(options)) or {}
