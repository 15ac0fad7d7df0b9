// The fake device: its memory, and streams whose operations run late, in any allowed order.
//
// An operation waits for those before it in its stream, for events, and for the default stream. It runs
// when the host waits for it, or at a random time before. Each has a clock of the operations that happen
// before it. Two operations that access the same bytes without such an order are a fault.
#pragma once

#include <functional>

#include "machine.h"

// For each stream, the number of its operations that have happened before.
using Clock = std::vector<u64>;

inline void merge(Clock& clock, const Clock& other) {
    if (clock.size() < other.size()) clock.resize(other.size());
    for (std::size_t i = 0; i < other.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

struct Operation {
    std::size_t stream;
    u64 number;
    Clock clock;
    std::function<void(Operation&)> run;
    std::vector<std::shared_ptr<Operation>> needs;
    string name;
    bool is_done = false;
};

struct Stream {
    std::size_t index;
    bool is_blocking;  // whether it waits for the default stream, and that one for it
    u64 length = 0;
    std::shared_ptr<Operation> last{};
};

// A block of memory from cudaMalloc, with the accesses that a later one may conflict with.
struct Access { u64 begin, end; std::size_t stream; u64 number; bool writes; string name; };
struct Block { u64 bytes; std::vector<u8> memory; std::vector<Access> accesses; };

struct Counts {
    u64 launches, sorts, copies_in, copies_out, copies_within, sets, waits, allocations, streams,
        instructions, bytes_in, bytes_out, largest_out;
};

class Device {
public:
    Random random{1};
    Counts counts{};
    std::map<string, Traffic> traffic;  // of each kernel
    Checks checks = Checks::all;
    bool is_late = true, is_pooled = false;  // arrays: as announced, or one for each block
    u64 capacity = u64(1) << 36, used = 0;
    i64 failure = -1;  // the number of allocations before all fail
    string finding;

    Device() { add_stream(true); }

    Stream* default_stream() { return streams[0].get(); }

    Stream* add_stream(bool is_blocking) {
        ++counts.streams;
        streams.push_back(std::make_unique<Stream>(Stream{streams.size(), is_blocking}));
        return streams.back().get();
    }

    // Memory.

    u64 allocate(u64 bytes) {
        ++counts.allocations;
        if (failure >= 0 && (failure ? failure-- : 0) == 0) return 0;
        if (used + bytes > capacity) return 0;
        Block block{bytes, std::vector<u8>(bytes + 2 * ALIGN, 0xa5), {}};
        const u64 address = (u64(block.memory.data()) + ALIGN - 1) / ALIGN * ALIGN;
        used += bytes;
        blocks.emplace(address, std::move(block));
        if (!is_pooled) announce(address, bytes);
        return address;
    }

    // Release a block; like CUDA, wait for all operations first.
    bool release(u64 address) {
        auto found = blocks.find(address);
        if (found == blocks.end()) return false;
        synchronise();
        forget(address, found->second.bytes);
        used -= found->second.bytes;
        blocks.erase(found);
        return true;
    }

    // Make bytes of a block a new array; arrays that were there are gone.
    void announce(u64 address, u64 bytes) {
        forget(address, bytes);
        if (bytes) arrays[address] = std::make_shared<Array>(Array{address, bytes, std::vector<u8>(checks == Checks::none ? 0 : bytes)});
    }

    bool is_device(u64 address) {
        auto after = blocks.upper_bound(address);
        return after != blocks.begin() && address - (--after)->first < std::max<u64>(1, after->second.bytes);
    }

    // Operations.

    std::shared_ptr<Operation> enqueue(Stream* stream, string name, std::function<void(Operation&)> run) {
        auto operation = std::make_shared<Operation>();
        operation->stream = stream->index, operation->number = ++stream->length;
        operation->run = std::move(run), operation->name = std::move(name);
        operation->clock = host;
        const auto need = [&](const std::shared_ptr<Operation>& other) {
            if (!other) return;
            merge(operation->clock, other->clock);
            if (!other->is_done) operation->needs.push_back(other);
        };
        need(stream->last);
        if (stream == default_stream()) {
            for (auto& other : streams)
                if (other->is_blocking) need(other->last);
        } else if (stream->is_blocking) {
            need(default_stream()->last);
        }
        if (operation->clock.size() <= stream->index) operation->clock.resize(stream->index + 1);
        operation->clock[stream->index] = operation->number;
        stream->last = operation;
        pending.push_back(operation);
        if (!is_late) perform(operation);
        else if (pending.size() > MANY) perform(pending.front());
        else if (random.below(4) == 0) perform(pending[random.below(pending.size())]);
        return operation;
    }

    // Let the operations that come next in a stream wait for another one.
    void order(Stream* stream, const std::shared_ptr<Operation>& before) {
        if (!before) return;
        enqueue(stream, "wait", [](Operation&) {});
        merge(stream->last->clock, before->clock);
        if (!before->is_done) {
            if (stream->last->is_done) perform(before);
            else stream->last->needs.push_back(before);
        }
    }

    // Let the host wait for an operation.
    void wait(const std::shared_ptr<Operation>& operation) {
        if (!operation) return;
        counts.waits += host.size() <= operation->stream || host[operation->stream] < operation->number;
        learn(operation);
    }

    // Let the host learn that an operation is done, without a wait.
    void learn(const std::shared_ptr<Operation>& operation) {
        if (!operation) return;
        perform(operation);
        merge(host, operation->clock);
    }

    // Run all operations, without a wait of the host.
    void finish() {
        while (!pending.empty()) perform(pending[random.below(pending.size())]);
    }

    void synchronise() {
        finish();
        for (auto& stream : streams)
            if (stream->last) wait(stream->last);
    }

    // Run an operation, and first those that it needs.
    void perform(std::shared_ptr<Operation> operation) {
        std::vector<std::shared_ptr<Operation>> stack{operation};
        while (!stack.empty()) {
            auto top = stack.back();
            std::vector<std::shared_ptr<Operation>> open;
            for (auto& need : top->needs)
                if (!need->is_done) open.push_back(need);
            if (!open.empty()) {
                stack.push_back(open[random.below(open.size())]);
                continue;
            }
            stack.pop_back();
            if (top->is_done) continue;
            top->is_done = true;
            pending.erase(std::find(pending.begin(), pending.end(), top));
            if (finding.empty()) try {
                top->run(*top);
            } catch (const Finding& found) {
                finding = top->name + ": " + found.what();
            }
            top->run = nullptr, top->needs.clear();
        }
    }

    // Check that an operation may read or write bytes, and remember that it does.
    void touch(const Operation& by, u64 begin, u64 end, bool writes) {
        if (begin >= end) return;
        auto after = blocks.upper_bound(begin);
        if (after == blocks.begin()) throw Finding("access outside all blocks");
        auto& accesses = std::prev(after)->second.accesses;
        std::size_t kept = 0;
        for (Access& old : accesses) {
            const bool is_before = old.stream < by.clock.size() && old.number <= by.clock[old.stream];
            const bool meets = old.begin < end && begin < old.end;
            if (meets && !is_before && (writes || old.writes))
                throw Finding("no order between this and " + old.name + " on another stream");
            const bool is_covered = is_before && writes && begin <= old.begin && old.end <= end;
            const bool is_same = old.stream == by.stream && old.writes == writes && begin <= old.begin && old.end <= end;
            if (!is_covered && !is_same) std::swap(accesses[kept++], old);
        }
        accesses.resize(kept);
        accesses.push_back({begin, end, by.stream, by.number, writes, by.name});
    }

    // Let an operation read or write bytes of one of the arrays that were known when it was queued;
    // return their flags, or null if they are not kept.
    u8* use(const Operation& by, const Arrays& known, u64 address, u64 bytes, bool reads, bool writes) {
        if (!bytes) return nullptr;
        auto after = known.upper_bound(address);
        if (after == known.begin()) throw Finding("access outside all arrays");
        Array& array = *std::prev(after)->second;
        if (address + bytes > array.address + array.bytes) throw Finding("access outside all arrays");
        if (reads) touch(by, address, address + bytes, false);
        if (writes) touch(by, address, address + bytes, true);
        return array.written.empty() ? nullptr : &array.written[address - array.address];
    }

    Arrays arrays;

private:
    static constexpr u64 ALIGN = 512;
    static constexpr std::size_t MANY = 256;

    std::map<u64, Block> blocks;
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<std::shared_ptr<Operation>> pending;
    Clock host;  // operations that the host has waited for

    void forget(u64 address, u64 bytes) {
        auto at = arrays.lower_bound(address);
        if (at != arrays.begin() && std::prev(at)->first + std::prev(at)->second->bytes > address) --at;
        while (at != arrays.end() && at->first < address + std::max<u64>(1, bytes)) at = arrays.erase(at);
    }
};
