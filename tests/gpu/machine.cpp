// Runs kernels: threads with program counters of their own, in an order that a seed determines.
//
// In a free order, any resident thread may take the next step. In lockstep, the threads of a warp
// that are furthest behind take it together. A few blocks are resident at a time, and blocks start in
// any order. Votes and shuffles wait for the threads that they name.
#include <memory>
#include <numeric>

#include "memory.h"

namespace {

constexpr u32 WARP = 32;
constexpr u64 ENDLESS = 100'000;  // instructions of a thread, on average, beyond which it has no end

u64 masked(u64 value, u32 bytes) { return bytes == 8 ? value : value & ((u64(1) << 8 * bytes) - 1); }

i64 extended(u64 value, u32 bytes) {
    const u32 unused = 64 - 8 * bytes;
    return i64(value << unused) >> unused;
}

bool holds(Compare compare, u64 a, u64 b, Type type) {
    const i64 x = type.bytes ? extended(a, type.bytes) : 0, y = type.bytes ? extended(b, type.bytes) : 0;
    const bool is_less = type.is_signed ? x < y : a < b;
    switch (compare) {
        case Compare::eq: return a == b;
        case Compare::ne: return a != b;
        case Compare::lt: return is_less;
        case Compare::le: return is_less || a == b;
        case Compare::gt: return !is_less && a != b;
        case Compare::ge: return !is_less;
    }
    return false;
}

u64 combined(Rmw rmw, u64 old, u64 a, u64 b) {
    switch (rmw) {
        case Rmw::add: return old + a;
        case Rmw::min: return std::min(old, a);
        case Rmw::max: return std::max(old, a);
        case Rmw::or_: return old | a;
        case Rmw::and_: return old & a;
        case Rmw::exch: return a;
        case Rmw::cas: return old == a ? b : old;
    }
    return old;
}

struct Launch {
    const Kernel& kernel;
    u32 blocks, threads_of_block;
    const u64* parameters;
};

class Machine {
public:
    Machine(const Launch& launch, Memory& memory, Random& random)
        : launch(launch), kernel(launch.kernel), memory(memory), random(random) {
        is_lockstep = random.below(2);
        // Half of the launches switch often; the others nearly run one thread after another.
        burst = u64(1) << (random.below(2) ? random.below(3) : 4 + random.below(8));
        resident = 1 + random.below(8);
        stride = 2 * random.below(launch.blocks) + 1;
        while (std::gcd<u64>(stride, launch.blocks) != 1) stride += 2;
        first = random.below(launch.blocks);
    }

    u64 run() {
        slots.resize(std::min<u64>(resident, launch.blocks) * launch.threads_of_block);
        registers.resize(slots.size() * kernel.registers);
        for (u32 slot = 0; slot < slots.size(); slot += launch.threads_of_block) start(slot);
        while (!active.empty()) {
            const u32 at = u32(random.below(active.size())), chosen = active[at];
            const u64 steps = 1 + random.below(burst);
            is_lockstep ? run_warp(chosen, steps) : run_thread(chosen, steps);
            memory.step();
            if (instructions > ENDLESS * launch.blocks * launch.threads_of_block)
                throw Finding("the kernel does not end");
            if (is_finished(chosen)) retire(at);
        }
        if (waiting) throw Finding("threads wait in a vote or shuffle for others that have ended");
        memory.finish();
        return instructions;
    }

private:
    enum State : u8 { RUNS, WAITS, ENDED };
    struct Slot { u32 thread = 0, pc = 0; State state = ENDED; };

    Launch launch;
    const Kernel& kernel;
    Memory& memory;
    Random& random;
    bool is_lockstep;
    u64 burst, resident, stride, first, started = 0, instructions = 0, waiting = 0;
    std::vector<Slot> slots;
    std::vector<u64> registers;
    std::vector<u32> active;  // slots that may run; in lockstep, the first slots of their warps

    // Give a block of slots to the next block of the grid.
    void start(u32 slot) {
        const u32 size = launch.threads_of_block;
        const u64 block = (first + started++ * stride) % launch.blocks;
        std::fill_n(registers.begin() + u64(slot) * kernel.registers, u64(size) * kernel.registers, 0);
        for (u32 i = 0; i < size; ++i) {
            slots[slot + i] = {u32(block * size + i), 0, RUNS};
            u64* own = of(slot + i);
            own[TID] = i, own[CTAID] = block, own[NTID] = size, own[LANE] = i % WARP;
            if (!is_lockstep || i % WARP == 0) active.push_back(slot + i);
        }
    }

    u64* of(u32 slot) { return &registers[u64(slot) * kernel.registers]; }

