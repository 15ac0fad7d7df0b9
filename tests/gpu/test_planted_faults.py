"""Faults planted in the kernels, and in the Python that launches them: the interpreter finds each.

Each row of `FAULTS` says how its fault is found: by a finding of the fake driver, or by a result
that differs from the definition. With `-s`, the tests print a table of all faults.
"""

import importlib.util
import re
import shutil
import sys
from typing import NamedTuple

import numpy as np
import pytest

import interpreted_gpu
import mstflow
import primitive_cases  # noqa: F401  # it adds those of points
from interpreted_gpu import KERNEL_SOURCES
from lender import Lender
from mstflow import primitives
from mstflow.runtime.sizes import tuned
from mstflow.testing.primitive_cases import CASES, Draws, compare
from plant_faults import planted

pytestmark = pytest.mark.on_gpu("results")

RACE, OUTSIDE, UNINITIALISED = "race", "outside all arrays", "uninitialised memory"
DIVERGENT, DIFFERS = "divergent vote", "the result differs"
WIDTH, UNORDERED = "another width", "no order between|uninitialised memory"


class Planted(NamedTuple):
    """A fault, the primitive or the solve that finds it, and how; see `Fault` in `faults.py`."""

    title: str
    file: str
    old: str
    new: str
    by: str
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
    ("an element keeps its width where it moves", "select.cu",
     "write(moved[column], widths >> 4 & 15,", "write(moved[column], widths & 15,",
     "compact_pairs", DIFFERS),
    ("the columns after the fourth do not move", "arrays.py",
     "range(0, len(columns), _COLUMNS)", "range(1)", "compact_pairs", DIFFERS),
    ("the listed positions start at 0", "select.cu",
     "To(first + i)", "To(i)", "sorted_union", DIFFERS),
    ("values are marked at their place from 0 on", "select.cu",
     "Value(values[i] - Value(lowest))", "values[i]", "sorted_union", DIFFERS),
    ("an edge at the limit is heavy", "pairs.cu",
     "key[i] <= limit && u[i]", "key[i] < limit && u[i]", "compact_pairs", DIFFERS),
    ("threads beyond the size look up labels", "pairs.cu",
     "i < size && label[u[i]] != label[v[i]]", "label[u[i]] != label[v[i]]",
     "relabel_pairs", OUTSIDE),
    ("both members get the label of the first", "pairs.cu",
     "moved_v[place] = label[v[i]];", "moved_v[place] = label[u[i]];", "relabel_pairs", DIFFERS),
    ("the last key with its position is stored in place of the first smallest", "pairs.cu",
     "lower(records + index[i], u64(key[i]) << 32 | i);",
     "store(records + index[i], u64(key[i]) << 32 | i);", "scatter_argmin", DIFFERS),
    ("the last key is stored in place of the smallest", "arrays.cu",
     "lower(out + index[i], values[i]);", "store(out + index[i], values[i]);",
     "scatter_argmin", DIFFERS),
    ("the position of every key is lowered, not of the smallest", "pairs.cu",
     "key[i] == smallest[index[i]]", "key[i] >= smallest[index[i]]", "scatter_argmin", DIFFERS),
    ("places without a pair follow one", "pairs.cu",
     "out_id[i] = pair < none ?", "out_id[i] = pair <= mask ?", "scatter_min_pairs", OUTSIDE),
    ("paths are halved by a plain store", "trees.cu",
     "store(parent + node, next);", "parent[node] = next;", "pointer_jump", RACE),
    ("the parent of a node is taken for its root", "trees.cu",
     "root[i] = find(parent, Index(i));", "root[i] = load(parent + i);", "pointer_jump", DIFFERS),
    ("threads beyond the size are roots", "trees.cu",
     "i < size && root[i] == i", "root[i] == i", "number_roots", OUTSIDE),
    ("a node gets its own number, not that of its root", "trees.cu",
     "rank(bits, ends, root[i])", "rank(bits, ends, i)", "number_roots", DIFFERS),
    ("pairs join that are not first at a root", "trees.cu",
     "    if (first[u[i]] != pair && first[v[i]] != pair) return;\n", "", "join_in_order", DIFFERS),
    ("a root becomes a child of a larger one", "trees.cu",
     "Index low = a < b ? a : b, high = a < b ? b : a;", "Index low = a, high = b;",
     "join_in_order", DIFFERS),
    ("a set looks for its first pair among those from it", "trees.cu",
     "    lower(first + b, round | pair);\n", "", "join_in_order", DIFFERS),
    ("a pair's place in a round is taken for its position", "trees.cu",
     "is_listed ? position[i] : Position(i)", "Position(i)", "join_in_order", DIFFERS),
    ("the larger of two opposite nodes is the root", "trees.cu",
     "node < head && target", "node > head && target", "cut_mirrors", DIFFERS),
    ("words of first pairs do not have the number of their round", "trees.cu",
     "lower(first + a, round | pair);", "lower(first + a, u64(pair));", "join_in_order", DIFFERS),
    ("the numbers of rounds ascend", "arrays.py",
     "range(2 ** (64 - _POSITION) - 2, 0, -1)", "range(1, 2 ** (64 - _POSITION) - 1)",
     "join_in_order", DIFFERS),
    ("paths are halved in a launch that loads parents by plain loads", "trees.cu",
     "b = climb(parent, v[i], are_roots);", "b = find(const_cast<Index*>(parent), v[i]);",
     "join_in_order", RACE),
    ("the positions of each part start at 0", "arrays.py",
     "self._xp.arange(start, stop, dtype=position)",
     "self._xp.arange(0, stop - start, dtype=position)", "join_in_order", DIFFERS),
    ("positions overlap the numbers of rounds", "arrays.py",
     "_POSITION = 54", "_POSITION = 4", "join_in_order", DIFFERS),
    ("the numbers of rounds end too early", "arrays.py",
     "_POSITION = 54", "_POSITION = 63", "join_in_order", "no progress"),
    ("places in a later part are taken for positions", "arrays.py",
     "part, start > 0, state", "part, False, state", "join_in_order", DIFFERS),
    ("the last part is not joined", "arrays.py",
     "(0, *stops, length)", "(0, *stops)", "join_in_order", DIFFERS),
    ("roots are joined by plain stores", "trees.cu",
     "if (atomicCAS(parent + high, high, low) == high) return;",
     "parent[high] = low;\n        return;", "join_in_order", RACE),
    ("threads beyond a list take part", "trees.cu",
     "if (i < (is_counted ? *length : size)) {", "if (true) {",
     "join_in_order", OUTSIDE),
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
     'self._xp.zeros((2, count + 1), "u8")', 'self.empty((2, count + 1), "u8")', "join_in_order",
     UNINITIALISED),
    ("counts of tiles are added up in 32 bits", "arrays.py",
     'ends = self._xp.cumsum(counts, dtype="u8")', 'ends = self._xp.cumsum(counts, dtype="u4")',
     "compact", OUTSIDE),
    # Faults above the kernels.
    ("the total is that of the first tile", "arrays.py",
     "total = int(ends[-1])", "total = int(ends[0])", "compact", OUTSIDE),
    ("the smallest and the largest value are exchanged", "arrays.py",
     "values.min(), values.max()", "values.max(), values.min()", "sorted_union", DIFFERS),
    ("strided arrays are passed as they are", "device.py",
     "if not argument.flags.c_contiguous:", "if False:", "gather", DIFFERS),
    ("a copy is freed before the launch that reads it", "device.py",
     "copies.append(argument)", "pass", "gather", WIDTH),
    ("-0.0 is repeated by a memset", "arrays.py",
     "return self._xp.full(size, word, word.dtype).view(dtype)",
     "return self._xp.full(size, value, dtype)", "full", DIFFERS),
    ("subnormal floats are taken for zeros", "arrays.py",
     "if left.dtype != np.float32:", "if True:", "minimum", DIFFERS),
    ("ends of two widths are passed as they are", "arrays.py",
     "return u.astype(dtype, copy=False), v.astype(dtype, copy=False)", "return u, v",
     "two widths", OUTSIDE),
    ("the keys of records keep their positions", "arrays.py",
     "            smallest >>= _HALF\n", "            pass\n", "scatter_min_pairs", DIFFERS),
    ("the host does not wait for a copy", "arrays.py",
     "return self._xp.asnumpy(array)",
     "import cupyx\n        out = cupyx.zeros_pinned(array.shape, array.dtype)\n"
     "        return self._xp.asnumpy(array, out=out, blocking=False)", "solve",
     f"{DIFFERS}|{OUTSIDE}"),
    ("a column is copied on a stream for which no other waits", "arrays.py",
     "            array = self._xp.asarray(values, dtype=dtype)\n",
     "            with self._xp.cuda.Stream(non_blocking=True):\n"
     "                array = self._xp.asarray(values, dtype=dtype)\n", "solve", UNORDERED),
    ("all threads share the bits of selections", "arrays.py",
     'bits = self.empty(-(-size // _WORD), "u4")',
     'bits = vars(self).setdefault("_b", self.empty(9999, "u4"))[: -(-size // _WORD)]', "scans",
     UNORDERED),
    ("kernels run on the default stream", "device.py",
     "_stream(self.xp.cuda.get_current_stream().ptr)", "_stream(0)", "solve on a stream",
     UNORDERED),
    ("the streams of threads do not wait for the default stream", "device.py",
     "stream = self.xp.cuda.Stream()", "stream = self.xp.cuda.Stream(non_blocking=True)", "scans",
     UNORDERED),
    ("threads do not use the stream of the caller", "device.py",
     "with device, stream if stream.ptr else self._lent_stream(device.id):", "with device:",
     "scans on a stream", UNORDERED),
    ("tasks do not use the stream of the caller", "device.py",
     "        with device, stream:\n", "        with device:\n", "tasks on a stream", UNORDERED),
    ("a block is not a multiple of a warp", "device.py",
     "_BLOCK = 256", "_BLOCK = 250", "compact", DIVERGENT),
    ("the last block is not launched", "device.py",
     "_blocks(-(-size // _BLOCK))", "_blocks(size // _BLOCK)", "gather", DIFFERS),
]]  # fmt: skip
RANDOM = np.random.default_rng(9)
COLUMNS = (*RANDOM.integers(0, 90, (2, 700)), RANDOM.integers(0, 40, 700).astype("f4"))


