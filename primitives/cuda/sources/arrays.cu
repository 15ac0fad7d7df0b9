// Kernels over single elements: gather, broadcast, scatter, and the keys of weights.
#include "common.cuh"

template <class T, class Index>
__global__ void gather(u64 size, const T* values, const Index* index, T* out) {
    u64 i = thread_index();
    if (i < size) out[i] = values[index[i]];
}

// `fill` has one element (`step` is 0) or one for each element of `index` (`step` is 1).
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
    u64 low = 0, high = segments;  // the last segment that starts at or before i is in [low, high)
    while (high - low > 1) {
        u64 middle = low + (high - low) / 2;
        (offsets[middle] <= i ? low : high) = middle;
    }
    out[i] = values[low];
}

template <class Value, class Index>
__global__ void scatter_min(u64 size, const Index* index, const Value* values, Value* out) {
    u64 i = thread_index();
    if (i < size) lower(out + index[i], values[i]);
}

template <class Value, class Index>
__global__ void scatter_max(u64 size, const Index* index, const Value* values, Value* out) {
    u64 i = thread_index();
    if (i < size) raise(out + index[i], values[i]);
}

template <class Value, class Index>
__global__ void scatter_add(u64 size, const Index* index, const Value* values, Value* out) {
    u64 i = thread_index();
    if (i < size) atomicAdd(out + index[i], values[i]);
}

// Flip the sign bit of signed numbers, and all bits of a negative float.
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
