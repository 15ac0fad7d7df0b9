// Pairs: those that are kept, and the first smallest at each of their members.
#include "common.cuh"

template <class Index, class Key>
__global__ void flag_light(
    u64 size, const Index* u, const Index* v, const Key* key, u64 limit, u32* bits
) {
    u64 i = thread_index();
    write_bit(bits, size, i, i < size && key[i] <= limit && u[i] != v[i]);
}

template <class Label, class Index>
__global__ void flag_joining(
    u64 size, const Label* label, const Index* u, const Index* v, u32* bits
) {
    u64 i = thread_index();
    write_bit(bits, size, i, i < size && label[u[i]] != label[v[i]]);
}

template <class Label, class Index>
__global__ void move_labels(
    u64 size, const u32* bits, const u64* ends, const Label* label, const Index* index, Label* out
) {
    u64 i = thread_index();
    if (i < size && has(bits, i)) out[rank(bits, ends, i)] = label[index[i]];
}

// A record is a key of 32 bits above its position.
template <class Index, class Key>
__global__ void lower_records(u64 size, const Index* index, const Key* key, u64* records) {
    u64 i = thread_index();
    if (i < size) lower(records + index[i], u64(key[i]) << 32 | i);
}

// Where key and position do not fit in a word, the keys are lowered first ...
template <class Index, class Key>
__global__ void lower_keys(u64 size, const Index* index, const Key* key, u64* smallest) {
    u64 i = thread_index();
    if (i < size) lower(smallest + index[i], u64(key[i]));
}

// ... and then the positions of those that are smallest.
template <class Index, class Key>
__global__ void lower_positions(
    u64 size, const Index* index, const Key* key, const u64* smallest, u64* position
) {
    u64 i = thread_index();
    if (i < size && key[i] == smallest[index[i]]) lower(position + index[i], i);
}

// The id and the other member of the first smallest pair of each place; without one, the place.
// Positions are in the bits of `mask`.
template <class Index, class Id>
__global__ void follow(
    u64 size, const u64* positions, u64 mask, u64 none, const Index* u, const Index* v,
    const Id* ids, u64 no_id, Id* out_id, Index* other
) {
    u64 i = thread_index();
    if (i >= size) return;
    u64 pair = positions[i] & mask;
    out_id[i] = pair < none ? ids[pair] : Id(no_id);
    other[i] = pair < none ? Index(u[pair] ^ v[pair] ^ Index(i)) : Index(i);
}
