// Run CUDA kernels on a processor: the features of CUDA they use, in C++, and a loop over threads.
//
// Two threads of OpenMP share a launch, each taking every other CUDA thread, so that atomics meet.
// The order of the threads follows from `seed`. A warp has one lane.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#define __global__
#define __device__

struct Place { unsigned x; };
thread_local Place blockIdx, threadIdx;
constexpr Place blockDim{256};

template <class T>
T atomicAdd(T* place, T value) { return __atomic_fetch_add(place, value, __ATOMIC_RELAXED); }

template <class T>
T atomicOr(T* place, T value) { return __atomic_fetch_or(place, value, __ATOMIC_RELAXED); }

template <class T>
T atomicAnd(T* place, T value) { return __atomic_fetch_and(place, value, __ATOMIC_RELAXED); }

template <class T>
T atomicCAS(T* place, T expected, T value) {
    __atomic_compare_exchange_n(place, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

// Atomically replace a value by one that comes before it.
template <class T, class Before>
T replace(T* place, T value, Before before) {
    T old = __atomic_load_n(place, __ATOMIC_RELAXED);
    while (before(value, old))
        if (T seen = atomicCAS(place, old, value); seen == old) break; else old = seen;
    return old;
}

template <class T>
T atomicMin(T* place, T value) { return replace(place, value, std::less<T>{}); }

template <class T>
T atomicMax(T* place, T value) { return replace(place, value, std::greater<T>{}); }

inline int __popc(unsigned word) { return __builtin_popcount(word); }

#include "common.cuh"

// In the last word the threads beyond the size have bits too, as on a device.
inline void write_bit(u32* bits, u64 size, u64 i, bool bit) {
    if (i / WORD >= (size + WORD - 1) / WORD) return;
    if (bit) add(bits, i);
    else atomicAnd(bits + i / WORD, ~(u32(1) << (i % WORD)));
}

inline u64 draw_place(u64* count, bool wants) { return wants ? atomicAdd(count, u64(1)) : 0; }

template <class... Types, std::size_t... place>
void call(void (*kernel)(u64, Types...), u64 size, void** arguments, std::index_sequence<place...>) {
    kernel(size, *static_cast<Types*>(arguments[place])...);
}

// Bytes of an element of an array, 0 of a scalar.
template <class T>
constexpr u64 width = std::is_pointer_v<T> ? sizeof(std::remove_pointer_t<T>) : 0;

template <class... Types>
bool are_alike(const u64* widths) {
    return ((width<Types> == *widths++) && ...);
}

// `arguments` holds a pointer to each, as a launch on a device takes them, which does not ask for
// their types; here those that are not the kernel's are refused.
template <class... Types>
bool run(
    void (*kernel)(u64, Types...), u64 size, void** arguments, const u64* widths, u64 seed
) {
    if (!are_alike<Types...>(widths)) return false;
    const u64 threads = (size + blockDim.x - 1) / blockDim.x * blockDim.x;
    u64 span = blockDim.x;  // an odd stride meets every number below a power of two once
    while (span < threads) span *= 2;
#pragma omp parallel for num_threads(2) schedule(static, 1) if (threads > 16 * blockDim.x)
    for (u64 step = 0; step < span; ++step) {
        const u64 thread = (step * (2 * seed + 1) + seed) % span;
        if (thread >= threads) continue;
        blockIdx.x = unsigned(thread / blockDim.x);
        threadIdx.x = unsigned(thread % blockDim.x);
        call(kernel, size, arguments, std::index_sequence_for<Types...>{});
    }
    return true;
}
