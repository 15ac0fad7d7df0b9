// A record of the calls of one run, and its replay: the time of a replayed run is that of the host alone.
//
// Calls that need the device to run return at once in a replay, and copies to the host return the recorded bytes.
// The calls must be those of the record, in the same order and of the same size; all arguments but the size, and
// the bytes that the host sends, are not compared.
#pragma once

#include "memory.h"

class Tape {
public:
    enum Mode { OFF, RECORDS, PLAYS };

    bool plays() const { return mode == PLAYS; }

    // Begin a record or a replay, or end it; return whether a replay is complete.
    bool turn(Mode next) {
        const bool is_complete = mode != PLAYS || at == calls.size();
        if (next == RECORDS) calls.clear();
        mode = next, at = 0;
        return is_complete;
    }

    // Record a call, if one is recorded.
    void record(const string& name, u64 size) {
        if (mode == RECORDS) calls.push_back({name, size, std::make_shared<std::vector<u8>>()});
    }

    // Return where to keep the bytes of the last call, if it is recorded.
    std::shared_ptr<std::vector<u8>> last() const { return mode == RECORDS ? calls.back().bytes : nullptr; }

    // Replay a call; `to` receives the bytes of a copy to the host.
    void play(const string& name, u64 size, void* to = nullptr) {
        if (at == calls.size()) throw Finding("more calls than in the record: " + name);
        const Call& call = calls[at++];
        if (call.size != size || call.name != name)
            throw Finding("not the call of the record: " + name + " of " + std::to_string(size) + " instead of " + call.name + " of " + std::to_string(call.size));
        if (to) std::memcpy(to, call.bytes->data(), size);
    }

private:
    struct Call { string name; u64 size; std::shared_ptr<std::vector<u8>> bytes; };

    Mode mode = OFF;
    std::vector<Call> calls;
    std::size_t at = 0;
};
