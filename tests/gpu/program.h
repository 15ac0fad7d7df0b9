// Parses PTX: the kernels of a module, as instructions over numbered registers.
//
// The subset is that of the kernels in primitives/cuda and of the kernels that CuPy generates for the
// functions in use. Any other instruction is an error.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
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
    add, sub, mul, mad, mul_hi, div, rem, and_, or_, xor_, not_, neg, abs, shl, shr, min, max, popc, clz,
    sqrt, rcp, ex2, mov, join, split, cvt, setp, selp, param, ld, st, atom, bra, ret, meet, ballot, any, all, shfl,
    barrier, fence,
};
enum class Compare { eq, ne, lt, le, gt, ge, num, nan };
enum class Rmw { add, min, max, or_, and_, exch, cas };
enum class Round { none, nearest, zero, down, up };
enum class Shuffle { idx, up, down, bfly };

// The type of a value: its bytes (0 for a predicate), whether its top bit is a sign, and whether it is
// a floating-point number.
struct Type { u8 bytes; bool is_signed, is_float; };

struct Instruction {
    Op op;
    Type type{}, from{};
    bool is_wide = false, is_strong = false;  // of a product; of an access that is not plain
    bool is_unordered = false;                // of a comparison: true if an operand is NaN
    bool is_flushed = false;                  // whether subnormal floats become zeros
    Compare compare{};
    Rmw rmw{};
    Round round{};  // of a conversion to an integer or to an integral value
    Shuffle shuffle{};
    int guard = -1;  // the predicate that lets it run, or -1
    bool guard_is_negated = false;
    int to = -1, to2 = -1;
    int in[4] = {-1, -1, -1, -1};  // a register, or below 0 a constant, at first 0: see Kernel
    u64 offset = 0;                // of an address; the target of a branch
    mutable std::size_t region = 0;  // the array that it met last
    mutable u64 last = 0;            // the address that it met last
    u64 ones = 1;     // the bits of its type
    const char* text;
};

// Registers that each thread starts with; the last ones are the beginnings of its memory.
enum Special { TID, CTAID, NTID, NCTAID, LANE, PARAMETERS, SHARED, LOCAL, SPECIALS };

struct Symbol { int reg; Special base; u64 offset; };
struct Parameter { u64 offset, bytes; };

struct Kernel {
    std::vector<Instruction> code;
    std::list<string> texts;
    std::vector<u64> constants{0};  // operand -1 - i is constants[i]
    std::vector<Symbol> symbols;  // registers that hold addresses of variables
    std::vector<Parameter> parameters;
    u64 parameter_bytes = 0, shared_bytes = 0, local_bytes = 0;
    int registers = SPECIALS;
    bool has_barriers = false;
};

class Parser {
public:
    explicit Parser(const string& ptx) : text(without_comments(ptx)) {}

    std::map<string, Kernel> kernels() {
        std::map<string, Kernel> all;
        for (std::size_t at = 0; (at = text.find(".entry ", at)) != string::npos;) {
            const auto begin = at + 7, open = text.find('(', begin), body = text.find('{', open);
            const auto close = text.rfind(')', body);
            kernel = {};
            names = {{"%tid.x", TID}, {"%ctaid.x", CTAID}, {"%ntid.x", NTID}, {"%nctaid.x", NCTAID}, {"%laneid", LANE}};
            labels.clear(), targets.clear();
            for (const string& each : operands(text.substr(open + 1, close - open - 1)))
                if (!each.empty()) parameter(each);
            at = statements(body + 1);
            finish();
            all.emplace(trimmed(text.substr(begin, open - begin)), std::move(kernel));
        }
        return all;
    }

private:
    const string text;
    Kernel kernel;
    std::map<string, int> names;  // registers
    std::map<string, u64> labels;
    std::vector<string> targets;  // of the branch at each place
    string branch;                // the target of the branch in hand

    // Parse a body; return the position after it.
    std::size_t statements(std::size_t at) {
        for (int depth = 1;;) {
            at = text.find_first_not_of(" \t\r\n", at);
            if (at == string::npos) throw Finding("a kernel without an end");
            if (text[at] == '{' || text[at] == '}') {
                depth += text[at++] == '{' ? 1 : -1;
                if (!depth) return at;
                continue;
            }
            const auto end = text.find_first_of(";:", at);
            const bool is_label = end != string::npos && text[end] == ':' && text[end + 1] != ':';
            const auto stop = is_label ? end : text.find(';', at);
            if (stop == string::npos) throw Finding("a kernel without an end");
            const string line = trimmed(text.substr(at, stop - at));
            at = stop + 1;
            if (is_label) labels[line] = kernel.code.size();
            else if (line[0] == '.') declare(line);
            else if (!line.empty()) statement(line);
        }
    }