    bool is_finished(u32 slot) const {
        if (!is_lockstep) return slots[slot].state != RUNS;
        return std::all_of(&slots[slot], &slots[slot] + WARP, [](const Slot& each) {
            return each.state != RUNS;
        });
    }

    // Drop an entry of `active`; if its block has ended, another block takes the slots.
    void retire(u32 at) {
        const u32 size = launch.threads_of_block, block = active[at] / size * size;
        active[at] = active.back();
        active.pop_back();
        if (started >= launch.blocks) return;
        for (u32 i = 0; i < size; ++i)
            if (slots[block + i].state != ENDED) return;
        start(block);
    }

    void run_thread(u32 slot, u64 steps) {
        while (steps-- && slots[slot].state == RUNS) execute(slot);
    }

    void run_warp(u32 warp, u64 steps) {
        while (steps--) {
            u32 pc = ~0u;
            for (u32 i = warp; i < warp + WARP; ++i)
                if (slots[i].state == RUNS) pc = std::min(pc, slots[i].pc);
            if (pc == ~0u) return;
            const u32 turn = u32(random.below(WARP));
            for (u32 i = 0; i < WARP; ++i) {
                const u32 slot = warp + (i + turn) % WARP;
                if (slots[slot].state == RUNS && slots[slot].pc == pc) execute(slot);
            }
        }
    }

    u64 value(const u64* own, int operand) const {
        return operand >= 0 ? own[operand] : kernel.constants[-1 - operand];
    }

    void execute(u32 slot) {
        Slot& self = slots[slot];
        if (self.pc >= kernel.code.size()) throw Finding("a thread runs beyond the end of its kernel");
        const Instruction& by = kernel.code[self.pc++];
        u64* own = of(slot);
        ++instructions;
        if (by.guard >= 0 && bool(own[by.guard]) == by.guard_is_negated) return;
        const u32 bytes = by.type.bytes;
        const auto in = [&](int i) { return value(own, by.in[i]) & by.ones; };
        const auto set = [&](u64 result) { own[by.to] = result & by.ones; };
        const auto shift = [&] { return value(own, by.in[1]) & 0xffffffff; };
        const auto is_first = [&](u64 a, u64 b) { return holds(Compare::lt, a, b, by.type); };
        const auto address = [&] { return own[by.in[0]] + by.offset; };
        switch (by.op) {
            case Op::add: set(in(0) + in(1)); break;
            case Op::sub: set(in(0) - in(1)); break;
            case Op::and_: set(in(0) & in(1)); break;
            case Op::or_: set(in(0) | in(1)); break;
            case Op::xor_: set(in(0) ^ in(1)); break;
            case Op::not_: set(~in(0)); break;
            case Op::neg: set(-in(0)); break;
            case Op::min: set(is_first(in(1), in(0)) ? in(1) : in(0)); break;
            case Op::max: set(is_first(in(0), in(1)) ? in(1) : in(0)); break;
            case Op::popc: set(u64(__builtin_popcountll(in(0)))); break;
            case Op::mov: set(in(0)); break;
            case Op::selp: set(value(own, by.in[2]) ? in(0) : in(1)); break;
            case Op::setp: own[by.to] = holds(by.compare, in(0), in(1), by.type); break;
            case Op::cvt: {
                const u64 given = masked(value(own, by.in[0]), by.from.bytes);
                set(by.from.is_signed ? u64(extended(given, by.from.bytes)) : given);
                break;
            }
            case Op::mul:
            case Op::mad: {
                u64 product = in(0) * in(1);
                if (by.is_wide && by.type.is_signed)
                    product = u64(extended(in(0), bytes) * extended(in(1), bytes));
                if (by.op == Op::mad) product += value(own, by.in[2]);
                own[by.to] = masked(product, by.is_wide ? 2 * bytes : bytes);
                break;
            }
            case Op::shl: set(shift() >= 8 * bytes ? 0 : in(0) << shift()); break;
            case Op::shr: {
                const u64 by_bits = std::min<u64>(shift(), 8 * bytes);
                if (by.type.is_signed) set(u64(extended(in(0), bytes) >> std::min<u64>(by_bits, 63)));
                else set(by_bits >= 8 * bytes ? 0 : in(0) >> by_bits);
                break;
            }
            case Op::join: own[by.to] = masked(value(own, by.in[0]), 4) | value(own, by.in[1]) << 32; break;
            case Op::split: {
                const u64 word = in(0);
                own[by.to] = masked(word, 4), own[by.to2] = word >> 32;
                break;
            }
            case Op::param: set(launch.parameters[by.offset]); break;
            case Op::ld: {
                const u64 loaded = memory.load(address(), by, self.thread);
                own[by.to] = by.type.is_signed ? masked(u64(extended(loaded, bytes)), 8) : loaded;
                break;
            }
            case Op::st: memory.store(address(), in(1), by, self.thread); break;
            case Op::atom: {
                const u64 a = in(1), b = by.rmw == Rmw::cas ? in(2) : 0;
                set(memory.update(address(), by, self.thread, [&](u64 old) {
                    return masked(combined(by.rmw, old, a, b), bytes);
                }));
                break;
            }
            case Op::bra: self.pc = u32(by.offset); break;
            case Op::ret: end(slot); break;
            case Op::ballot:
            case Op::shfl: meet(slot, by); break;
        }
    }

