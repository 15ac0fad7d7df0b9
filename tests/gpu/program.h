// Parses PTX: the kernels of a module, as instructions over numbered registers.
//
// The subset is that of the kernels in primitives/cuda: integers, predicates, and global memory. Any
// other instruction is an error.
#pragma once

#include <cctype>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;
using std::string;

// Raised on PTX that is not understood, and on whatever a kernel does wrong.
struct Finding : std::runtime_error { using runtime_error::runtime_error; };

enum class Op {
    add, sub, mul, mad, and_, or_, xor_, not_, neg, shl, shr, min, max, popc, mov, join, split, cvt,
    setp, selp, param, ld, st, atom, bra, ret, ballot, shfl,
};
enum class Compare { eq, ne, lt, le, gt, ge };
enum class Rmw { add, min, max, or_, and_, exch, cas };

// The type of a value: its bytes (0 for a predicate), and whether its top bit is a sign.
struct Type { u8 bytes; bool is_signed; };

struct Instruction {
    Op op;
    Type type{}, from{};
    bool is_wide = false, is_strong = false;  // of a product; of an access that is not plain
    Compare compare{};
    Rmw rmw{};
    int guard = -1;  // the predicate that lets it run, or -1
    bool guard_is_negated = false;
    int to = -1, to2 = -1;
    int in[4] = {-1, -1, -1, -1};  // a register, or below 0 a constant: see Kernel::constants
    u64 offset = 0;                // of an address; of a parameter; the target of a branch
    mutable std::size_t region = 0;  // the array that it met last
    u64 ones = 1;     // the bits of its type
    const char* text;
};

// Registers that each thread starts with.
enum Special { TID, CTAID, NTID, LANE, SPECIALS };

struct Kernel {
    std::vector<Instruction> code;
    std::list<string> texts;
    std::vector<u64> constants;  // operand -1 - i is constants[i]
    int registers = SPECIALS, parameters = 0;
};

class Parser {
public:
    explicit Parser(const string& text) : lines(text) {}

    std::map<string, Kernel> kernels() {
        std::map<string, Kernel> all;
        for (string line; std::getline(lines, line);)
            if (auto at = line.find(".entry "); at != string::npos) {
                auto begin = at + 7, end = line.find('(', begin);
                all.emplace(line.substr(begin, end - begin), body());
            }
        return all;
    }

private:
    std::istringstream lines;
    Kernel kernel;
    std::map<string, int> registers;
    std::map<string, u64> labels, parameters;
    std::vector<string> targets;  // of the branch at each place

    Kernel body() {
        kernel = {};
        registers = {{"%tid.x", TID}, {"%ctaid.x", CTAID}, {"%ntid.x", NTID}, {"%laneid", LANE}};
        labels.clear(), parameters.clear(), targets.clear();
        for (string line; std::getline(lines, line) && line != "}";) {
            line = trimmed(line.substr(0, line.find("//")));
            if (line.empty() || line == "{" || line == ")") continue;
            if (line.rfind(".reg ", 0) == 0 || line.rfind(".pragma ", 0) == 0) continue;
            if (line.rfind(".param .u64 ", 0) == 0) {
                string name = line.substr(12);
                if (name.back() == ',') name.pop_back();
                parameters[name] = kernel.parameters++;
            } else if (line.back() == ':') {
                labels[line.substr(0, line.size() - 1)] = kernel.code.size();
            } else {
                statement(line);
            }
        }
        for (std::size_t i = 0; i < kernel.code.size(); ++i)
            if (!targets[i].empty()) kernel.code[i].offset = labels.at(targets[i]);
        if (kernel.code.empty()) throw Finding("a kernel without instructions");
        return std::move(kernel);
    }

    void statement(const string& line) {
        Instruction made{};
        made.text = kernel.texts.emplace_back(line).c_str();
        targets.emplace_back();
        if (line.back() != ';') unknown(line);
        string rest = line.substr(0, line.size() - 1);
        if (rest[0] == '@') {
            made.guard_is_negated = rest[1] == '!';
            auto end = rest.find_first_of(" \t");
            made.guard = reg(rest.substr(1 + made.guard_is_negated, end - 1 - made.guard_is_negated));
            rest = trimmed(rest.substr(end));
        }
        auto end = rest.find_first_of(" \t");
        auto parts = split(rest.substr(0, end), '.');
        auto args = end == string::npos ? std::vector<string>{} : operands(rest.substr(end));
        fill(made, parts, args);
        if (made.type.bytes) made.ones = ~u64(0) >> (64 - 8 * made.type.bytes);
        kernel.code.push_back(made);
    }