    void finish() {
        for (std::size_t i = 0; i < kernel.code.size(); ++i)
            if (!targets[i].empty()) kernel.code[i].offset = labels.at(targets[i]);
        if (kernel.code.empty()) throw Finding("a kernel without instructions");
    }

    // Lay out a parameter such as ".param .align 8 .b8 name[24]" or ".param .u64 .ptr .align 1 name".
    void parameter(const string& declared) {
        auto [name, bytes, align] = variable(declared);
        kernel.parameter_bytes = (kernel.parameter_bytes + align - 1) / align * align;
        symbol(name, PARAMETERS, kernel.parameter_bytes);
        kernel.parameters.push_back({kernel.parameter_bytes, bytes});
        kernel.parameter_bytes += bytes;
    }

    void declare(const string& line) {
        const auto lay = [&](Special base, u64& total) {
            auto [name, bytes, align] = variable(line);
            total = (total + align - 1) / align * align;
            symbol(name, base, total);
            total += bytes;
        };
        if (line.rfind(".shared", 0) == 0) lay(SHARED, kernel.shared_bytes);
        else if (line.rfind(".local", 0) == 0) lay(LOCAL, kernel.local_bytes);
        else if (line.rfind(".reg", 0) == 0) {
            for (const string& each : operands(line.substr(line.find(' ', 5))))
                if (each[0] != '%') reg(each, true);
        } else if (line.rfind(".pragma", 0)) unknown(line);
    }

    struct Variable { string name; u64 bytes, align; };

