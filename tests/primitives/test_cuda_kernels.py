"""Tests of the CUDA kernels on the processor, under sanitizers."""

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


def run_sanitized(*command):
    """Run Python with AddressSanitizer, which must be loaded before memory is allocated."""
    find = ["g++", "-print-file-name=libasan.so"]
    library = subprocess.run(find, capture_output=True, text=True, check=True).stdout.strip()
    environment = {**os.environ, "LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"}
    command = [sys.executable, *map(str, command)]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_kernels_under_sanitizers():
    """Repeat the tests of conformance and of whole runs with checks of memory and arithmetic."""
    tests = HERE / "test_conformance.py", HERE.parent / "test_device.py"
    options = "-q", "-p", "no:cacheprovider", "--sanitize", "--examples=10", "-k", "cuda or oracle"
    run = run_sanitized("-m", "pytest", *options, *tests)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout


@pytest.mark.parametrize("beyond", [0, 1])
def test_sanitizers_find_a_planted_fault(beyond, sanitized_cuda_libraries):
    """The kernel writes one element beyond the end."""
    support = HERE.parent / "support"
    run = run_sanitized("-c", PLANTED.format(beyond=beyond), support, sanitized_cuda_libraries)
    assert run.returncode == bool(beyond), run.stderr
    assert ("heap-buffer-overflow" in run.stderr) == bool(beyond)


def test_launches_check_the_widths_of_arguments(cuda_libraries):
    device, xp = HostDevice(cuda_libraries), HostDevice.xp
    values, index, out = xp.zeros(9, "u4"), xp.zeros(9, "u8"), xp.empty(9, "u4")
    device.launch("arrays", "gather<u32, u64>", 9, values, index, out)
    for arguments in ((values, out, out), (values, index, index), (values, index, 0)):
        with pytest.raises(AssertionError, match="does not take"):
            device.launch("arrays", "gather<u32, u64>", 9, *arguments)
