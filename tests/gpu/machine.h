// Runs kernels: threads with program counters of their own, in an order that a seed determines.
//
// In a free order, any resident thread may take the next step. In lockstep, the threads of a warp
// that are furthest behind take it together. A few blocks are resident at a time, and blocks start in
// any order. Votes and shuffles wait for the threads that they name.
#pragma once

#include <cmath>
#include <numeric>

#include "memory.h"

constexpr u32 WARP = 32;
constexpr u64 ENDLESS = 100'000;  // instructions of a thread, on average, beyond which it has no end

u64 masked(u64 value, u32 bytes) { return bytes == 8 ? value : value & ((u64(1) << 8 * bytes) - 1); }

i64 extended(u64 value, u32 bytes) {
    const u32 unused = 64 - 8 * bytes;
    return i64(value << unused) >> unused;
}

// Floating-point numbers of 2, 4 and 8 bytes, from and to their bits.

template <class F>
F number(u64 bits) {
    F value;
    std::memcpy(&value, &bits, sizeof(F));
    return value;
}

template <class F>
u64 bits_of(F value) {
    u64 bits = 0;
    std::memcpy(&bits, &value, sizeof(F));
    return bits;
}

// Replace a subnormal number of 4 bytes by a zero of its sign.
u64 flushed(u64 bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

// Call a function with a zero of the type of the given size.
template <class Function>
auto with_float(u32 bytes, Function function) {
    if (bytes == 8) return function(0.0);
    if (bytes == 4) return function(0.0f);
    return function(_Float16(0));
}

double real(u64 bits, const Instruction& by, Type type) {
    if (by.is_flushed && type.bytes == 4) bits = flushed(bits);
    return with_float(type.bytes, [&](auto zero) { return double(number<decltype(zero)>(bits)); });
}

template <class F>
F computed(Op op, F a, F b, F c) {
    switch (op) {
        case Op::add: return a + b;
        case Op::sub: return a - b;
        case Op::mul: return a * b;
        case Op::mad: return F(std::fma(a, b, c));
        case Op::div: return a / b;
        case Op::min: return std::isnan(a) || (a == b && std::signbit(b)) || b < a ? b : a;
        case Op::max: return std::isnan(a) || (a == b && std::signbit(a)) || a < b ? b : a;
        case Op::neg: return -a;
        case Op::abs: return F(std::fabs(a));
        case Op::sqrt: return F(std::sqrt(a));
        case Op::rcp: return F(1) / a;
        case Op::ex2: return F(std::exp2(a));
        default: throw Finding("an instruction that floats do not have");
    }
}

template <>
_Float16 computed(Op op, _Float16 a, _Float16 b, _Float16 c) {
    return _Float16(computed<float>(op, a, b, c));
}

u64 computed_bits(const Instruction& by, u64 a, u64 b, u64 c) {
    const bool flushes = by.is_flushed && by.type.bytes == 4;
    if (flushes) a = flushed(a), b = flushed(b), c = flushed(c);
    const u64 result = with_float(by.type.bytes, [&](auto zero) {
        using F = decltype(zero);
        return bits_of(computed<F>(by.op, number<F>(a), number<F>(b), number<F>(c)));
    });
    return flushes ? flushed(result) : result;
}

bool holds(const Instruction& by, u64 a, u64 b) {
    const Type type = by.type;
    bool is_less, is_equal;
    if (type.is_float) {
        const double x = real(a, by, type), y = real(b, by, type);
        const bool is_nan = std::isnan(x) || std::isnan(y);
        if (by.compare == Compare::num || by.compare == Compare::nan) return is_nan == (by.compare == Compare::nan);
        if (is_nan) return by.is_unordered;
        is_less = x < y, is_equal = x == y;
    } else {
        is_less = type.is_signed ? extended(a, type.bytes) < extended(b, type.bytes) : a < b;
        is_equal = a == b;
    }
    switch (by.compare) {
        case Compare::eq: return is_equal;
        case Compare::ne: return !is_equal;
        case Compare::lt: return is_less;
        case Compare::le: return is_less || is_equal;
        case Compare::gt: return !is_less && !is_equal;
        case Compare::ge: return !is_less;
        default: return false;
    }
}

u64 converted(u64 given, const Instruction& by) {
    const Type from = by.from, to = by.type;
    given = masked(given, from.bytes);
    if (!from.is_float) {
        const i64 value = from.is_signed ? extended(given, from.bytes) : i64(given);
        if (!to.is_float) return u64(value);
        return with_float(to.bytes, [&](auto zero) {
            using F = decltype(zero);
            return bits_of(from.is_signed ? F(value) : F(given));
        });
    }
    double value = real(given, by, from);
    switch (by.round) {
        case Round::none: break;
        case Round::nearest: value = std::nearbyint(value); break;
        case Round::zero: value = std::trunc(value); break;
        case Round::down: value = std::floor(value); break;
        case Round::up: value = std::ceil(value); break;
    }
    if (to.is_float) {
        const u64 result = with_float(to.bytes, [&](auto zero) { return bits_of(decltype(zero)(value)); });
        return by.is_flushed && to.bytes == 4 ? flushed(result) : result;
    }
    if (std::isnan(value)) return from.bytes == 8 || to.bytes == 8 ? u64(1) << (8 * to.bytes - 1) : 0;
    const double above = std::ldexp(1.0, int(8 * to.bytes) - to.is_signed), least = to.is_signed ? -above : 0;
    if (value >= above) return ~u64(0) >> (64 - 8 * to.bytes + to.is_signed);
    value = std::max(value, least);
    return to.is_signed ? u64(i64(value)) : u64(value);
}

u64 combined(const Instruction& by, u64 old, u64 a, u64 b) {
    const Type type = by.type;
    const bool is_less = type.is_signed ? extended(old, type.bytes) < extended(a, type.bytes) : old < a;
    switch (by.rmw) {
        case Rmw::add:
            if (!type.is_float) return old + a;
            return with_float(type.bytes, [&](auto zero) {
                using F = decltype(zero);
                return bits_of(F(number<F>(old) + number<F>(a)));
            });
        case Rmw::min: return is_less ? old : a;
        case Rmw::max: return is_less ? a : old;
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
    const u8* parameters;
};

class Machine {
public:
    Machine(const Launch& launch, Memory& memory, Random& random)
        : launch(launch), kernel(launch.kernel), memory(memory), random(random) {
        size = (launch.threads_of_block + WARP - 1) / WARP * WARP;
        is_lockstep = random.below(2);
        // Half of the launches switch often; the others nearly run one thread after another.
        burst = u64(1) << (random.below(2) ? random.below(3) : 4 + random.below(8));
        resident = 1 + random.below(8);
        stride = 2 * random.below(launch.blocks) + 1;
        while (std::gcd<u64>(stride, launch.blocks) != 1) stride += 2;
        first = random.below(launch.blocks);
        if (memory.checks == Checks::none)  // one warp after another
            is_lockstep = true, burst = ~0u, resident = 1, stride = 1, first = 0;
    }

    u64 run() {
        slots.resize(std::min<u64>(resident, launch.blocks) * size);
        registers.resize(slots.size() * kernel.registers);
        shared.resize(slots.size() / size * kernel.shared_bytes, 0xa5);
        local.resize(slots.size() * kernel.local_bytes, 0xa5);
        for (u32 slot = 0; slot < slots.size(); slot += size) start(slot);
        while (!active.empty()) {
            const bool is_random = memory.checks != Checks::none;
            const u32 at = u32(is_random ? random.below(active.size()) : active.size() - 1);
            const u32 chosen = active[at];
            const u64 steps = 1 + random.below(burst);
            is_lockstep ? run_warp(chosen, steps) : run_thread(chosen, steps);
            memory.step();
            if (instructions > ENDLESS * launch.blocks * launch.threads_of_block)
                throw Finding("the kernel does not end");
            if (is_finished(chosen)) retire(at);
        }
        if (waiting) throw Finding("threads wait for others that have ended");
        memory.finish();
        return instructions;
    }

private:
    enum State : u8 { RUNS, WAITS, STOPS, ENDED };  // in a vote or shuffle; at a barrier
    struct Slot { u32 thread = 0, pc = 0; State state = ENDED; };

    Launch launch;
    const Kernel& kernel;
    Memory& memory;
    Random& random;
    bool is_lockstep;
    u32 size;  // slots of a block: its threads, rounded up to whole warps
    u64 burst, resident, stride, first, started = 0, instructions = 0, waiting = 0;
    std::vector<Slot> slots;
    std::vector<u64> registers;
    std::vector<u8> shared, local;  // memory of the blocks and of the threads
    std::vector<u32> active;  // slots that may run; in lockstep, the first slots of their warps

    // Give a block of slots to the next block of the grid.
    void start(u32 slot) {
        const u64 block = (first + started++ * stride) % launch.blocks;
        std::fill_n(registers.begin() + u64(slot) * kernel.registers, u64(size) * kernel.registers, 0);
        for (u32 i = 0; i < launch.threads_of_block; ++i) {
            slots[slot + i] = {u32(block * launch.threads_of_block + i), 0, RUNS};
            u64* own = of(slot + i);
            own[TID] = i, own[CTAID] = block, own[NTID] = launch.threads_of_block;
            own[NCTAID] = launch.blocks, own[LANE] = i % WARP;
            own[PARAMETERS] = u64(launch.parameters);
            own[SHARED] = u64(shared.data()) + slot / size * kernel.shared_bytes;
            own[LOCAL] = u64(local.data()) + (slot + i) * kernel.local_bytes;
            for (const Symbol& symbol : kernel.symbols) own[symbol.reg] = own[symbol.base] + symbol.offset;
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
        const u32 block = active[at] / size * size;
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
            ++memory.request, memory.block = slots[warp].thread / launch.threads_of_block + 1;
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
        const auto is_less = [&](u64 a, u64 b) {
            return by.type.is_signed ? extended(a, bytes) < extended(b, bytes) : a < b;
        };
        if (by.type.is_float && by.op <= Op::ex2) {
            set(computed_bits(by, in(0), in(1), in(2)));
            return;
        }
        switch (by.op) {
            case Op::add: set(in(0) + in(1)); break;
            case Op::sub: set(in(0) - in(1)); break;
            case Op::and_: set(in(0) & in(1)); break;
            case Op::or_: set(in(0) | in(1)); break;
            case Op::xor_: set(in(0) ^ in(1)); break;
            case Op::not_: set(bytes ? ~in(0) : !in(0)); break;
            case Op::neg: set(-in(0)); break;
            case Op::abs: set(extended(in(0), bytes) < 0 ? -in(0) : in(0)); break;
            case Op::min: set(is_less(in(1), in(0)) ? in(1) : in(0)); break;
            case Op::max: set(is_less(in(0), in(1)) ? in(1) : in(0)); break;
            case Op::div:
            case Op::rem: set(divided(by, in(0), in(1))); break;
            case Op::popc: own[by.to] = u64(__builtin_popcountll(in(0))); break;
            case Op::clz: own[by.to] = in(0) ? u64(__builtin_clzll(in(0))) - (64 - 8 * bytes) : 8 * bytes; break;
            case Op::mov: set(in(0)); break;
            case Op::selp: set(value(own, by.in[2]) ? in(0) : in(1)); break;
            case Op::setp: own[by.to] = holds(by, in(0), in(1)); break;
            case Op::cvt: set(converted(value(own, by.in[0]), by)); break;
            case Op::mul:
            case Op::mad: {
                u64 product = in(0) * in(1);
                if (by.is_wide && by.type.is_signed)
                    product = u64(extended(in(0), bytes) * extended(in(1), bytes));
                if (by.op == Op::mad) product += value(own, by.in[2]);
                own[by.to] = masked(product, by.is_wide ? 2 * bytes : bytes);
                break;
            }
            case Op::mul_hi: {
                using Wide = unsigned __int128;  // its products wrap
                const auto wide = [&](u64 a) { return by.type.is_signed ? Wide(extended(a, bytes)) : Wide(a); };
                set(u64(wide(in(0)) * wide(in(1)) >> 8 * bytes));
                break;
            }
            case Op::shl: set(shift() >= 8 * bytes ? 0 : in(0) << shift()); break;
            case Op::shr: {
                const u64 by_bits = std::min<u64>(shift(), 8 * bytes);
                if (by.type.is_signed) set(u64(extended(in(0), bytes) >> std::min<u64>(by_bits, 63)));
                else set(by_bits >= 8 * bytes ? 0 : in(0) >> by_bits);
                break;
            }
            case Op::join: {
                const u32 half = bytes / 2;
                set(masked(value(own, by.in[0]), half) | value(own, by.in[1]) << 8 * half);
                break;
            }
            case Op::split: {
                const u64 word = in(0);
                own[by.to] = masked(word, bytes / 2), own[by.to2] = word >> 4 * bytes;
                break;
            }
            case Op::param:
            case Op::ld: {
                const u64 address = own[by.in[0]] + by.offset;
                const u8* mine = by.op == Op::param ? reinterpret_cast<u8*>(address) : own_memory(slot, address, bytes);
                const u64 loaded = mine ? 0 : memory.load(address, by, self.thread);
                u64 word = loaded;
                if (mine) std::memcpy(&word, mine, bytes);
                own[by.to] = by.type.is_signed ? u64(extended(word, bytes)) : word;
                break;
            }
            case Op::st: {
                const u64 address = own[by.in[0]] + by.offset, word = in(1);
                if (u8* mine = own_memory(slot, address, bytes)) std::memcpy(mine, &word, bytes);
                else memory.store(address, word, by, self.thread);
                break;
            }
            case Op::atom: {
                const u64 address = own[by.in[0]] + by.offset;
                const u64 a = in(1), b = by.rmw == Rmw::cas ? in(2) : 0;
                const auto modify = [&](u64 old) { return masked(combined(by, old, a, b), bytes); };
                if (u8* mine = own_memory(slot, address, bytes)) {
                    u64 old = 0;
                    std::memcpy(&old, mine, bytes);
                    const u64 word = modify(old);
                    std::memcpy(mine, &word, bytes);
                    set(old);
                } else {
                    set(memory.update(address, by, self.thread, modify));
                }
                break;
            }
            case Op::fence: memory.fence(self.thread); break;
            case Op::barrier:
                self.state = STOPS, ++waiting;
                pass_barrier(slot);
                break;
            case Op::bra: self.pc = u32(by.offset); break;
            case Op::ret: end(slot); break;
            case Op::meet:
            case Op::ballot:
            case Op::any:
            case Op::all:
            case Op::shfl: meet(slot, by); break;
            default: throw Finding("an instruction of floats only: " + string(by.text));
        }
    }

    static u64 divided(const Instruction& by, u64 a, u64 b) {
        if (!b) throw Finding("division by zero: " + string(by.text));
        if (!by.type.is_signed) return by.op == Op::div ? a / b : a % b;
        const i64 x = extended(a, by.type.bytes), y = extended(b, by.type.bytes);
        if (y == -1) return by.op == Op::div ? -a : 0;
        return u64(by.op == Op::div ? x / y : x % y);
    }

    // Return where an address is in the memory of a block or thread; null if it is in an array.
    u8* own_memory(u32 slot, u64 address, u32 bytes) {
        const auto is_in = [&](u64 begin, u64 size) { return address >= begin && address + bytes <= begin + size; };
        const u64* own = of(slot);
        if (!is_in(own[SHARED], kernel.shared_bytes) && !is_in(own[LOCAL], kernel.local_bytes)) return nullptr;
        return reinterpret_cast<u8*>(address);
    }

    // Let the threads of a block go on if none is still to come to the barrier.
    void pass_barrier(u32 slot) {
        const u32 block = slot / size * size;
        for (u32 i = block; i < block + size; ++i)
            if (slots[i].state != STOPS && slots[i].state != ENDED) return;
        const u32 width = is_lockstep ? WARP : 1;
        for (u32 at = block; at < block + size; at += width) {
            bool is_any = false;
            for (u32 i = at; i < at + width; ++i)
                if (slots[i].state == STOPS) slots[i].state = RUNS, --waiting, is_any = true;
            if (is_any && at != slot / width * width) active.push_back(at);
        }
    }

    void end(u32 slot) {
        slots[slot].state = ENDED;
        const u32 warp = slot / WARP * WARP;
        for (u32 i = warp; i < warp + WARP; ++i)
            if (slots[i].state == WAITS && members(i) >> slot % WARP & 1) diverges(slots[i].pc - 1);
        if (kernel.has_barriers) pass_barrier(slot);
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
            if (other.state == ENDED || other.state == STOPS || is_elsewhere) diverges(pc - 1);
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
            if (by.op == Op::shfl) shuffle(own, by, values, mask, i, pc);
            else if (by.op != Op::meet) own[by.to] = by.op == Op::ballot ? ballot : by.op == Op::any ? ballot != 0 : ballot == mask;
        }
        for (u32 i = 0; i < WARP; ++i) {
            if (!(mask >> i & 1)) continue;
            slots[warp + i].state = RUNS, --waiting;
            if (!is_lockstep && warp + i != slot) active.push_back(warp + i);
        }
    }

    void shuffle(u64* own, const Instruction& by, const u64* values, u32 mask, u32 lane, u32 pc) {
        const u64 distance = value(own, by.in[2]) % WARP, control = value(own, by.in[3]);
        const u32 segment = u32(control >> 8) % WARP, last = (lane & segment) | (u32(control) % WARP & ~segment);
        i64 from = lane;
        bool is_inside = true;
        switch (by.shuffle) {
            case Shuffle::idx: from = i64((lane & segment) | (distance & ~segment)), is_inside = from <= last; break;
            case Shuffle::up: from = i64(lane) - i64(distance), is_inside = from >= i64(last); break;
            case Shuffle::down: from = i64(lane + distance), is_inside = from <= last; break;
            case Shuffle::bfly: from = i64(lane ^ distance), is_inside = from <= last; break;
        }
        if (!is_inside) from = lane;
        if (!(mask >> from & 1)) diverges(pc - 1);
        own[by.to] = masked(values[from], 4);
        if (by.to2 >= 0) own[by.to2] = is_inside;
    }
};
