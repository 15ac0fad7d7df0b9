"""Faults planted in the kernels, and in the Python that launches them: the interpreter finds each.

Each row of `FAULTS` says how its fault is found: by a finding of the interpreter, or by a result
that differs from the definition.
"""

import importlib.util
import random
import shutil
from typing import NamedTuple

import pytest

from cuda_machine import KERNEL_SOURCES, FindingError, MachineDevice
from lender import Lender
from plant_faults import planted
from primitive_cases import CASES, compare

RACE, OUTSIDE, UNINITIALISED = "race", "outside all arrays", "uninitialised memory"
DIVERGENT, ENDLESS, DIFFERS = "divergent vote", "does not end", "the result differs"


class Planted(NamedTuple):
    """A fault, the primitive whose cases find it, and how; see `Fault` in `faults.py`."""

    title: str
    file: str
    old: str
    new: str
    primitive: str
    found: str


FAULTS = [Planted(*row) for row in [
    ("threads beyond the size gather", "arrays.cu",
     "if (i < size) out[i] = values[index[i]];", "out[i] = values[index[i]];", "gather", OUTSIDE),
    ("the value after the last is gathered in place of the fill", "arrays.cu",
     "index[i] < length ?", "index[i] <= length ?", "gather", OUTSIDE),
    ("the first value of a segment is that of the segment before", "arrays.cu",
     "offsets[middle] <= i ?", "offsets[middle] < i ?", "segmented_broadcast", DIFFERS),
    ("values are added without an atomic operation", "arrays.cu",
     "atomicAdd(out + index[i], values[i]);", "out[index[i]] += values[i];",
     "scatter_reduce", RACE),
    ("-0.0 comes before 0.0", "arrays.cu",
     "is_float && word == sign) word = 0;", "is_float && word == sign) word = sign;",
     "order_key", DIFFERS),
    ("a load is not volatile", "common.cuh",
     "return *static_cast<const volatile T*>(place);", "return *place;", "scatter_reduce", RACE),
    ("a store is not volatile", "common.cuh",
     "*static_cast<volatile T*>(place) = value;", "*place = value;", "pointer_jump", RACE),
    ("the smaller value is stored without an atomic operation", "common.cuh",
     "atomicMin(place, value);", "store(place, value);", "scatter_argmin", DIFFERS),
    ("the larger value is stored without an atomic operation", "common.cuh",
     "atomicMax(place, value);", "store(place, value);", "scatter_reduce", DIFFERS),
    ("the bits after a position are read with it", "common.cuh",
     ">> (i % WORD) & 1;", ">> (i % WORD);", "compact", RACE),
    ("bits are set without an atomic operation", "common.cuh",
     "atomicOr(bits + i / WORD, u32(1) << (i % WORD));", "bits[i / WORD] |= u32(1) << (i % WORD);",
     "join_in_order", RACE),
    ("a tile is counted with those before it", "common.cuh",
     "ends[tile - 1] : 0", "ends[tile] : 0", "compact", OUTSIDE),
    ("a position is counted with those before it", "common.cuh",
     "bits[word] & ((u32(1) << (i % WORD)) - 1)", "bits[word] & ((u32(2) << (i % WORD)) - 1)",
     "compact", OUTSIDE),
    ("every thread writes the bits of its warp", "common.cuh",
     "if (i < size && i % WORD == 0)", "if (i < size)", "compact", RACE),
    ("warps beyond the size write bits", "common.cuh",
     "if (i < size && i % WORD == 0)", "if (i % WORD == 0)", "compact", OUTSIDE),
    ("one place is drawn for a whole warp", "common.cuh",
     "atomicAdd(count, u64(__popc(wanting)))", "atomicAdd(count, u64(1))", "join_in_order", RACE),
    ("places are drawn from a thread that has none", "common.cuh",
     "first, 0)", "first, 1)", "join_in_order", RACE),
    ("threads beyond the size do not vote", "select.cu",
     "    write_bit(bits, size, i, i < size && mask[i]);",
     "    if (i < size) write_bit(bits, size, i, mask[i]);", "compact", DIVERGENT),
    ("the last tile has all its words", "select.cu", "word < words && ", "", "compact", OUTSIDE),
    ("values are marked at their place from 0 on", "select.cu",
     "T(values[i] - T(lowest))", "values[i]", "sorted_union", DIFFERS),
    ("an edge at the limit is heavy", "pairs.cu",
     "key[i] <= limit", "key[i] < limit", "compact_pairs", DIFFERS),
    ("threads beyond the size look up labels", "pairs.cu",
     "i < size && label[u[i]] != label[v[i]]", "label[u[i]] != label[v[i]]",
     "relabel_pairs", OUTSIDE),
    ("the position of every key is lowered, not of the smallest", "pairs.cu",
     "key[i] == smallest[index[i]]", "key[i] >= smallest[index[i]]", "scatter_argmin", DIFFERS),
    ("places without a pair follow one", "pairs.cu",
     "out_id[i] = pair < none ?", "out_id[i] = pair <= mask ?", "scatter_min_pairs", OUTSIDE),
    ("paths are halved by a plain store", "trees.cu",
     "store(parent + node, next);", "parent[node] = next;", "pointer_jump", RACE),
    ("a root becomes a child of a larger one", "trees.cu",
     "Index low = a < b ? a : b, high = a < b ? b : a;", "Index low = a, high = b;",
     "join_in_order", DIFFERS),
    ("a set looks for its first pair among those from it", "trees.cu",
     "    lower(first + b, pair);\n", "", "join_in_order", DIFFERS),
    ("a pair's place in a round is taken for its position", "trees.cu",
     "is_listed ? position[i] : Position(i)", "Position(i)", "join_in_order", DIFFERS),
    ("the larger of two opposite nodes is the root", "trees.cu",
     "node < there && target", "node > there && target", "cut_mirrors", DIFFERS),
    ("first pairs are reset by plain stores", "trees.cu",
     "store(old_first + u[i], NONE<Position>);", "old_first[u[i]] = NONE<Position>;",
     "join_in_order", RACE),
    ("the first pairs of this round are reset", "arrays.py",
     "first, old_first, *rest, after", "first, first, *rest, after", "join_in_order", DIFFERS),
    ("threads beyond a list take part", "trees.cu",
     "bool is_pair = i < *length;", "bool is_pair = true;", "join_in_order", OUTSIDE),
    ("roots are written over parents that others climb", "arrays.py",
     "len(parent), parent, root)", "len(parent), parent, parent)", "pointer_jump", RACE),
    ("a set of bits is not cleared", "arrays.py",
     'self._xp.zeros(-(-size // _WORD), "u4")', 'self.empty(-(-size // _WORD), "u4")',
     "join_in_order", UNINITIALISED),
    ("the last word of bits has no memory", "arrays.py",
     'bits = self.empty(-(-size // _WORD), "u4")', 'bits = self.empty(size // _WORD, "u4")',
     "compact", OUTSIDE),
    ("records are not reset", "arrays.py",
     'records = self.full(size, _ALL_BITS, dtype="u8")', 'records = self.empty(size, "u8")',
     "scatter_argmin", UNINITIALISED),
    ("the lengths of lists are not reset", "arrays.py",
     'self.full(rounds + 1, 0, dtype="u8")', 'self.empty(rounds + 1, "u8")', "join_in_order",
     UNINITIALISED),
    ("counts of tiles are added up in 32 bits", "arrays.py",
     'ends = self._xp.cumsum(counts, dtype="u8")', 'ends = self._xp.cumsum(counts, dtype="u4")',
     "compact", OUTSIDE),
]]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.title)
def test_planted_faults_are_found(cuda_machine, tmp_path, fault):
    folder = shutil.copytree(KERNEL_SOURCES, tmp_path / "cuda")
    path = folder / fault.file
    path.write_text(planted(path.read_text(), fault))
    ops = Lender(arrays_of(folder).CudaArrays(MachineDevice(cuda_machine, folder)))
    assert fault.found in first_finding(ops, fault.primitive)


def test_nothing_is_found_without_a_fault(cuda_machine):
    ops = Lender(arrays_of(KERNEL_SOURCES).CudaArrays(MachineDevice(cuda_machine)))
    for primitive in {fault.primitive for fault in FAULTS}:
        assert first_finding(ops, primitive) == ""


def arrays_of(folder):
    """Load the Python module above the kernels from a folder."""
    name = "mstflow.primitives.cuda.planted"
    spec = importlib.util.spec_from_file_location(name, folder / "arrays.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def first_finding(ops, primitive):
    """Run cases of a primitive; return what is found first, or nothing."""
    dtypes, build = CASES[primitive]
    for seed in range(100):
        rng = random.Random(seed)
        args, options, expected = build(rng, rng.choice(dtypes), rng.choice([20, 20, 300, 700]))
        try:
            compare(primitive, getattr(ops, primitive)(*args, **options), expected)
        except FindingError as finding:
            return str(finding)
        except AssertionError:
            return DIFFERS
    return ""
