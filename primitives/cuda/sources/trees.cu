// Kernels over forests of parents: find and number roots, and join sets of nodes in order.
#include "common.cuh"

template <class Index>
__global__ void cut_mirrors(u64 size, const Index* target, Index* parent, u32* non_roots) {
    u64 i = thread_index();
    bool is_non_root = false;
    if (i < size) {
        Index head = target[i], node = Index(i);
        parent[i] = node < head && target[head] == node ? node : head;
        is_non_root = parent[i] != node;
    }
    write_bit(non_roots, size, i, is_non_root);
}

// Return the root of a node, and halve the path to it. Threads write only ancestors of a node, so
// all of them find the same root.
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

// A late write may undo a newer one, so the roots go to a separate array.
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

// A round of joining pairs in order takes two launches. The host may start several rounds before it
// reads a length, so the lengths of lists are on the device, except for the first length.
//
// First, each set finds its first pair, and the first pairs of the previous round are reset.
template <class Index, class Position>
__global__ void find_first(
    u64 size, u64 is_counted, const u64* length, const Index* u, const Index* v, const Position* position,
    u64 is_listed, Index* parent, Position* first, Position* old_first, Index* left_u,
    Index* left_v, Position* left, u64* left_length
) {
    u64 i = thread_index();
    bool is_pair = i < (is_counted ? *length : size);
    Index a = 0, b = 0;
    if (is_pair) {
        a = find(parent, u[i]);
        b = find(parent, v[i]);
    }
    u64 place = draw_place(left_length, a != b);
    if (is_pair && is_listed) {
        store(old_first + u[i], NONE<Position>);
        store(old_first + v[i], NONE<Position>);
    }
    if (a == b) return;
    Position pair = is_listed ? position[i] : Position(i);
    left_u[place] = a;
    left_v[place] = b;
    left[place] = pair;
    lower(first + a, pair);
    lower(first + b, pair);
}

// Then the first pairs join their sets. The smaller root becomes the parent of the larger one.
template <class Index, class Position>
__global__ void join_first(
    u64, const u64* length, const Index* u, const Index* v, const Position* position,
    const Position* first, Index* parent, u32* joining
) {
    u64 i = thread_index();
    if (i >= *length || (first[u[i]] != position[i] && first[v[i]] != position[i])) return;
    add(joining, position[i]);
    for (Index a = u[i], b = v[i];;) {
        a = find(parent, a);
        b = find(parent, b);
        if (a == b) return;
        Index low = a < b ? a : b, high = a < b ? b : a;
        if (atomicCAS(parent + high, high, low) == high) return;
    }
}
