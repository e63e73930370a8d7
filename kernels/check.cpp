// The pass against plain loops, without Python: on the instruction sets named, or on all that this processor runs.
// For processors that are only emulated, and for sanitizers that Python does not run under.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "isas.hpp"

using namespace riverhead;

namespace {

constexpr double INF = std::numeric_limits<double>::infinity(), U = 5.9604644775390625e-08;  // 2^-24

uint32_t state = 1;
uint32_t draw() { return state = state * 1664525u + 1013904223u; }
float uniform() { return static_cast<float>(static_cast<int32_t>(draw())) * 0x1p-31f; }  // in [-1, 1)

// Numbers of any type; what they are worth is said apart from what they are written as.
struct Numbers {
    std::vector<double> worth;
    std::vector<float> wide;
    std::vector<uint16_t> narrow;
    std::vector<int64_t> batch;

    Array array(Type type, int64_t B, int64_t heads, int64_t rows, int64_t columns) {
        for (int64_t i = 0; i < B * heads * rows * columns; i++) number(type);
        for (int64_t b = 0; b < B; b++) batch.push_back(b * heads * rows * columns);
        const void* data = type == Type::float32 ? static_cast<const void*>(wide.data()) : narrow.data();
        return {data, type, batch.data(), rows * columns, columns, 1};
    }
    void number(Type type) {
        if (type == Type::float32) {
            wide.push_back(2 * uniform());
            worth.push_back(wide.back());
            return;
        }
        const int digits = type == Type::float16 ? 10 : 7, bias = type == Type::float16 ? 15 : 127;
        const uint32_t fraction = draw() >> (32 - digits), sign = draw() >> 31;
        const int exponent = static_cast<int>((draw() >> 8) % 17) + (type == Type::float16 ? 0 : bias - 15);  // 0: subnormal
        narrow.push_back(static_cast<uint16_t>(sign << 15 | static_cast<uint32_t>(exponent) << digits | fraction));
        const double one = exponent ? 1 : 0, power = std::max(exponent, 1) - bias;
        worth.push_back((sign ? -1 : 1) * (one + std::ldexp(fraction, -digits)) * std::exp2(power));
    }
};

struct Case {
    const char* name;
    int64_t B, H, G, T_q, T_k, d_k, d_v;
    Type type = Type::float32;
    bool causal = false;
    int64_t offset = 0, window = 0;
    float softcap = 0;
    bool alibi = false, sinks = false, lengths = false, mask = false, bias = false;
    int top = 8;
};

const Case CASES[] = {
    {"one number", 1, 1, 1, 1, 1, 1, 1},
    {"full", 2, 3, 1, 49, 130, 13, 17},
    {"causal", 1, 2, 2, 131, 131, 64, 64, Type::float32, true},
    {"several chunks", 1, 1, 1, 7, 1100, 5, 3, Type::float32, true, 1093, 0, 0, false, false, false, false, false, 64},
    {"window", 1, 2, 1, 300, 300, 7, 9, Type::float32, true, 0, 37},
    {"window both ways", 1, 1, 1, 97, 700, 3, 2, Type::float32, false, 250, 61},
    {"soft-cap", 1, 1, 1, 50, 70, 11, 5, Type::float32, false, 0, 0, 0.7f},
    {"everything", 3, 6, 3, 53, 541, 19, 23, Type::float32, true, 488, 300, 3.f, true, true, true, true, true, 5},
    {"blind rows", 2, 2, 1, 60, 40, 4, 4, Type::float32, true, -20, 0, 0, false, false, true, true, false, 3},
    {"float16", 1, 4, 2, 50, 90, 21, 33, Type::float16, true, 40},
    {"bfloat16", 1, 4, 2, 50, 90, 21, 33, Type::bfloat16, true, 40},
    {"wide", 1, 1, 1, 13, 17, 512, 511},
};

// Everything of one case: what goes in, what came out, and how far that is from the loops.
struct Trial {
    const Case& c;
    Problem p{};
    Numbers q, k, v;
    std::vector<float> bias, alibi, sinks;
    std::vector<uint8_t> mask;
    std::vector<int64_t> lengths, zeros, pair_start, pair_key;
    std::map<std::string, std::vector<float>> out;
    std::vector<int32_t> top_key;
    int64_t compared = 0, wrong = 0;