    static Variable variable(const string& declared) {
        Variable made{"", 0, 1};
        for (const string& word : words(declared)) {
            static const std::map<string, u64> bits{{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};
            if (word[0] != '.') {
                const auto bracket = word.find('[');
                if (isdigit(word[0])) made.align = std::stoull(word);
                else made.name = word.substr(0, bracket);
                if (bracket != string::npos) made.bytes *= std::stoull("0" + word.substr(bracket + 1));
            } else if (auto found = bits.find(word.substr(2)); found != bits.end() && !made.bytes) {
                made.bytes = found->second;
                made.align = std::max(made.align, made.bytes);
            }
        }
        return made;
    }

    void symbol(const string& name, Special base, u64 offset) {
        names[name] = kernel.registers;
        kernel.symbols.push_back({kernel.registers++, base, offset});
    }

    void statement(const string& line) {
        Instruction made{};
        made.text = kernel.texts.emplace_back(line).c_str();
        string rest = line;
        if (rest[0] == '@') {
            made.guard_is_negated = rest[1] == '!';
            auto end = rest.find_first_of(" \t");
            made.guard = reg(rest.substr(1 + made.guard_is_negated, end - 1 - made.guard_is_negated));
            rest = trimmed(rest.substr(end));
        }
        auto end = rest.find_first_of(" \t");
        auto parts = split(rest.substr(0, end), '.');
        auto args = end == string::npos ? std::vector<string>{} : operands(rest.substr(end));
        const string last = parts.size() > 1 ? parts[parts.size() - 2] : "";
        if ((parts[0] == "ld" || parts[0] == "st") && (last == "v2" || last == "v4")) {
            vector(made, parts, args);
            return;
        }
        fill(made, parts, args);
        add(made);
    }

    void add(Instruction& made) {
        if (made.type.bytes) made.ones = ~u64(0) >> (64 - 8 * made.type.bytes);
        kernel.code.push_back(made);
        targets.push_back(made.op == Op::bra ? branch : "");
    }

    // Parse an access of a vector as accesses of its members.
    void vector(Instruction made, std::vector<string> parts, std::vector<string> args) {
        parts.erase(parts.end() - 2);
        const bool is_load = parts[0] == "ld";
        string& list = args[is_load ? 0 : 1];
        u64 offset = 0;
        for (const string& member : operands(list.substr(1, list.size() - 2))) {
            list = member;
            Instruction one = made;
            fill(one, parts, args);
            one.offset += offset;
            offset += one.type.bytes;
            add(one);
        }
    }

    // `parts` are those of the name, without dots; `args` are the operands.
    void fill(Instruction& made, std::vector<string> parts, const std::vector<string>& args) {
        static const std::map<string, Op> plain{
            {"add", Op::add}, {"sub", Op::sub}, {"and", Op::and_}, {"or", Op::or_}, {"xor", Op::xor_},
            {"not", Op::not_}, {"neg", Op::neg}, {"abs", Op::abs}, {"shl", Op::shl}, {"shr", Op::shr},
            {"min", Op::min}, {"max", Op::max}, {"popc", Op::popc}, {"clz", Op::clz}, {"mov", Op::mov},
            {"selp", Op::selp}, {"div", Op::div}, {"rem", Op::rem}, {"sqrt", Op::sqrt}, {"rcp", Op::rcp},
            {"mul", Op::mul}, {"mad", Op::mad}, {"fma", Op::mad}, {"ex2", Op::ex2},
        };
        static const std::map<string, Compare> compares{
            {"eq", Compare::eq}, {"ne", Compare::ne}, {"lt", Compare::lt}, {"le", Compare::le},
            {"gt", Compare::gt}, {"ge", Compare::ge}, {"num", Compare::num}, {"nan", Compare::nan},
            {"lo", Compare::lt}, {"ls", Compare::le}, {"hi", Compare::gt}, {"hs", Compare::ge},
        };
        static const std::map<string, Rmw> rmws{
            {"add", Rmw::add}, {"min", Rmw::min}, {"max", Rmw::max}, {"or", Rmw::or_},
            {"and", Rmw::and_}, {"exch", Rmw::exch}, {"cas", Rmw::cas},
        };
        const string base = parts[0];
        const auto drop = [&](const char* word) {
            for (std::size_t i = 1; i < parts.size(); ++i)
                if (parts[i] == word) { parts.erase(parts.begin() + i); return true; }
            return false;
        };
        made.is_flushed = drop("ftz");
        if ((base == "ret" || base == "exit") && args.empty()) { made.op = Op::ret; return; }
        drop("uni");
        if (base == "bra" && args.size() == 1) {
            made.op = Op::bra;
            branch = args[0];
            return;
        }
        if (base == "bar" || base == "barrier") {
            if (joined(parts, 1, parts.size()) == "warp.sync") {
                made.op = Op::meet, made.in[1] = operand(args[0]);
                return;
            }
            if (parts.back() != "sync" || args.size() != 1 || args[0] != "0") unknown(made.text);
            made.op = Op::barrier, kernel.has_barriers = true;
            return;
        }
        if (base == "membar" || base == "fence") { made.op = Op::fence; return; }
        made.type = type_of(parts.back(), made.text);
        parts.pop_back();
        static const std::map<string, Round> rounds{
            {"rni", Round::nearest}, {"rzi", Round::zero}, {"rmi", Round::down}, {"rpi", Round::up},
        };
        if (base == "cvt") {
            made.op = Op::cvt, made.from = made.type, made.type = type_of(parts.back(), made.text);
            parts.pop_back();
            for (auto& [name, round] : rounds) if (drop(name.c_str())) made.round = round;
            drop("rn");
            if (parts.size() != 1) unknown(made.text);
            made.to = reg(args[0]);
            take(made, args, 1);
            return;
        }
        if (base == "ld" || base == "st") {
            made.op = base == "ld" ? Op::ld : Op::st;
            made.is_strong = drop("volatile") || drop("relaxed");
            drop("sys"), drop("gpu"), drop("nc");
            if (drop("param")) made.op = Op::param;
            else drop("global") || drop("shared") || drop("local");
            if (parts.size() != 1 || (made.op == Op::param && base == "st")) unknown(made.text);
            address(made, args[base == "ld"]);
            if (base == "ld") made.to = reg(args[0]);
            else made.in[1] = operand(args[1]);
            return;
        }
        if (base == "atom" || base == "red") {
            drop("global") || drop("shared");
            drop("relaxed"), drop("gpu");
            if (parts.size() != 2 || !rmws.count(parts[1])) unknown(made.text);
            made.op = Op::atom, made.rmw = rmws.at(parts[1]), made.is_strong = true;
            const std::size_t first = base == "atom";
            made.to = reg(first ? args[0] : "a sink", true);
            address(made, args[first]);
            for (std::size_t i = first + 1; i < args.size(); ++i) made.in[i - first] = operand(args[i]);
            return;
        }
        const string form = joined(parts, 1, parts.size());
        if (base == "vote" && (form == "sync.ballot" || form == "sync.any" || form == "sync.all")) {
            made.op = parts[2] == "ballot" ? Op::ballot : parts[2] == "any" ? Op::any : Op::all;
            made.to = reg(args[0]);
            take(made, {args[1], args[2]}, 0);
            return;
        }
        static const std::map<string, Shuffle> shuffles{
            {"idx", Shuffle::idx}, {"up", Shuffle::up}, {"down", Shuffle::down}, {"bfly", Shuffle::bfly},
        };
        if (base == "shfl" && parts.size() == 3 && shuffles.count(parts[2])) {
            made.op = Op::shfl, made.shuffle = shuffles.at(parts[2]);
            auto to = split(args[0], '|');
            made.to = reg(to[0]), made.to2 = to.size() > 1 ? reg(to[1]) : -1;
            take(made, {args[1], args[4], args[2], args[3]}, 0);  // value, members, lane, clamp
            return;
        }
        made.to = args[0][0] == '{' ? -1 : reg(args[0]);
        if (base == "setp" && parts.size() == 2) {
            string name = parts[1];
            if (made.type.is_float && name.size() == 3 && name.back() == 'u') name.pop_back(), made.is_unordered = true;
            if (!compares.count(name)) unknown(made.text);
            made.op = Op::setp, made.compare = compares.at(name);
            take(made, args, 1);
            return;
        }
        if (base == "cvta") {  // all addresses are generic ones
            made.op = Op::mov;
            take(made, args, 1);
            return;
        }
        auto found = plain.find(base);
        if (found == plain.end()) unknown(made.text);
        made.op = found->second;
        if (made.type.is_float) drop("rn"), drop("approx"), drop("full");
        if (base == "mul" || base == "mad") {
            made.is_wide = drop("wide");
            if (drop("hi")) made.op = base == "mul" ? Op::mul_hi : (unknown(made.text), Op::mul);
            else if (!made.is_wide && !made.type.is_float && !drop("lo")) unknown(made.text);
        }
        if (parts.size() != 1) unknown(made.text);
        if (args[0][0] == '{') {  // mov.b64 {low, high}, word
            made.op = Op::split;
            auto halves = operands(args[0].substr(1, args[0].size() - 2));
            if (halves.size() != 2) unknown(made.text);
            made.to = reg(halves.at(0)), made.to2 = reg(halves.at(1));
        }
        if (args[1][0] == '{') {  // mov.b64 word, {low, high}
            made.op = Op::join;
            take(made, operands(args[1].substr(1, args[1].size() - 2)), 0);
        } else {
            take(made, args, 1);
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
        if (!isdigit(name[0]) && name[0] != '-') return reg(name);
        if (name[0] == '0' && name.size() > 2 && strchr("fFdD", name[1]))  // the bits of a float
            kernel.constants.push_back(std::stoull(name.substr(2), nullptr, 16));
        else
            kernel.constants.push_back(name[0] == '-' ? u64(std::stoll(name)) : std::stoull(name, nullptr, 0));
        return -int(kernel.constants.size());
    }

    // Return the number of a register. One whose name has no "%" must be declared first.
    int reg(const string& name, bool is_declared = false) {
        if (name.empty() || (name[0] != '%' && !is_declared && !names.count(name))) unknown(name);
        if (name.find('|') != string::npos) unknown("two results, " + name);
        auto [at, is_new] = names.emplace(name, kernel.registers);
        kernel.registers += is_new;
        return at->second;
    }

    static Type type_of(const string& name, const char* text) {
        if (name == "pred") return {0, false, false};
        static const std::map<string, int> bits{{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};
        auto found = bits.find(name.substr(1));
        if (found == bits.end() || !strchr("busf", name[0])) unknown(text);
        return {u8(found->second), name[0] == 's', name[0] == 'f'};
    }

    [[noreturn]] static void unknown(const string& text) { throw Finding("unknown PTX: " + text); }

    static string without_comments(const string& ptx) {
        string kept;
        for (std::size_t at = 0; at < ptx.size();) {
            const auto slashes = std::min(ptx.find("//", at), ptx.size());
            kept.append(ptx, at, slashes - at);
            at = std::min(ptx.find('\n', slashes), ptx.size());
        }
        return kept;
    }

    static std::vector<string> words(const string& line) {
        std::vector<string> all(1);
        for (char c : line)
            if (!isspace(c)) all.back().push_back(c);
            else if (!all.back().empty()) all.emplace_back();
        if (all.back().empty()) all.pop_back();
        return all;
    }

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
            else parts.back().push_back(c);
        }
        for (string& each : parts) each = trimmed(each);
        return parts;
    }

    static string joined(const std::vector<string>& parts, std::size_t first, std::size_t end) {
        string all;
        for (auto i = first; i < end; ++i) all += (all.empty() ? "" : ".") + parts[i];
        return all;
    }

    static string trimmed(const string& text) {
        auto first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
        return first == string::npos ? "" : text.substr(first, last - first + 1);
    }
};
