"""The run on a device, rehearsed: `python -m benchmarks device` with interpreted kernels."""

import shutil
import sys
from pathlib import Path

import pytest

from benchmarks import records, tables
from benchmarks.device import checks
from benchmarks.device.steps import TABLES
from processes import run_python

ROOT = Path(__file__).parents[2]
#: Steps that run a program of NVIDIA's.
NEEDS = {**dict.fromkeys(checks.TOOLS, "compute-sanitizer"), "kernels": "ncu"}


@pytest.mark.on_gpu("all")
@pytest.mark.usefixtures("interpreter")
def test_whole_run(tmp_path):
    command = ["-m", "benchmarks", "device", "--tiny", "--seconds", "20000", "--out", tmp_path]
    variables = {"TMPDIR": str(tmp_path), "PYTEST_ADDOPTS": "--interpret-gpu"}
    done = run_python(*command, cwd=ROOT, variables=variables)
    assert done.returncode == 0, done.stderr
    record = records.read(tmp_path / "device.json")
    steps = record["rows"]
    for name, step in steps.items():
        if shutil.which(NEEDS.get(name, sys.executable)):
            assert step["failure"] is None, (name, (tmp_path / f"{name}.log").read_text())
            assert step["rows"]
    assert all(row["is_equal"] for row in steps["equality"]["rows"])
    for table in TABLES.values():
        assert tables.markdown(table, record)
