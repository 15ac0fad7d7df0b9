// Kernels over pairs: select, relabel, and find the smallest pair at each place.
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
    u64 size, const u32* bits, const u64* ends, const Label* label, const Index* u, const Index* v,
    Label* moved_u, Label* moved_v
) {
    u64 i = thread_index();
    if (i >= size || !has(bits, i)) return;
    u64 place = rank(bits, ends, i);
    moved_u[place] = label[u[i]];
    moved_v[place] = label[v[i]];
}

// A record is a word with the key in its upper half and the position in its lower half.
template <class Index, class ShortKey>
__global__ void lower_records(u64 size, const Index* index, const ShortKey* key, u64* records) {
    u64 i = thread_index();
    if (i < size) lower(records + index[i], u64(key[i]) << 32 | i);
}

// If key and position do not fit in a word, `scatter_min` finds the smallest keys. Then this kernel
// finds their first positions.
template <class Index>
__global__ void lower_positions(
    u64 size, const Index* index, const u64* key, const u64* smallest, u64* position
) {
    u64 i = thread_index();
    if (i < size && key[i] == smallest[index[i]]) lower(position + index[i], i);
}

// Look up the id and the other member of the pair at each place. A place without a pair gets `no_id`
// and itself. The bits of `mask` hold the positions.
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
