"""Tests that all CUDA kernels compile for the oldest and for new devices."""

import pytest

from mstflow.pointsets.primitives.cuda import searches
from mstflow.primitives.cuda import compiler, kernels

#: The oldest and a new one: no kernel has code for one architecture only.
ARCHITECTURES = ["sm_75", "sm_100"]


#: The compiler of each table of kernels.
TABLES = ((compiler.NVRTC, kernels.KERNELS), (searches.NVRTC, searches.KERNELS))


@pytest.mark.parametrize(("nvrtc", "table"), TABLES)
def test_the_table_has_every_kernel(nvrtc, table):
    named = {file: len({name.split("<")[0] for name in names}) for file, names in table.items()}
    sources = {path.stem: path.read_text() for path in nvrtc.sources.glob("*.cu")}
    assert named == {file: source.count("__global__") for file, source in sources.items()}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    ("nvrtc", "file", "wanted"),
    [(nvrtc, file, table[file]) for nvrtc, table in TABLES for file in table],
)
def test_kernels_compile(nvrtc, file, wanted, architecture):
    pytest.importorskip("cuda.core")  # the test extra has it where there are wheels
    names, cubin = nvrtc.compile(file, wanted, architecture)
    assert cubin.startswith(b"\x7fELF")
    assert set(names) == set(wanted)
    assert all(name.encode() + b"\0" in cubin for name in names.values())
