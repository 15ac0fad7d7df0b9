// Elements by their places: gathered, scattered, repeated; and the order of weights.
#include "common.cuh"

template <class T, class Index>
__global__ void gather(u64 size, const T* values, const Index* index, T* out) {
    u64 i = thread_index();
    if (i < size) out[i] = values[index[i]];
}

// `fill` has one element for all, or with a `step` of 1 one for each.
template <class T, class Index>
__global__ void gather_or_fill(
    u64 size, const T* values, u64 length, const Index* index, const T* fill, u64 step, T* out
) {
    u64 i = thread_index();
    if (i < size) out[i] = index[i] < length ? values[index[i]] : fill[i * step];
}

template <class T, class Index>
__global__ void broadcast(
    u64 size, const T* values, const Index* offsets, u64 segments, T* out
) {
    u64 i = thread_index();
    if (i >= size) return;
    u64 low = 0, high = segments;  // the segment is in [low, high): the last that starts by i
    while (high - low > 1) {
        u64 middle = low + (high - low) / 2;
        (offsets[middle] <= i ? low : high) = middle;
    }
    out[i] = values[low];
}

template <class T, class Index>
__global__ void scatter_min(u64 size, const Index* index, const T* values, T* out) {
    u64 i = thread_index();
    if (i < size) lower(out + index[i], values[i]);
}

template <class T, class Index>
__global__ void scatter_max(u64 size, const Index* index, const T* values, T* out) {
    u64 i = thread_index();
    if (i < size) raise(out + index[i], values[i]);
}

template <class T, class Index>
__global__ void scatter_add(u64 size, const Index* index, const T* values, T* out) {
    u64 i = thread_index();
    if (i < size) atomicAdd(out + index[i], values[i]);
}

// Turn the sign bit of numbers that have one, and all bits of a negative float.
template <class T>
__global__ void order_key(
    u64 size, const T* bits, u64 is_signed, u64 is_float, u64 is_descending, T* out
) {
    u64 i = thread_index();
    if (i >= size) return;
    T word = bits[i], sign = T(T(1) << (8 * sizeof(T) - 1));
    if (is_signed && is_float && word == sign) word = 0;  // -0.0 becomes 0.0
    if (is_signed) word ^= is_float && (word & sign) ? NONE<T> : sign;
    out[i] = is_descending ? T(~word) : word;
}
