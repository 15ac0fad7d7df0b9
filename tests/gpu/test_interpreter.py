"""The interpreter of kernels: it follows PTX in many orders, and finds each kind of fault."""

import numpy as np
import pytest

from interpreted_gpu import KERNEL_SOURCES, compile_ptx

pytestmark = pytest.mark.on_gpu("nothing")

SEEDS = range(60)
SOURCE = """
#include "common.cuh"
#define KERNEL extern "C" __global__ void

KERNEL numbers(u64 size, const u32* in, u64* out) {
    u64 i = thread_index();
    if (i >= size) return;
    u64 x = in[i], y = ~x << 7;
    out[i] = (x * y + (x >> 3)) ^ (u64(u8(x)) - (y > x ? x & 31 : u64(u16(y)) << (x & 63)));
}
KERNEL quotients(u64 size, const long long* in, long long* out) {
    u64 i = thread_index();
    if (i + 1 >= size) return;
    long long x = in[i], y = in[i + 1];
    out[i] = x / y + x % (y >> 40) + __mul64hi(x, y);
}
KERNEL floats(u64 size, const float* in, double* out) {
    u64 i = thread_index();
    if (i + 1 >= size) return;
    float x = in[i], y = in[i + 1];
    out[i] = double(x / y) * (x < y) + floorf(x) + int(x);
}
KERNEL extremes(u64 size, const double* nan, const u64* in, long long* out) {
    if (thread_index()) return;
    float nan32 = float(*nan);
    out[0] = int(nan32), out[1] = (long long)nan32, out[2] = u32(*nan), out[3] = (long long)*nan;
    out[4] = __umul64hi(in[0], in[1]), out[5] = __mul64hi(in[0], in[1]);
    out[6] = llabs((long long)in[0]);
}
KERNEL total(u64 size, const u32* in, u64* out) {
    u64 i = thread_index();
    if (i < size) atomicAdd(out, u64(in[i]));
}
KERNEL votes(u64 size, u32* bits, u64* count, u64* places) {
    u64 i = thread_index();
    write_bit(bits, size, i, i < size && i % 4 == 0);
    u64 place = draw_place(count, i < size && i % 4 == 0);
    if (i < size) places[i] = i % 4 ? size : place;
}
// The sum of each block, by shuffles in its warps and by shared memory.
KERNEL block_sums(u64 size, const u32* in, u32* out) {
    __shared__ u32 sums[8];
    u64 i = thread_index();
    u32 sum = i < size ? in[i] : 0;
    for (u32 step = 16; step; step /= 2) sum += __shfl_down_sync(NONE<u32>, sum, step);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (u32 warp = 1; warp < 8; ++warp) sum += sums[warp];
        out[blockIdx.x] = sum;
    }
}
// Each of two threads writes one flag and reads the other.
KERNEL flags(u64 size, u32* flag, u32* seen) {
    u64 i = thread_index();
    if (i >= 2) return;
    store(flag + i, 1u);
    seen[i] = load(flag + 1 - i);
}
// One thread counts up; the other threads look twice.
KERNEL counts(u64 size, u32* number, u32* seen) {
    u64 i = thread_index();
    if (i == 0) for (u32 n = 1; n < 6; ++n) store(number, n);
    else if (i < size) {
        seen[2 * i] = load(number);
        seen[2 * i + 1] = load(number);
    }
}
KERNEL two_writes(u64 size, u32* out) {
    u64 i = thread_index();
    if (i < size) out[i / 2] = 1;
}
KERNEL write_and_read(u64 size, u32* in, u32* out) {
    u64 i = thread_index();
    if (i < size) in[i] = 1;
    if (i + 1 < size) out[i] = in[i + 1];
}
KERNEL plain_and_atomic(u64 size, u32* out) {
    u64 i = thread_index();
    if (i == 0) *out = 1;
    else if (i < size) atomicMax(out, 2u);
}
KERNEL beyond(u64 size, const u32* in, u32* out) {
    u64 i = thread_index();
    if (i < size) out[i] = in[i + 1];
}
KERNEL askew(u64 size, u32* in, u32* out) {
    u64 i = thread_index();
    if (i + 1 < size) out[i] = *reinterpret_cast<u32*>(reinterpret_cast<u8*>(in + i) + 2);
}
KERNEL halves(u64 size, u32* in, u32* out) {
    u64 i = thread_index();
    if (i == 0) *reinterpret_cast<u16*>(in) = 1;
    if (i < size) out[i] = in[i];
}
KERNEL some_vote(u64 size, u32* out) {
    u64 i = thread_index();
    if (i < size) out[i] = __ballot_sync(NONE<u32>, i & 1);
}
KERNEL two_votes(u64 size, u32* out) {
    u64 i = thread_index();
    if (i < size) out[i] = i & 1 ? __ballot_sync(NONE<u32>, true) : __ballot_sync(NONE<u32>, 0);
}
KERNEL no_end(u64 size, u32* out) {
    while (load(out) == 0) {}
}
"""
TWO_RESULTS = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry two_results() {
    .reg .pred %p<3>;
    setp.lt.s32 %p1|%p2, 1, 2;
    ret;
}
"""
SINE = 'extern "C" __global__ void sine(float* out) { *out = __sinf(*out); }'


@pytest.fixture(scope="session")
def module():
    import cupy

    made = cupy.cuda.function.Module()
    made.load(compile_ptx(SOURCE, [], KERNEL_SOURCES)[1])
    return made


@pytest.fixture
def launch(interpreter, request):
    """Return a function that runs a kernel of `SOURCE` in the order of a seed."""
    module = request.getfixturevalue("module")

    def launch(name, size, arguments, seed):
        interpreter.start(seed)
        function = module.get_function(name)
        function((-(-size // 256),), (256,), (np.uint64(size), *arguments))
        interpreter.check()

    return launch


@pytest.fixture
def xp(interpreter):
    import cupy

    return cupy


def test_arithmetic(launch, xp):
    bits = np.random.default_rng(0).integers(0, 2**32, 3000, np.uint32)
    expected = []
    for x in bits.tolist():
        y = (~x << 7) % 2**64
        last = x & 31 if y > x else ((y % 2**16) << (x & 63))
        expected.append(((x * y + (x >> 3)) ^ (x % 256 - last)) % 2**64)
    out = xp.empty(3000, "u8")
    launch("numbers", 3000, (xp.asarray(bits), out), 0)
    assert out.tolist() == expected


def test_signed_division(launch, xp):
    values = np.random.default_rng(1).integers(-(2**63), 2**63, 900)
    values[np.abs(values) < 2**41] = 2**41
    out, expected = xp.empty(899, "i8"), []
    for x, y in zip(values[:-1].tolist(), values[1:].tolist(), strict=True):
        quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        rest = abs(x) % abs(y >> 40) * (1 if x >= 0 else -1)
        expected.append((quotient + rest + (x * y >> 64) + 2**63) % 2**64 - 2**63)
    launch("quotients", 900, (xp.asarray(values), out), 0)
    assert out.tolist() == expected


def test_floats(launch, xp):
    values = (np.random.default_rng(2).random(500, np.float32) * 100 - 50).astype("f4")
    out, (x, y) = xp.empty(499, "f8"), (values[:-1], values[1:])
    launch("floats", 500, (xp.asarray(values), out), 0)
    expected = (x / y).astype("f8") * (x < y) + (np.floor(x) + np.trunc(x)).astype("f8")
    assert np.array_equal(out.get(), expected)


def test_extremes(launch, xp):
    """The manual of PTX defines how NaN is converted to an integer."""
    words, out = [2**64 - 1, 2**63 + 1], xp.empty(7, "i8")
    launch("extremes", 1, (xp.full(1, np.nan), xp.asarray(np.array(words, "u8")), out), 0)
    product = words[0] * words[1] >> 64
    assert out.tolist() == [0, -(2**63), 2**31, -(2**63), product - 2**64, 0, 1]


@pytest.mark.parametrize("size", [1, 31, 256, 700])
def test_atomics_and_votes_in_any_order(launch, xp, size):
    orders = set()
    for seed in SEEDS:
        out, bits = xp.zeros(1, "u8"), xp.empty(-(-size // 32), "u4")
        launch("total", size, (xp.arange(size, dtype="u4"), out), seed)
        assert int(out[0]) == size * (size - 1) // 2
        count, places = xp.zeros(1, "u8"), xp.empty(size, "u8")
        launch("votes", size, (bits, count, places), seed)
        flags = np.arange(size) % 4 == 0
        assert np.array_equal(np.unpackbits(bits.get().view("u1"), bitorder="little")[:size], flags)
        drawn = places.get()[flags].tolist()
        assert sorted(drawn) == list(range(int(count[0]))) == list(range(int(flags.sum())))
        orders.add(tuple(drawn))
    assert len(orders) > 1 or size <= 256  # several blocks come in several orders


def test_barriers_and_shuffles(launch, xp):
    for seed in SEEDS:
        out = xp.empty(3, "u4")
        launch("block_sums", 700, (xp.arange(700, dtype="u4"), out), seed)
        assert out.tolist() == [sum(range(256)), sum(range(256, 512)), sum(range(512, 700))]


def test_strong_accesses_are_weakly_ordered(launch, xp):
    """Both flags may be missed, though each thread writes one before it reads the other."""
    outcomes = set()
    for seed in SEEDS:
        flag, seen = xp.zeros(2, "u4"), xp.empty(2, "u4")
        launch("flags", 2, (flag, seen), seed)
        outcomes.add(tuple(seen.tolist()))
        assert flag.tolist() == [1, 1]
    assert outcomes == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_no_thread_sees_an_older_value_after_a_newer_one(launch, xp):
    outcomes = set()
    for seed in SEEDS:
        number, seen = xp.zeros(1, "u4"), xp.zeros(80, "u4")
        launch("counts", 40, (number, seen), seed)
        pairs = seen.get().reshape(-1, 2)
        assert (pairs[:, 0] <= pairs[:, 1]).all()
        outcomes |= set(map(tuple, pairs.tolist()))
        assert int(number[0]) == 5
    assert {(0, 0), (5, 5)} < outcomes


FAULTS = {
    "two_writes": ("e", "race: st.global"),
    "write_and_read": ("ze", "race: "),
    "plain_and_atomic": ("z", "race: "),
    "beyond": ("ze", r"outside all arrays: ld.global.u32"),
    "askew": ("ze", "misaligned access: "),
    "halves": ("ze", "another width: "),
    "some_vote": ("e", "divergent vote or shuffle: vote.sync"),
    "two_votes": ("e", "divergent vote or shuffle: vote.sync"),
    "no_end": ("z", "does not end"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(launch, xp, name):
    arrays, message = FAULTS[name]
    size = 40 if name == "some_vote" else 64  # the second warp has threads that do not vote
    for seed in range(1 if name == "no_end" else 8):
        made = [(xp.empty if kind == "e" else xp.zeros)(64, "u4") for kind in arrays]
        with pytest.raises(AssertionError, match=f"{name}: .*{message}"):
            launch(name, size, made, seed)


def test_reads_of_uninitialised_memory(launch, xp):
    memory, out = xp.empty(100, "u4"), xp.zeros(1, "u8")
    memory[:50] = xp.arange(50)
    memory[50:99].fill(1)
    launch("total", 99, (memory, out), 0)
    with pytest.raises(AssertionError, match="read of uninitialised memory: ld"):
        launch("total", 100, (memory, out), 0)
    memory[99] = 1
    copy = memory.copy()
    launch("total", 100, (copy, out), 0)


def test_unknown_instructions_are_errors(interpreter, xp):
    module = xp.cuda.function.Module()
    with pytest.raises(RuntimeError, match=r"unknown PTX: sin\.approx\.f32"):
        module.load(compile_ptx(SINE, [])[1])
    assert "sin.approx" in interpreter.finding()
    with pytest.raises(RuntimeError, match=r"unknown PTX: two results, %p1\|%p2"):
        module.load(TWO_RESULTS)
    assert "two results" in interpreter.finding()


def test_source_that_does_not_compile(interpreter):
    with pytest.raises(RuntimeError, match="undefined"):
        compile_ptx("__global__ void kernel() { undefined(); }", [])
