// Global memory during one launch: arrays, the checks of each access, and weakly ordered values.
//
// A plain access must not meet an access of another thread, if either writes: that is a race, and an
// error. So plain accesses need no memory model. Strong ones (volatile or atomic) may meet. A strong
// store may become visible late, and a strong load may return an old value, as far as coherence
// allows: at each address, no thread sees values in another order than they were written.
#pragma once

#include <algorithm>
#include <unordered_map>

#include "program.h"

struct Random {
    u64 state;
    u64 operator()() {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        return state * 0x2545F4914F6CDD1DULL >> 16;
    }
    u64 below(u64 bound) { return operator()() % bound; }
};

// An argument: `written` has a byte for each byte of the array, 0 if it is uninitialised, or is null.
struct Array { u64 address, bytes; u8* written; };

class Memory {
public:
    Memory(const Array* arrays, u32 count, bool is_weak, Random& random)
        : is_weak(is_weak), random(random) {
        for (u32 i = 0; i < count; ++i)
            if (arrays[i].bytes) regions.push_back({arrays[i], 0, {}});
        std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) {
            return a.array.address < b.array.address;
        });
        merge_views();
    }

    u64 load(u64 address, const Instruction& by, u32 thread) {
        access(address, by, thread, true, false);
        if (!by.is_strong || !is_weak) return read(address, by.type.bytes);
        for (auto late = stores.rbegin(); late != stores.rend(); ++late)
            if (late->thread == thread && late->address == address) return late->value;
        return some_version(address, by.type.bytes, thread);
    }

    void store(u64 address, u64 value, const Instruction& by, u32 thread) {
        access(address, by, thread, false, true);
        if (by.is_strong && is_weak) {
            stores.push_back({address, value, thread, by.type.bytes});
            if (stores.size() > LATE) commit(random.below(stores.size()));
        } else {
            write(address, value, by.type.bytes);
        }
    }

    // Apply a read-modify-write; return the old value.
    template <class Modify>
    u64 update(u64 address, const Instruction& by, u32 thread, Modify modify) {
        access(address, by, thread, true, true);
        for (std::size_t i = 0; i < stores.size();)
            if (stores[i].thread == thread && stores[i].address == address) commit(i);
            else ++i;
        const u64 old = read(address, by.type.bytes), value = modify(old);
        publish(address, value, by.type.bytes, thread);
        return old;
    }

    // Now and then a late store becomes visible.
    void step() {
        if (!stores.empty() && random.below(8) == 0) commit(random.below(stores.size()));
    }

    void finish() {
        while (!stores.empty()) commit(random.below(stores.size()));
    }

