"""The interpreter of kernels: it follows PTX in many orders, and finds each kind of fault."""

import ctypes

import numpy as np
import pytest

import strict_device as xp
from cuda_machine import FindingError, Module, compile_ptx

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
"""
ROOT = 'extern "C" __global__ void root(unsigned long long n, float* out) { *out = sqrtf(*out); }'


@pytest.fixture(scope="module")
def library(cuda_machine):
    return ctypes.CDLL(str(cuda_machine))


@pytest.fixture(scope="module")
def module(library):
    return Module(library, compile_ptx(SOURCE, [])[1])


def numbered(size, dtype="u4"):
    return xp.asarray(np.arange(size), dtype)


def test_arithmetic(module):
    bits = np.random.default_rng(0).integers(0, 2**32, 3000, np.uint32)
    expected = []
    for x in bits.tolist():
        y = (~x << 7) % 2**64
        last = x & 31 if y > x else ((y % 2**16) << (x & 63))
        expected.append(((x * y + (x >> 3)) ^ (x % 256 - last)) % 2**64)
    out = xp.empty(3000, "u8")
    module.launch("numbers", 3000, (xp.asarray(bits), out), 0)
    assert out.tolist() == expected


@pytest.mark.parametrize("size", [1, 31, 256, 700])
def test_atomics_and_votes_in_any_order(module, size):
    orders = set()
    for seed in SEEDS:
        out, bits = xp.zeros(1, "u8"), xp.empty(-(-size // 32), "u4")
        module.launch("total", size, (numbered(size), out), seed)
        assert int(out[0]) == size * (size - 1) // 2
        count, places = xp.zeros(1, "u8"), xp.empty(size, "u8")
        module.launch("votes", size, (bits, count, places), seed)
        flags = np.arange(size) % 4 == 0
        assert np.array_equal(np.unpackbits(bits.get().view("u1"), bitorder="little")[:size], flags)
        drawn = places.get()[flags].tolist()
        assert sorted(drawn) == list(range(int(count[0]))) == list(range(int(flags.sum())))
        orders.add(tuple(drawn))
    assert len(orders) > 1 or size <= 256  # several blocks come in several orders


def test_strong_accesses_are_weakly_ordered(module):
    """Both flags may be missed, though each thread writes one before it reads the other."""
    outcomes = set()
    for seed in SEEDS:
        flag, seen = xp.zeros(2, "u4"), xp.empty(2, "u4")
        module.launch("flags", 2, (flag, seen), seed)
        outcomes.add(tuple(seen.tolist()))
        assert flag.tolist() == [1, 1]
    assert outcomes == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_no_thread_sees_an_older_value_after_a_newer_one(module):
    outcomes = set()
    for seed in SEEDS:
        number, seen = xp.zeros(1, "u4"), xp.zeros(80, "u4")
        module.launch("counts", 40, (number, seen), seed)
        pairs = seen.get().reshape(-1, 2)
        assert (pairs[:, 0] <= pairs[:, 1]).all()
        outcomes |= set(map(tuple, pairs.tolist()))
        assert int(number[0]) == 5
    assert {(0, 0), (5, 5)} < outcomes


FAULTS = {
    "two_writes": (lambda: (xp.empty(64, "u4"),), "race: st.global"),
    "write_and_read": (lambda: (xp.zeros(64, "u4"), xp.empty(64, "u4")), "race: "),
    "plain_and_atomic": (lambda: (xp.zeros(1, "u4"),), "race: "),
    "beyond": (lambda: (numbered(64), xp.empty(64, "u4")), "outside all arrays: ld.global.u32"),
    "askew": (lambda: (numbered(64), xp.empty(64, "u4")), "misaligned access: "),
    "halves": (lambda: (numbered(64), xp.empty(64, "u4")), "another width: "),
    "some_vote": (lambda: (xp.empty(64, "u4"),), "divergent vote or shuffle: vote.sync"),
    "two_votes": (lambda: (xp.empty(64, "u4"),), "divergent vote or shuffle: vote.sync"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(module, name):
    arguments, message = FAULTS[name]
    size = 64 if name != "some_vote" else 40  # the second warp has threads that do not vote
    for seed in range(8):
        with pytest.raises(FindingError, match=f"{name}, seed {seed}: .*{message}"):
            module.launch(name, size, arguments(), seed)


def test_reads_of_uninitialised_memory(module):
    memory, out = xp.empty(100, "u4"), xp.zeros(1, "u8")
    memory[:50] = numbered(50)
    memory[50:99].fill(1)
    module.launch("total", 99, (memory, out), 0)
    with pytest.raises(FindingError, match="read of uninitialised memory: ld"):
        module.launch("total", 100, (memory, out), 0)
    mixed = xp.empty(20, "u8")
    module.launch("numbers", 20, (numbered(20), mixed), 0)
    module.launch("numbers", 20, (mixed.view("u4")[:20], xp.empty(20, "u8")), 0)


def test_unknown_instructions_are_errors(library):
    with pytest.raises(FindingError, match=r"unknown PTX: .*f32"):
        Module(library, compile_ptx(ROOT, [])[1])


def test_source_that_does_not_compile():
    with pytest.raises(RuntimeError, match="undefined"):
        compile_ptx("__global__ void kernel() { undefined(); }", [])
