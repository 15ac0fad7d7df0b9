"""The smallest memory bound that mstflow accepts for a graph, and the peak of a run with it.

Every run is a fresh process. The peak of a call counts from the import of mstflow, and that of a
command from the start of its process.
"""

from __future__ import annotations

import itertools
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mstflow.__main__ import main
from mstflow.pipeline.options import parse_bytes

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

#: Runs a command and prints its exit status, its standard error and its peak. The system counts the
#: memory of this program as part of the peak, so it must be smaller than a command.
_COMMAND = """
import json, os, subprocess, sys
command = [sys.executable, "-m", "mstflow", *json.loads(sys.argv[1])]
process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
error = process.stderr.read()
_, status, usage = os.wait4(process.pid, 0)
facts = {"status": os.waitstatus_to_exitcode(status), "error": error}
print(json.dumps({**facts, "peak": 1024 * usage.ru_maxrss}))
"""
#: The bound that the error of a command states.
_STATED = re.compile(r"it must be at least (\S+ [GM]B)")


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


def command_in_least_memory(arguments: Sequence[str]) -> dict[str, Any]:
    """Run a command with the bound that the error for a bound of 1 MB states.

    Return the bound as `least`, the `peak` of the command, its `status` and its `error`. If the
    bound is refused, the peak is that of the refused command.
    """
    refused = run(_COMMAND, json.dumps([*arguments, "--memory", "1MB"])) or {}
    stated = _STATED.search(refused["error"])
    if stated is None:
        raise RuntimeError(refused["error"])
    facts = run(_COMMAND, json.dumps([*arguments, "--memory", stated[1]])) or {}
    return {"least": parse_bytes(stated[1]), **facts}


def _run(folder: str, options: Mapping[str, Any]) -> dict[str, int]:
    return run(_PROGRAM, folder, json.dumps(options)) or {}