    void end(u32 slot) {
        slots[slot].state = ENDED;
        const u32 warp = slot / WARP * WARP;
        for (u32 i = warp; i < warp + WARP; ++i)
            if (slots[i].state == WAITS && members(i) >> slot % WARP & 1) diverges(slots[i].pc - 1);
    }

    u32 members(u32 slot) { return u32(value(of(slot), kernel.code[slots[slot].pc - 1].in[1])); }

    [[noreturn]] void diverges(u32 pc) {
        throw Finding("divergent vote or shuffle: " + string(kernel.code[pc].text));
    }

    // Wait until all members of a vote or shuffle are there; then give each its result.
    void meet(u32 slot, const Instruction& by) {
        const u32 warp = slot / WARP * WARP, mask = members(slot), pc = slots[slot].pc;
        slots[slot].state = WAITS, ++waiting;
        if (!(mask >> slot % WARP & 1)) diverges(pc - 1);
        bool are_all_here = true;
        for (u32 i = warp; i < warp + WARP; ++i) {
            if (!(mask >> i % WARP & 1)) continue;
            const Slot& other = slots[i];
            const bool is_elsewhere = other.state == WAITS && (other.pc != pc || members(i) != mask);
            if (other.state == ENDED || is_elsewhere) diverges(pc - 1);
            are_all_here &= other.state == WAITS;
        }
        if (!are_all_here) return;
        u64 ballot = 0, values[WARP];
        for (u32 i = 0; i < WARP; ++i) {
            values[i] = value(of(warp + i), by.in[0]);
            if (mask >> i & 1 && values[i]) ballot |= u64(1) << i;
        }
        for (u32 i = 0; i < WARP; ++i) {
            if (!(mask >> i & 1)) continue;
            u64* own = of(warp + i);
            const u32 from = by.op == Op::shfl ? u32(value(own, by.in[2])) % WARP : 0;
            if (by.op == Op::shfl && (value(own, by.in[3]) != WARP - 1 || !(mask >> from & 1))) diverges(pc - 1);
            own[by.to] = by.op == Op::shfl ? masked(values[from], 4) : ballot;
            if (by.to2 >= 0) own[by.to2] = 1;
        }
        for (u32 i = 0; i < WARP; ++i) {
            if (!(mask >> i & 1)) continue;
            slots[warp + i].state = RUNS, --waiting;
            if (!is_lockstep && warp + i != slot) active.push_back(warp + i);
        }
    }
};

}  // namespace

using Module = std::map<string, Kernel>;

static int failed(const Finding& finding, char* message, u64 size) {
    const std::size_t length = std::min<std::size_t>(size - 1, std::strlen(finding.what()));
    std::memcpy(message, finding.what(), length);
    message[length] = 0;
    return 1;
}

// Return a module, or null and a message.
extern "C" Module* load(const char* ptx, char* message, u64 size) try {
    return new Module(Parser(ptx).kernels());
} catch (const Finding& finding) {
    failed(finding, message, size);
    return nullptr;
}

extern "C" void unload(Module* module) { delete module; }

// Return the number of parameters of a kernel, or -1.
extern "C" int parameters(const Module* module, const char* name) {
    auto found = module->find(name);
    return found == module->end() ? -1 : found->second.parameters;
}

// Run a kernel; return 0, or 1 and a message. `instructions` receives their number.
extern "C" int launch(
    const Module* module, const char* name, u32 blocks, u32 threads, const u64* parameters,
    const Array* arrays, u32 count, u64 seed, u64* instructions, char* message, u64 size
) try {
    Random random{seed * 0x9E3779B97F4A7C15ULL + 1};
    for (int i = 0; i < 8; ++i) random();
    const bool is_weak = random.below(2);
    Memory memory(arrays, count, is_weak, random);
    const Launch given{module->at(name), blocks, threads, parameters};
    *instructions = Machine(given, memory, random).run();
    return 0;
} catch (const Finding& finding) {
    return failed(finding, message, size);
}