    explicit Trial(const Case& c) : c(c) {
        p.B = c.B, p.H = c.H, p.G = c.G, p.T_q = c.T_q, p.T_k = c.T_k, p.d_k = c.d_k, p.d_v = c.d_v;
        p.q = q.array(c.type, c.B, c.H, c.T_q, c.d_k);
        p.k = k.array(c.type, c.B, c.G, c.T_k, c.d_k);
        p.v = v.array(c.type, c.B, c.G, c.T_k, c.d_v);
        p.scale = 1 / std::sqrt(static_cast<float>(c.d_k)), p.softcap = c.softcap;
        p.causal = c.causal, p.offset = c.offset, p.window = c.window, p.top = c.top;
        zeros.assign(c.B, 0);
        for (int64_t x = 0; x < c.T_q * c.T_k; x++) {
            mask.push_back(draw() >> 30 != 0);
            bias.push_back(draw() >> 29 ? uniform() : -std::numeric_limits<float>::infinity());
        }
        if (c.mask) p.mask = {mask.data(), Type::float32, zeros.data(), 0, c.T_k, 1};
        if (c.bias) p.bias = {bias.data(), Type::float32, zeros.data(), 0, c.T_k, 1};
        for (int64_t h = 0; h < c.H; h++) alibi.push_back(uniform() * 0.1f), sinks.push_back(uniform());
        for (int64_t b = 0; b < c.B; b++) lengths.push_back(b * c.T_k / 2);
        if (c.alibi) p.alibi = alibi.data();
        if (c.sinks) p.sinks = sinks.data();
        if (c.lengths) p.lengths = lengths.data();
        for (int64_t i = 0; i <= c.T_q; i++) {
            pair_start.push_back(static_cast<int64_t>(pair_key.size()));
            for (int64_t n = i % 3; n > 0 && i < c.T_q; n--) pair_key.push_back(draw() % c.T_k);
        }
        p.pair_start = pair_start.data(), p.pair_key = pair_key.data();
    }

    Results results() {
        const int64_t rows = c.B * c.H * c.T_q, keys = c.B * c.H * c.T_k;
        auto of = [&](const char* name, int64_t n) { return out[name].assign(n, NAN), out[name].data(); };
        Results r;
        r.out = of("out", rows * c.d_v), r.lse = of("lse", rows), r.entropy_nats = of("entropy", rows);
        r.mean_distance = of("distance", rows), r.max_weight = of("max", rows), r.first_weight = of("first", rows);
        r.self_weight = of("self", rows), r.previous_weight = of("previous", rows), r.pair_weight = of("pairs", rows);
        r.top_weight = of("top", rows * c.top), r.received = of("received", keys), r.received_max = of("most", keys);
        top_key.assign(rows * c.top, -7), r.top_key = top_key.data();
        return r;
    }

    void hold(const char* name, int64_t at, double exact, double bound) {
        const double found = out[name][at];
        compared++;
        if (found == exact || std::abs(found - exact) <= bound) return;
        if (wrong++ < 3) std::printf("  %s: %s[%lld] is %.9g, not %.9g\n", c.name, name, static_cast<long long>(at), found, exact);
    }

    void compare() {
        std::vector<double> received(c.T_k), most(c.T_k), slack(c.T_k);
        for (int64_t b = 0; b < c.B; b++)
            for (int64_t h = 0; h < c.H; h++) {
                for (auto* x : {&received, &most, &slack}) x->assign(c.T_k, 0);
                for (int64_t i = 0; i < c.T_q; i++) row(b, h, i, received, most, slack);
                for (int64_t j = 0; j < c.T_k; j++) {
                    hold("received", (b * c.H + h) * c.T_k + j, received[j], slack[j]);
                    hold("most", (b * c.H + h) * c.T_k + j, most[j], slack[j]);
                }
            }
    }

    bool sees(int64_t b, int64_t i, int64_t j) const {
        const int64_t behind = i + c.offset - j;
        if (c.causal && behind < 0) return false;
        if (c.window && std::abs(behind) >= c.window) return false;
        if (c.lengths && j >= lengths[b]) return false;
        if (c.mask && !mask[i * c.T_k + j]) return false;
        return !(c.bias && std::isinf(bias[i * c.T_k + j]));
    }

