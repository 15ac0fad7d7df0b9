// Kernels that select elements: flag them, count the flags, and move the elements, in order.
#include "common.cuh"

__global__ void flag(u64 size, const u8* mask, u32* bits) {
    u64 i = thread_index();
    write_bit(bits, size, i, i < size && mask[i]);
}

template <class T>
__global__ void mark(u64 size, const T* values, u64 lowest, u32* bits) {
    u64 i = thread_index();
    if (i < size) add(bits, T(values[i] - T(lowest)));
}

// Each thread counts one tile. The last tile may have fewer words.
__global__ void count_tiles(u64 size, const u32* bits, u64 words, u64* counts) {
    u64 i = thread_index();
    if (i >= size) return;
    u64 count = 0;
    for (u64 word = i * (TILE / WORD); word < words && word < (i + 1) * (TILE / WORD); ++word)
        count += __popc(bits[word]);
    counts[i] = count;
}

template <class T, class To>
__global__ void move(u64 size, const u32* bits, const u64* ends, const T* values, To* out) {
    u64 i = thread_index();
    if (i < size && has(bits, i)) out[rank(bits, ends, i)] = To(values[i]);
}

template <class To>
__global__ void list_positions(u64 size, const u32* bits, const u64* ends, u64 first, To* out) {
    u64 i = thread_index();
    if (i < size && has(bits, i)) out[rank(bits, ends, i)] = To(first + i);
}
