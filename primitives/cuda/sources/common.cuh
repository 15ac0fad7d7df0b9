// Functions that all kernels share: integer types, atomic operations, sets of positions.
//
// A kernel is a template over the types of its arrays, which are unsigned. The name of a type states
// its widths (see `kernels.py`). The first parameter of a kernel is the number of elements; each
// thread processes one. All scalars are u64. No thread waits for another, and the result does not
// depend on their order. The last two functions are called by all threads of a warp.
#pragma once

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

template <class T>
constexpr T NONE = T(~T(0));

__device__ inline u64 thread_index() { return u64(blockIdx.x) * blockDim.x + threadIdx.x; }

// For memory that other threads may write to: the compiler cannot keep the value in a register.
template <class T>
__device__ inline T load(const T* place) { return *static_cast<const volatile T*>(place); }

template <class T>
__device__ inline void store(T* place, T value) { *static_cast<volatile T*>(place) = value; }

// The comparison avoids most atomic operations, because most values are low enough.
template <class T>
__device__ inline void lower(T* place, T value) {
    if (value < load(place)) atomicMin(place, value);
}

template <class T>
__device__ inline void raise(T* place, T value) {
    if (load(place) < value) atomicMax(place, value);
}

// A set of positions has one bit for each. Bits are in words of 32 and counted in tiles of 256.

constexpr u64 WORD = 32, TILE = 256;

__device__ inline bool has(const u32* bits, u64 i) { return bits[i / WORD] >> (i % WORD) & 1; }

__device__ inline void add(u32* bits, u64 i) { atomicOr(bits + i / WORD, u32(1) << (i % WORD)); }

// Return the number of positions in a set before i. `ends` has the counts up to the end of each
// tile.
__device__ inline u64 rank(const u32* bits, const u64* ends, u64 i) {
    u64 tile = i / TILE, word = tile * (TILE / WORD), count = tile ? ends[tile - 1] : 0;
    for (; word < i / WORD; ++word) count += __popc(bits[word]);
    return count + __popc(bits[word] & ((u32(1) << (i % WORD)) - 1));
}

// Write the bits of all positions of a warp.
__device__ inline void write_bit(u32* bits, u64 size, u64 i, bool bit) {
    u32 word = __ballot_sync(NONE<u32>, bit);
    if (i < size && i % WORD == 0) bits[i / WORD] = word;
}

// Return a distinct place for each thread that wants one, with one addition for the warp.
__device__ inline u64 draw_place(u64* count, bool wants) {
    u32 wanting = __ballot_sync(NONE<u32>, wants), lane = threadIdx.x % WORD;
    u64 first = 0;
    if (lane == 0 && wanting) first = atomicAdd(count, u64(__popc(wanting)));
    return __shfl_sync(NONE<u32>, first, 0) + __popc(wanting & ((u32(1) << lane) - 1));
}
