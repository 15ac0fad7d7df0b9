"""Run one step in this process: `python -m benchmarks.device.step NAME ROWS OPTIONS`.

Each row is appended to the file ROWS as a line of JSON. OPTIONS is a JSON object. If the
environment names the driver that interprets kernels, CuPy runs on it.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

from ..graphs import ROOT
from .steps import STEPS

SUPPORT = ROOT / "tests" / "support"


def main(name: str, path: str, options: str) -> int:
    """Append the rows of a step to a file. Return 1 if it failed; then the last row says why."""
    sys.path.insert(0, str(SUPPORT))
    import interpreted_gpu

    if interpreted_gpu.VARIABLE in os.environ:
        interpreted_gpu.install()
    (step,) = (each for each in STEPS if each.name == name)
    with Path(path).open("a", buffering=1) as file:
        try:
            for row in step.rows(**json.loads(options)):
                file.write(json.dumps({"step": name, **row}) + "\n")
        except Exception as error:  # of any library
            traceback.print_exc()
            failure = " ".join(f"{type(error).__name__}: {error}".split())
            file.write(json.dumps({"step": name, "failure": failure}) + "\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