    void row(int64_t b, int64_t h, int64_t i, std::vector<double>& received, std::vector<double>& most, std::vector<double>& slack) {
        const int64_t g = h / (c.H / c.G), at = (b * c.H + h) * c.T_q + i, place = i + c.offset;
        std::vector<double> w(c.T_k, -INF);
        double peak = c.sinks ? sinks[h] : -INF, reach = c.sinks ? std::abs(sinks[h]) : 0;
        for (int64_t j = 0; j < c.T_k; j++) {
            double dot = 0, size = 0;
            for (int64_t d = 0; d < c.d_k; d++) {
                const double x = q.worth[at * c.d_k + d] * k.worth[((b * c.G + g) * c.T_k + j) * c.d_k + d] * p.scale;
                dot += x, size += std::abs(x);
            }
            if (c.softcap) dot = c.softcap * std::tanh(dot / c.softcap);
            const double added = (c.bias ? bias[i * c.T_k + j] : 0.) - (c.alibi ? alibi[h] * std::abs(place - j) : 0.);
            if (!sees(b, i, j)) continue;
            w[j] = dot + added;
            peak = std::max(peak, w[j]), reach = std::max(reach, size + std::abs(added));
        }
        double total = c.sinks ? std::exp(sinks[h] - peak) : 0;
        const double off = (2. * (c.d_k + 16) * reach + c.T_k + 16) * U;  // relative, of a weight
        int64_t first = c.T_k;
        for (int64_t j = c.T_k - 1; j >= 0; j--)
            if (w[j] > -INF) total += std::exp(w[j] - peak), first = j;
        double entropy = 0, distance = 0, largest = 0, deep = 0;
        for (int64_t j = 0; j < c.T_k; j++) {
            w[j] = w[j] > -INF ? std::exp(w[j] - peak) / total : 0;
            if (w[j] > 0) entropy -= w[j] * std::log(w[j]), deep += w[j] * (1 - std::log(w[j]));
            distance += w[j] * std::abs(place - j), largest = std::max(largest, w[j]);
            received[j] += w[j], most[j] = std::max(most[j], w[j]), slack[j] += w[j] * (off + (c.T_q + 16) * U) + 1e-37;
        }
        auto weight = [&](int64_t j) { return j >= 0 && j < c.T_k ? w[j] : 0; };
        hold("lse", at, total > 0 ? peak + std::log(total) : -INF, off + std::abs(peak) * U * 2);
        hold("entropy", at, entropy, deep * 2 * off + 1e-37);
        hold("distance", at, distance, 2 * distance * off + 1e-37);
        hold("max", at, largest, largest * off);
        hold("first", at, weight(first), weight(first) * off + 1e-37);
        hold("self", at, weight(place), weight(place) * off + 1e-37);
        hold("previous", at, weight(place - 1), weight(place - 1) * off + 1e-37);
        double of_pairs = 0;
        for (int64_t x = pair_start[i]; x < pair_start[i + 1]; x++) of_pairs += weight(pair_key[x]);
        hold("pairs", at, of_pairs, of_pairs * 2 * off + 1e-37);
        for (int64_t d = 0; d < c.d_v; d++) {
            double mixed = 0, size = 0;
            for (int64_t j = 0; j < c.T_k; j++) {
                const double x = w[j] * v.worth[((b * c.G + g) * c.T_k + j) * c.d_v + d];
                mixed += x, size += std::abs(x);
            }
            hold("out", at * c.d_v + d, mixed, size * 2 * off + 1e-36);
        }
        top(at, w, off);
    }

    // Each place of the top holds the largest weight left, and its key has that weight.
    void top(int64_t at, const std::vector<double>& w, double off) {
        std::vector<double> left = w;
        for (int t = 0; t < c.top; t++) {
            const auto largest = std::max_element(left.begin(), left.end());
            const int32_t key = top_key[at * c.top + t];
            hold("top", at * c.top + t, *largest, *largest * off + 1e-37);
            if (key >= 0 ? std::abs(w[key] - *largest) > 2 * *largest * off + 1e-37 : *largest > 1e-37) {
                if (wrong++ < 3) std::printf("  %s: top_key[%lld] is %d\n", c.name, static_cast<long long>(at), key);
            }
            *largest = 0;
        }
    }
};

// Whether every case is within its bounds, and the same to the last bit on three threads.
bool check(const std::string& isa, Run run) {
    int64_t compared = 0, wrong = 0;
    state = 1;
    for (const Case& c : CASES) {
        Trial trial(c);
        if (run(trial.p, trial.results(), 1, [](double) { return true; }) != Outcome::done) wrong++;
        trial.compare();
        const auto alone = trial.out;
        if (run(trial.p, trial.results(), 3, [](double) { return true; }) != Outcome::done) wrong++;
        for (const auto& [name, x] : alone)
            if (std::memcmp(x.data(), trial.out[name].data(), x.size() * sizeof(float))) {
                std::printf("  %s: %s differs on three threads\n", c.name, name.c_str());
                wrong++;
            }
        compared += trial.compared, wrong += trial.wrong;
    }
    std::printf("%s: %lld numbers, %lld wrong\n", isa.c_str(), static_cast<long long>(compared), static_cast<long long>(wrong));
    return wrong == 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> named(argv + 1, argv + argc);
    bool fine = true;
    for (const std::string& isa : argc > 1 ? named : isas()) {
        const bool there = compiled().count(isa) && supported(isa);
        if (!there) std::printf("%s: not compiled in, or not of this processor\n", isa.c_str());
        fine = there && check(isa, compiled().at(isa)) && fine;
    }
    return fine ? 0 : 1;
}
