// Kernels that select elements: flag them, count the flags, and move the elements, in order.
#include "common.cuh"

__global__ void flag(u64 size, const u8* mask, u32* bits) {
    u64 i = thread_index();
    write_bit(bits, size, i, i < size && mask[i]);
}

template <class Value>
__global__ void mark(u64 size, const Value* values, u64 lowest, u32* bits) {
    u64 i = thread_index();
    if (i < size) add(bits, Value(values[i] - Value(lowest)));
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

__device__ inline u64 read(const void* values, u64 bytes, u64 i) {
    switch (bytes) {
        case 1: return static_cast<const u8*>(values)[i];
        case 2: return static_cast<const u16*>(values)[i];
        case 4: return static_cast<const u32*>(values)[i];
        default: return static_cast<const u64*>(values)[i];
    }
}

__device__ inline void write(void* values, u64 bytes, u64 i, u64 value) {
    switch (bytes) {
        case 1: static_cast<u8*>(values)[i] = u8(value); break;
        case 2: static_cast<u16*>(values)[i] = u16(value); break;
        case 4: static_cast<u32*>(values)[i] = u32(value); break;
        default: static_cast<u64*>(values)[i] = value;
    }
}

// Move the selected elements of up to four columns. Each byte of `widths` belongs to a column: its
// lower half is the number of bytes of an element, its upper half that of a moved element.
__global__ void move(
    u64 size, const u32* bits, const u64* ends, u64 widths, const void* a, void* moved_a,
    const void* b, void* moved_b, const void* c, void* moved_c, const void* d, void* moved_d
) {
    u64 i = thread_index();
    if (i >= size || !has(bits, i)) return;
    const void* columns[] = {a, b, c, d};
    void* moved[] = {moved_a, moved_b, moved_c, moved_d};
    u64 place = rank(bits, ends, i);
#pragma unroll
    for (int column = 0; column < 4; ++column, widths >>= 8)
        if (widths & 15) write(moved[column], widths >> 4 & 15, place, read(columns[column], widths & 15, i));
}

template <class To>
__global__ void list_positions(u64 size, const u32* bits, const u64* ends, u64 first, To* out) {
    u64 i = thread_index();
    if (i < size && has(bits, i)) out[rank(bits, ends, i)] = To(first + i);
}
