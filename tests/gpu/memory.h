// Global memory during one launch: arrays, the checks of each access, and weakly ordered values.
//
// A plain access must not meet an access of another thread, if either writes: that is a race, and an
// error. So plain accesses need no memory model. Strong ones (volatile or atomic) may meet. A strong
// store may become visible late, and a strong load may return an old value, as far as coherence
// allows: at each address, no thread sees values in another order than they were written.
#pragma once

#include <algorithm>
#include <memory>
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

// An array on the device; `written` has a byte for each byte of it, 0 if it is uninitialised.
struct Array { u64 address, bytes; std::vector<u8> written; };
// Arrays by address; none overlap.
using Arrays = std::map<u64, std::shared_ptr<Array>>;

// The bytes of an array that a launch reads or writes.
struct Span {
    u64 begin = ~u64(0), end = 0;
    void add(u64 address, u64 bytes) { begin = std::min(begin, address), end = std::max(end, address + bytes); }
};

// The bytes that a kernel loads and stores; the accesses that are far from those of the thread
// before, so that they move a sector of memory for themselves; and the requests to the hottest sector
// of each launch. A request is an instruction of a warp, in lockstep. Plain loads are served by the
// first-level cache, so they are one request of each block.
struct Traffic { u64 launches, bytes, random, hot; };
constexpr u64 SECTOR = 32;
// The requests to a sector, and those that were last counted.
struct Heat { u64 requests, request; u32 block; };

enum class Checks { none, values, all };  // of a launch: bounds; also initialised values; also races

class Memory {
public:
    // Threads that made each kind of access, plus 1; MANY if there were several.
    struct Record { u32 plain_read, strong_read, plain_write, strong_write; };
    struct Region {
        std::shared_ptr<Array> array; u32 width; std::vector<Record> records; Span read, written; std::vector<Heat> heat;
    };

    const Checks checks;
    std::vector<Region> regions;  // in the order of their addresses
    Traffic traffic{};
    u64 request = 0;  // the number of the instruction of a warp
    u32 block = 0;    // its block, plus 1

    // If `may_repeat`, several threads may write one value to a place.
    Memory(const Arrays& arrays, Checks checks, bool is_weak, bool may_repeat, Random& random)
        : checks(checks), is_weak(is_weak), may_repeat(may_repeat), random(random) {
        for (auto& [address, array] : arrays) regions.push_back({array, 0, {}, {}, {}, {}});
    }

    u64 load(u64 address, const Instruction& by, u32 thread) {
        access(address, by, thread, true, false);
        if (!by.is_strong || !is_weak) return read(address, by.type.bytes);
        for (auto late = stores.rbegin(); late != stores.rend(); ++late)
            if (late->thread == thread && late->address == address) return late->value;
        return some_version(address, by.type.bytes, thread);
    }

    void store(u64 address, u64 value, const Instruction& by, u32 thread) {
        access(address, by, thread, false, true, may_repeat && read(address, by.type.bytes) == value);
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

    // Make the late stores of a thread visible.
    void fence(u32 thread) {
        for (std::size_t i = 0; i < stores.size();)
            if (stores[i].thread == thread) commit(i);
            else ++i;
    }

    void finish() {
        while (!stores.empty()) commit(random.below(stores.size()));
    }

private:
    struct Store { u64 address, value; u32 thread; u8 bytes; };
    // The last values of a place; `first` is the number of the oldest, and `seen` of the newest that
    // each thread has met.
    struct History { u64 first; std::vector<u64> values; std::unordered_map<u32, u64> seen; };
    static constexpr u32 MANY = ~0u;
    static constexpr std::size_t LATE = 64, VERSIONS = 8;

    const bool is_weak, may_repeat;
    Random& random;
    std::vector<Store> stores;
    std::unordered_map<u64, History> histories;

    static bool is_inside(const Region& region, u64 address, u32 bytes) {
        const Array& array = *region.array;
        return address >= array.address && address + bytes <= array.address + array.bytes;
    }

    Region& region_of(u64 address, const Instruction& by) {
        std::size_t& at = by.region;
        if (at < regions.size() && is_inside(regions[at], address, by.type.bytes)) return regions[at];
        at = std::upper_bound(regions.begin(), regions.end(), address, [](u64 place, const Region& region) {
            return place < region.array->address;
        }) - regions.begin() - 1;
        if (at < regions.size() && is_inside(regions[at], address, by.type.bytes)) return regions[at];
        throw Finding("access outside all arrays: " + string(by.text));
    }

    // Check an access, and record it.
    void access(u64 address, const Instruction& by, u32 thread, bool reads, bool writes, bool repeats = false) {
        const u32 bytes = by.type.bytes;
        Region& region = region_of(address, by);
        traffic.bytes += bytes;
        traffic.random += address - by.last + SECTOR > 2 * SECTOR;
        by.last = address;
        if (reads) region.read.add(address, bytes);
        if (writes) region.written.add(address, bytes);
        if (address % bytes) throw Finding("misaligned access: " + string(by.text));
        const u64 offset = address - region.array->address;
        if (checks == Checks::none) return heat(region, offset / SECTOR, by.is_strong || writes);
        u8* written = &region.array->written[offset];
        if (reads && std::any_of(written, written + bytes, [](u8 byte) { return !byte; }))
            throw Finding("read of uninitialised memory: " + string(by.text));
        if (writes) std::fill_n(written, bytes, 1);
        if (checks != Checks::all) return;
        if (region.records.empty()) {
            region.width = bytes;
            region.records.resize(region.array->bytes / bytes + 1);
        }
        if (region.width != bytes) throw Finding("access of another width: " + string(by.text));
        Record& record = region.records[offset / bytes];
        bool is_race = !repeats && others(record.plain_write, thread);
        if (!by.is_strong) is_race |= others(record.strong_write, thread);
        if (writes) is_race |= others(record.plain_read, thread);
        if (writes && !by.is_strong) is_race |= others(record.strong_read, thread);
        if (is_race) throw Finding("race: " + string(by.text));
        if (reads) note(by.is_strong ? record.strong_read : record.plain_read, thread);
        if (writes) note(by.is_strong ? record.strong_write : record.plain_write, thread);
    }

    // Count a request to a sector, unless the same instruction of the warp has made it.
    void heat(Region& region, u64 sector, bool passes_cache) {
        if (region.heat.empty()) region.heat.resize(region.array->bytes / SECTOR + 1);
        Heat& found = region.heat[sector];
        if (found.request == request || (!passes_cache && found.block == block)) return;
        found = {found.requests + 1, request, passes_cache ? found.block : block};
        traffic.hot = std::max(traffic.hot, found.requests);
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
