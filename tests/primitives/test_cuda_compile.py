"""Tests that all CUDA kernels compile for the oldest and for new devices."""

import re

import pytest

from mstflow.primitives.cuda.compiler import NVRTC, SOURCES
from mstflow.primitives.cuda.kernels import KERNELS

#: The oldest and a new one: no kernel has code for one architecture only.
ARCHITECTURES = ["sm_75", "sm_100"]


def test_the_table_has_every_kernel():
    written = {
        path.stem: set(re.findall(r"__global__ void (\w+)\(", path.read_text()))
        for path in SOURCES.glob("*.cu")
    }
    named = {file: {name.split("<")[0] for name in kernels} for file, kernels in KERNELS.items()}
    assert written == named


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("file", KERNELS)
def test_kernels_compile(file, architecture):
    pytest.importorskip("cuda.core")  # the test extra has it where there are wheels
    names, cubin = NVRTC.compile(file, KERNELS[file], architecture)
    assert cubin.startswith(b"\x7fELF")
    assert set(names) == set(KERNELS[file])
    assert all(name.encode() + b"\0" in cubin for name in names.values())
