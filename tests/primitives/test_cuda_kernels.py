"""The CUDA kernels, as far as they can be proved without a GPU: on the processor, watched."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cuda_host import HostDevice

HERE = Path(__file__).parent

PLANTED = """
import sys

sys.path.insert(0, sys.argv[1])
import numpy as np
from cuda_host import HostDevice

device, xp = HostDevice(sys.argv[2]), HostDevice.xp
values, index = xp.arange(4096, dtype="u4"), xp.arange(1000, dtype="u4")
device.launch("arrays", "gather<u32, u32>", 1000 + {beyond}, values, index, xp.empty(1000, "u4"))
"""


def watched(*command):
    """Run Python under AddressSanitizer, which must be there before any memory is taken."""
    find = ["g++", "-print-file-name=libasan.so"]
    library = subprocess.run(find, capture_output=True, text=True, check=True).stdout.strip()
    environment = {**os.environ, "LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"}
    command = [sys.executable, *map(str, command)]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_kernels_under_sanitizers():
    """All definitions and whole runs once more, with all memory and arithmetic watched."""
    tests = HERE / "test_conformance.py", HERE.parent / "test_device.py"
    options = "-q", "-p", "no:cacheprovider", "--sanitize", "--examples=10", "-k", "cuda or oracle"
    run = watched("-m", "pytest", *options, *tests)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout


@pytest.mark.parametrize("beyond", [0, 1])
def test_sanitizers_find_a_planted_fault(beyond, sanitized_cuda_libraries):
    """One element too many is written: the run ends there."""
    support = HERE.parent / "support"
    run = watched("-c", PLANTED.format(beyond=beyond), support, sanitized_cuda_libraries)
    assert run.returncode == bool(beyond), run.stderr
    assert ("heap-buffer-overflow" in run.stderr) == bool(beyond)


def test_launches_with_other_types_are_refused(cuda_libraries):
    device, xp = HostDevice(cuda_libraries), HostDevice.xp
    values, index, out = xp.zeros(9, "u4"), xp.zeros(9, "u8"), xp.empty(9, "u4")
    device.launch("arrays", "gather<u32, u64>", 9, values, index, out)
    for arguments in ((values, out, out), (values, index, index), (values, index, 0)):
        with pytest.raises(AssertionError, match="does not take"):
            device.launch("arrays", "gather<u32, u64>", 9, *arguments)
