"""The smallest memory bound that mstflow accepts for a graph, and the peak of a run with it.

Every case is a fresh process. The peak of a call counts from the import of mstflow, and that of a
command from the start of its process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.measure import program
from mstflow.pipeline.options import parse_bytes

_PROGRAM = """
import json, sys
from benchmarks.memory import memory
import mstflow
folder, options = sys.argv[1], json.loads(sys.argv[2])
def solve(bound):
    return mstflow.minimum_spanning_forest(folder, memory=bound, progress=False, **options)
before = memory("VmRSS")
try:
    solve(1)
except mstflow.errors.MemoryBoundError as error:
    least = error.needed
planned = solve(least).report.plan.memory
print(json.dumps({"least": least, "planned": planned, "peak": memory("VmHWM") - before}))
"""

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


def in_least_memory(folder: str, options: Mapping[str, Any]) -> dict[str, int]:
    """Return the smallest bound for a graph, and the planned and peak memory of a run with it."""
    return _facts(_PROGRAM, folder, json.dumps(options))


def command_in_least_memory(arguments: Sequence[str]) -> dict[str, Any]:
    """Run a command with the bound that the error for a bound of 1 MB states.

    Return the bound as `least`, the `peak` of the command, its `status` and its `error`. If the
    bound is refused, the peak is that of the refused command.
    """
    refused = _facts(_COMMAND, json.dumps([*arguments, "--memory", "1MB"]))
    stated = _STATED.search(refused["error"])
    if stated is None:
        raise RuntimeError(refused["error"])
    facts = _facts(_COMMAND, json.dumps([*arguments, "--memory", stated[1]]))
    return {"least": parse_bytes(stated[1]), **facts}


def _facts(text: str, *arguments: str) -> dict[str, Any]:
    facts = program(text, *arguments, touched=0)()
    assert "error" not in facts or "status" in facts, facts["error"]
    return facts
