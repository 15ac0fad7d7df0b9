"""Records of measurements: files `results/MACHINE/NAME.json`.

A record names the commit, the machine, the versions and the options, and has all raw figures.
"""

from __future__ import annotations

import datetime
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mstflow

from . import machine
from .graphs import ROOT

Record = dict[str, Any]

RESULTS = Path("benchmarks", "results")


def make(
    name: str,
    options: Mapping[str, Any],
    rows: Any,
    others: float,
    programs: Mapping[str, str] | None = None,
    commit: str = "",
) -> Record:
    """Return a record of the `rows` of a benchmark; those of a device are by step.

    `others` is the number of processors that other programs used at the same time. `programs` has
    versions of external programs. `commit` is needed only without a git repository. If the measured
    code is not that of the commit, "+" is appended.
    """
    is_elsewhere = Path(mstflow.__file__).resolve().parent != ROOT
    if not commit:
        changed = is_elsewhere or _git("status", "-s", "--", ":!benchmarks", ":!docs") != ""
        commit = _git("rev-parse", "HEAD") + "+" * changed
    return {
        "benchmark": name,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit,
        "machine": machine.about(),
        "versions": {**machine.versions(), **(programs or {})},
        "others": others,
        "options": options,
        "rows": rows,
    }


def write(record: Record, folder: Path) -> Path:
    """Write a record to the folder of a machine, atomically."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record['benchmark']}.json"
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    return draft.replace(path)


def read(path: Path) -> Record:
    """Read a record."""
    return dict(json.loads(path.read_text()))


def _git(*arguments: str) -> str:
    """Return the output of git; without git or a repository, "unknown"."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return "unknown"
    return done.stdout.strip() if done.returncode == 0 else "unknown"