@pytest.fixture
def module(interpreter, tmp_path, monkeypatch):
    """Return a function that plants a fault in a copy of the array module, and loads the copy."""

    def load(fault=None):
        folder = shutil.copytree(KERNEL_SOURCES.parent, tmp_path / "cuda")
        if fault:
            path = folder / ("" if fault.file.endswith(".py") else KERNEL_SOURCES.name) / fault.file
            path.write_text(planted(path.read_text(), fault))
        name = "mstflow.primitives.planted"
        for old in [each for each in sys.modules if each.startswith(name)]:
            monkeypatch.delitem(sys.modules, old)
        search = {"submodule_search_locations": [str(folder)]}
        spec = importlib.util.spec_from_file_location(name, folder / "__init__.py", **search)
        monkeypatch.setitem(sys.modules, name, importlib.util.module_from_spec(spec))
        compiler, device = (importlib.import_module(f"{name}.{m}") for m in ("compiler", "device"))
        compiler.Compiler.cached = lambda _, *names: kernel(folder / KERNEL_SOURCES.name, *names)
        arrays = importlib.import_module(f"{name}.arrays")
        monkeypatch.setitem(primitives._BACKENDS, "cupy", (arrays.__name__, "cupy_arrays", "cupy"))
        monkeypatch.setattr(
            "mstflow.pipeline.schedulers.dask_schedulers.computing_here", device.computing_here
        )
        primitives.loaded_module.cache_clear()
        return arrays.cupy_arrays()

    yield load
    interpreted_gpu.finding()
    primitives.loaded_module.cache_clear()


