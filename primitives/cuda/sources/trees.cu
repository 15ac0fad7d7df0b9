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
// The roots of large sets are small numbers, so most threads look up the same few sectors of memory.
// Requests to one sector wait for each other in the second-level cache, so the loads of `climb` are
// plain: the first-level caches serve them. Thus no thread may write parents in this launch, and
// paths stay long. After `STEPS` steps, `climb` gives up and returns an ancestor that is not a root.
constexpr int STEPS = 64;

template <class Index>
__device__ inline Index climb(const Index* parent, Index node, bool& is_root) {
    Index above = parent[node];
    for (int step = 0; above != node; ++step) {
        if (step == STEPS) {
            is_root = false;
            break;
        }
        node = above;
        above = parent[node];
    }
    return node;
}

// First, each set finds its first pair. A word of `first` has a position in its lower bits and the
// number of the round in its upper bits. These numbers descend, so the words of earlier rounds are
// larger, and need no reset. If a path is too long, `is_deep` is set, and no set may choose.
template <class Index, class Position>
__global__ void find_first(
    u64 size, u64 is_counted, const u64* length, const Index* u, const Index* v, const Position* position,
    u64 is_listed, u64 round, const Index* parent, u64* first, Index* left_u, Index* left_v,
    Position* left, u64* left_length, u64* is_deep
) {
    u64 i = thread_index();
    Index a = 0, b = 0;
    bool are_roots = true;
    if (i < (is_counted ? *length : size)) {
        a = climb(parent, u[i], are_roots);
        b = climb(parent, v[i], are_roots);
    }
    u64 place = draw_place(left_length, a != b);
    if (a == b) return;
    Position pair = is_listed ? position[i] : Position(i);
    left_u[place] = a;
    left_v[place] = b;
    left[place] = pair;
    if (!are_roots) raise(is_deep, u64(1));
    lower(first + a, round | pair);
    lower(first + b, round | pair);
}

// Then the first pairs join their sets. A root becomes the child of a smaller node of the other set.
// At first, both members of a pair are roots, so no search is needed unless another thread joins the
// larger one before. If a path is too long, all paths are halved instead.
template <class Index, class Position>
__global__ void join_first(
    u64, const u64* length, const u64* is_deep, const Index* u, const Index* v,
    const Position* position, u64 round, const u64* first, Index* parent, u32* joining
) {
    u64 i = thread_index();
    if (i >= *length) return;
    if (*is_deep) {
        find(parent, u[i]);
        find(parent, v[i]);
        return;
    }
    u64 pair = round | position[i];
    if (first[u[i]] != pair && first[v[i]] != pair) return;
    add(joining, position[i]);
    for (Index a = u[i], b = v[i]; a != b; a = find(parent, a), b = find(parent, b)) {
        Index low = a < b ? a : b, high = a < b ? b : a;
        if (atomicCAS(parent + high, high, low) == high) return;
    }
}