    // `parts` are those of the name, without dots; `args` are the operands.
    void fill(Instruction& made, std::vector<string> parts, const std::vector<string>& args) {
        static const std::map<string, Op> plain{
            {"add", Op::add}, {"sub", Op::sub}, {"and", Op::and_}, {"or", Op::or_}, {"xor", Op::xor_},
            {"not", Op::not_}, {"neg", Op::neg}, {"shl", Op::shl}, {"shr", Op::shr}, {"min", Op::min},
            {"max", Op::max}, {"popc", Op::popc}, {"mov", Op::mov}, {"selp", Op::selp},
        };
        static const std::map<string, Compare> compares{
            {"eq", Compare::eq}, {"ne", Compare::ne}, {"lt", Compare::lt},
            {"le", Compare::le}, {"gt", Compare::gt}, {"ge", Compare::ge},
        };
        static const std::map<string, Rmw> rmws{
            {"add", Rmw::add}, {"min", Rmw::min}, {"max", Rmw::max}, {"or", Rmw::or_},
            {"and", Rmw::and_}, {"exch", Rmw::exch}, {"cas", Rmw::cas},
        };
        const string base = parts[0], form = joined(parts, 1, parts.size() - 1);
        if (base == "ret" && args.empty()) { made.op = Op::ret; return; }
        if (base == "bra" && args.size() == 1) {
            made.op = Op::bra;
            targets.back() = args[0];
            return;
        }
        made.type = type_of(parts.back(), made.text);
        if (auto found = plain.find(base); found != plain.end() && form.empty()) {
            made.op = found->second;
            if (args[0][0] == '{') {  // mov.b64 {low, high}, word
                made.op = Op::split;
                auto halves = operands(args[0].substr(1, args[0].size() - 2));
                made.to = reg(halves.at(0)), made.to2 = reg(halves.at(1));
            } else {
                made.to = reg(args[0]);
            }
            if (args[1][0] == '{') {  // mov.b64 word, {low, high}
                made.op = Op::join;
                take(made, operands(args[1].substr(1, args[1].size() - 2)), 0);
            } else {
                take(made, args, 1);
            }
        } else if ((base == "mul" || base == "mad") && (form == "lo" || form == "wide")) {
            made.op = base == "mul" ? Op::mul : Op::mad;
            made.is_wide = form == "wide";
            made.to = reg(args[0]);
            take(made, args, 1);
        } else if (base == "setp" && compares.count(form)) {
            made.op = Op::setp, made.compare = compares.at(form), made.to = reg(args[0]);
            take(made, args, 1);
        } else if (base == "cvta" && form == "to.global") {
            made.op = Op::mov, made.to = reg(args[0]);  // global addresses are generic ones
            take(made, args, 1);
        } else if (base == "cvt" && parts.size() == 3) {
            made.op = Op::cvt, made.from = made.type, made.type = type_of(parts[1], made.text);
            made.to = reg(args[0]);
            take(made, args, 1);
        } else if (base == "ld" && form == "param") {
            made.op = Op::param, made.to = reg(args[0]);
            made.offset = parameters.at(args[1].substr(1, args[1].size() - 2));
        } else if (base == "ld" && (form == "global" || form == "volatile.global")) {
            made.op = Op::ld, made.is_strong = form != "global", made.to = reg(args[0]);
            address(made, args[1]);
        } else if (base == "st" && (form == "global" || form == "volatile.global")) {
            made.op = Op::st, made.is_strong = form != "global";
            address(made, args[0]);
            made.in[1] = operand(args[1]);
        } else if (base == "atom" && parts.size() == 4 && parts[1] == "global" && rmws.count(parts[2])) {
            made.op = Op::atom, made.rmw = rmws.at(parts[2]), made.is_strong = true;
            made.to = reg(args[0]);
            address(made, args[1]);
            for (std::size_t i = 2; i < args.size(); ++i) made.in[i - 1] = operand(args[i]);
        } else if (base == "vote" && form == "sync.ballot") {
            made.op = Op::ballot, made.to = reg(args[0]);
            take(made, {args[1], args[2]}, 0);
        } else if (base == "shfl" && form == "sync.idx") {
            made.op = Op::shfl;
            auto to = split(args[0], '|');
            made.to = reg(to[0]), made.to2 = to.size() > 1 ? reg(to[1]) : -1;
            take(made, {args[1], args[4], args[2], args[3]}, 0);  // value, members, lane, clamp
        } else {
            unknown(made.text);
        }
    }

    void address(Instruction& made, const string& arg) {
        auto plus = arg.find('+');
        auto end = plus == string::npos ? arg.size() - 1 : plus;
        made.in[0] = reg(arg.substr(1, end - 1));
        if (plus != string::npos) made.offset = u64(std::stoll(arg.substr(plus + 1), nullptr, 0));
    }

    void take(Instruction& made, const std::vector<string>& args, std::size_t first) {
        for (std::size_t i = first; i < args.size(); ++i) made.in[i - first] = operand(args.at(i));
    }

    int operand(const string& name) {
        if (name[0] == '%') return reg(name);
        if (!isdigit(name[0]) && name[0] != '-') unknown(name);
        kernel.constants.push_back(name[0] == '-' ? u64(std::stoll(name)) : std::stoull(name, nullptr, 0));
        return -int(kernel.constants.size());
    }

    int reg(const string& name) {
        if (name[0] != '%') unknown(name);
        auto [at, is_new] = registers.emplace(name, kernel.registers);
        kernel.registers += is_new;
        return at->second;
    }

    static Type type_of(const string& name, const char* text) {
        if (name == "pred") return {0, false};
        static const std::map<string, int> bits{{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};
        auto found = bits.find(name.substr(1));
        if (found == bits.end() || !strchr("bus", name[0])) unknown(text);
        return {u8(found->second), name[0] == 's'};
    }

    [[noreturn]] static void unknown(const string& text) { throw Finding("unknown PTX: " + text); }

    static std::vector<string> split(const string& text, char by) {
        std::vector<string> parts(1);
        for (char c : text) c == by ? void(parts.emplace_back()) : parts.back().push_back(c);
        return parts;
    }

    // Split at commas that are not in braces.
    static std::vector<string> operands(const string& text) {
        std::vector<string> parts(1);
        int depth = 0;
        for (char c : text) {
            depth += (c == '{') - (c == '}');
            if (c == ',' && !depth) parts.emplace_back();
            else if (!isspace(c)) parts.back().push_back(c);
        }
        return parts;
    }

    static string joined(const std::vector<string>& parts, std::size_t first, std::size_t end) {
        string all;
        for (auto i = first; i < end; ++i) all += (all.empty() ? "" : ".") + parts[i];
        return all;
    }

    static string trimmed(const string& text) {
        auto first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
        return first == string::npos ? "" : text.substr(first, last - first + 1);
    }
};