private:
    // Threads that made each kind of access, plus 1; MANY if there were several.
    struct Record { u32 plain_read, strong_read, plain_write, strong_write; };
    struct Region { Array array; u32 width; std::vector<Record> records; };
    struct Store { u64 address, value; u32 thread; u8 bytes; };
    // The last values of a place; `first` is the number of the oldest, and `seen` of the newest that
    // each thread has met.
    struct History { u64 first; std::vector<u64> values; std::unordered_map<u32, u64> seen; };
    static constexpr u32 MANY = ~0u;
    static constexpr std::size_t LATE = 64, VERSIONS = 8;

    std::vector<Region> regions;
    const bool is_weak;
    Random& random;
    std::vector<Store> stores;
    std::unordered_map<u64, History> histories;

    // One array may be given twice, or as overlapping views.
    void merge_views() {
        std::size_t kept = 0;
        for (std::size_t i = 1; i < regions.size(); ++i) {
            Array &one = regions[kept].array, &next = regions[i].array;
            if (next.address < one.address + one.bytes)
                one.bytes = std::max(one.bytes, next.address + next.bytes - one.address);
            else
                regions[++kept] = regions[i];
        }
        if (!regions.empty()) regions.resize(kept + 1);
    }

    static bool is_inside(const Region& region, u64 address, u32 bytes) {
        const Array& array = region.array;
        return address >= array.address && address + bytes <= array.address + array.bytes;
    }

    Region& region_of(u64 address, const Instruction& by) {
        std::size_t& at = by.region;
        if (at < regions.size() && is_inside(regions[at], address, by.type.bytes)) return regions[at];
        for (at = 0; at < regions.size(); ++at)
            if (is_inside(regions[at], address, by.type.bytes)) return regions[at];
        throw Finding("access outside all arrays: " + string(by.text));
    }

    // Check an access, and record it.
    void access(u64 address, const Instruction& by, u32 thread, bool reads, bool writes) {
        const u32 bytes = by.type.bytes;
        Region& region = region_of(address, by);
        const u64 offset = address - region.array.address;
        if (address % bytes) throw Finding("misaligned access: " + string(by.text));
        if (region.records.empty()) {
            region.width = bytes;
            region.records.resize(region.array.bytes / bytes + 1);
        }
        if (region.width != bytes) throw Finding("access of another width: " + string(by.text));
        u8* written = region.array.written ? region.array.written + offset : nullptr;
        if (reads && written && std::any_of(written, written + bytes, [](u8 byte) { return !byte; }))
            throw Finding("read of uninitialised memory: " + string(by.text));
        if (writes && written) std::fill_n(written, bytes, 1);
        Record& record = region.records[offset / bytes];
        bool is_race = others(record.plain_write, thread);
        if (!by.is_strong) is_race |= others(record.strong_write, thread);
        if (writes) is_race |= others(record.plain_read, thread);
        if (writes && !by.is_strong) is_race |= others(record.strong_read, thread);
        if (is_race) throw Finding("race: " + string(by.text));
        if (reads) note(by.is_strong ? record.strong_read : record.plain_read, thread);
        if (writes) note(by.is_strong ? record.strong_write : record.plain_write, thread);
    }

    static bool others(u32 who, u32 thread) { return who && who != thread + 1; }

    static void note(u32& who, u32 thread) { who = !who || who == thread + 1 ? thread + 1 : MANY; }

    static u64 read(u64 address, u8 bytes) {
        u64 value = 0;
        std::memcpy(&value, reinterpret_cast<const void*>(address), bytes);
        return value;
    }

    static void write(u64 address, u64 value, u8 bytes) {
        std::memcpy(reinterpret_cast<void*>(address), &value, bytes);
    }

    // Write a value that other threads may see, and remember the older ones.
    void publish(u64 address, u64 value, u8 bytes, u32 thread) {
        if (is_weak) {
            auto [at, is_new] = histories.try_emplace(address);
            History& history = at->second;
            if (is_new) history = {0, {read(address, bytes)}, {}};
            history.values.push_back(value);
            if (history.values.size() > VERSIONS) {
                history.values.erase(history.values.begin());
                ++history.first;
            }
            history.seen[thread] = history.first + history.values.size() - 1;
        }
        write(address, value, bytes);
    }

    // Make a late store visible: of those to its place by its thread, the oldest.
    void commit(std::size_t which) {
        const Store chosen = stores[which];
        auto oldest = std::find_if(stores.begin(), stores.end(), [&](const Store& store) {
            return store.thread == chosen.thread && store.address == chosen.address;
        });
        const Store store = *oldest;
        stores.erase(oldest);
        publish(store.address, store.value, store.bytes, store.thread);
    }

    u64 some_version(u64 address, u8 bytes, u32 thread) {
        auto found = histories.find(address);
        if (found == histories.end()) return read(address, bytes);
        History& history = found->second;
        const u64 newest = history.first + history.values.size() - 1;
        u64& floor = history.seen[thread];
        floor = std::max(floor, history.first);
        if (random.below(2)) floor = newest;
        else floor += random.below(newest - floor + 1);
        return history.values[floor - history.first];
    }
};
