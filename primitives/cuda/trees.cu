// Forests of parents: arrows cut, roots found and numbered; and sets of nodes joined in order.
#include "common.cuh"

template <class Index>
__global__ void cut_mirrors(u64 size, const Index* target, Index* parent, u32* others) {
    u64 i = thread_index();
    bool is_other = false;
    if (i < size) {
        Index there = target[i], node = Index(i);
        parent[i] = node < there && target[there] == node ? node : there;
        is_other = parent[i] != node;
    }
    write_bit(others, size, i, is_other);
}

// Halve the path on the way. What is written is an ancestor of the node, whatever others write
// meanwhile, so that every thread ends at the same root.
template <class Index>
__device__ inline Index find(Index* parent, Index node) {
    for (Index above = load(parent + node);;) {
        Index next = load(parent + above);
        if (next == above) return above;
        store(parent + node, next);
        node = next;
        above = load(parent + node);
    }
}

// A late write may undo a newer one, so the roots go to an array of their own.
template <class Index>
__global__ void find_roots(u64 size, Index* parent, Index* root) {
    u64 i = thread_index();
    if (i < size) root[i] = find(parent, Index(i));
}

template <class Index>
__global__ void flag_roots(u64 size, const Index* root, u32* bits) {
    u64 i = thread_index();
    write_bit(bits, size, i, i < size && root[i] == i);
}

template <class Index>
__global__ void number_roots(
    u64 size, const u32* bits, const u64* ends, const Index* root, Index* number
) {
    u64 i = thread_index();
    if (i < size) number[i] = Index(rank(bits, ends, root[i]));
}

// A round of joining pairs in order takes three kernels: every set finds its first pair, ...
template <class Index, class Position>
__global__ void find_first(
    u64 size, const Index* u, const Index* v, const Position* position, u64 is_listed,
    Index* parent, Position* first, Index* left_u, Index* left_v, Position* left, u64* count
) {
    u64 i = thread_index();
    Index a = 0, b = 0;
    if (i < size) {
        a = find(parent, u[i]);
        b = find(parent, v[i]);
    }
    u64 place = draw_place(count, a != b);
    if (a == b) return;
    Position pair = is_listed ? position[i] : Position(i);
    left_u[place] = a;
    left_v[place] = b;
    left[place] = pair;
    lower(first + a, pair);
    lower(first + b, pair);
}

// ... sets are joined by their first pairs, the larger root below the smaller, ...
template <class Index, class Position>
__global__ void join_first(
    u64 size, const Index* u, const Index* v, const Position* position, const Position* first,
    Index* parent, u32* joining
) {
    u64 i = thread_index();
    if (i >= size || (first[u[i]] != position[i] && first[v[i]] != position[i])) return;
    add(joining, position[i]);
    for (Index a = u[i], b = v[i];;) {
        a = find(parent, a);
        b = find(parent, b);
        if (a == b) return;
        Index low = a < b ? a : b, high = a < b ? b : a;
        if (atomicCAS(parent + high, high, low) == high) return;
    }
}

// ... and forget them.
template <class Index, class Position>
__global__ void forget_first(u64 size, const Index* u, const Index* v, Position* first) {
    u64 i = thread_index();
    if (i >= size) return;
    store(first + u[i], NONE<Position>);
    store(first + v[i], NONE<Position>);
}