@pytest.fixture(autouse=True)
def _small_blocks():
    """Scan a small graph in several blocks, for several threads, and join short lists in parts."""
    with tuned(block_edges=20, joined_in_parts=500):
        yield


def kernel(folder, file, name, _):
    names, ptx = interpreted_gpu.compiled(file, folder)
    return names[name], ptx


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.title)
def test_planted_faults_are_found(module, fault):
    found = first_finding(module(fault), fault.by)
    print(f"| {fault.title} | {fault.file} | {fault.by} | {' '.join(found.split())[:60]} |")
    assert re.search(fault.found, found)


def test_nothing_is_found_without_a_fault(module):
    ops = module()
    for by in {fault.by for fault in FAULTS}:
        assert first_finding(ops, by, seeds=15) == ""


def first_finding(ops, by, seeds=100):
    """Run cases of a primitive, or solve a graph; return the first finding, or an empty string."""
    for seed in range(seeds if by in CASES else seeds // 5):
        interpreted_gpu.start(seed)
        try:
            check_case(ops, by, seed) if by in CASES else SOLVES[by]()
        except Exception as error:
            return interpreted_gpu.finding() or f"{DIFFERS}: {error}"
        if found := interpreted_gpu.finding():
            return found
    return ""


def check_case(ops, primitive, seed):
    dtypes, build = CASES[primitive]
    rng = Draws(seed)
    args, options, expected = build(rng, rng.choice(dtypes), rng.choice([20, 20, 300, 700]))
    lent = Lender(ops, step=1 + seed % 2)
    compare(primitive, getattr(lent, primitive)(*args, **options), expected)


def solve(on_a_stream=False, columns=COLUMNS, on_device=False, **options):
    import cupy

    with cupy.cuda.Stream(non_blocking=True) if on_a_stream else cupy.cuda.Stream.null:
        given = tuple(map(cupy.asarray, columns)) if on_device else columns
        forest = mstflow.minimum_spanning_forest(given, backend="cupy", **options)
        found = cupy.asnumpy(forest.edge_ids).tolist()
    assert found == mstflow.minimum_spanning_forest(columns, backend="numpy").edge_ids.tolist()


SCAN = {"strategy": "two-scan", "partitions": 3, "threads": 2}
SOLVES = {
    "solve": solve,
    "solve on a stream": lambda: solve(on_a_stream=True, on_device=True),
    "two widths": lambda: solve(
        columns=(COLUMNS[0].astype("i4"), *COLUMNS[1:]), algorithm="boruvka-edgelist"
    ),
    "scans": lambda: solve(**SCAN),
    "scans on a stream": lambda: solve(on_a_stream=True, **SCAN),
    "tasks on a stream": lambda: solve(
        on_a_stream=True, on_device=True, scheduler="threads", strategy="tree", partitions=3
    ),
}
