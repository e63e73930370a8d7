// The fused pass: out, log-sum-exp and every statistic of a row block while its scores are still in cache.
//
// One block is 48 rows of one head. It walks the keys it may see in chunks of 512: scores (tile by tile, 6 rows
// by a panel of keys) with the largest of each lane; then, with the running row maximum, their powers of two in
// place, the row sums, the few that may belong to the top, and out += P V. Chunks remember the maximum they were
// taken against, so that one factor a row and chunk turns P into weights when the row is finished; the sums per
// key are added then. This file is compiled once per instruction set (RIVERHEAD_ISA is its name).
#include <algorithm>
#include <ctime>
#include <limits>
#include <memory>
#include <vector>

#include "pack.hpp"
#include "problem.hpp"
#include "simd.hpp"
#include "watch.hpp"

namespace riverhead {
namespace {

constexpr int BLOCK = 48;                // rows of a block
constexpr int CHUNK = 512;               // keys of a chunk: its scores and values stay in the second-level cache
constexpr int LANES = 64;                // maxima kept per row and chunk; the top-th of them bounds the top from below
constexpr int LV = LANES / VL;
constexpr int MAX_STRIPES = 32;          // sums per key: as many partial sums as this, whatever the threads
constexpr int64_t WAVE_BYTES = 256 << 20;  // packed keys and values held at once
constexpr int64_t MAX_THREADS = 256;     // each has a block's scores in memory
constexpr float LOG2E = 1.4426950408889634f, LN2 = 0.6931471805599453f;
constexpr float INF = std::numeric_limits<float>::infinity();

// A thread's memory, and the state of the rows of its block.
struct Scratch {
    int64_t ld, o_width, n_chunks;
    Floats S, Q, O, L, factor;           // scores, then powers; scaled queries; out; lane maxima; one a row and chunk
    float M[BLOCK];                      // the running maximum, base 2
    vf l[BLOCK], ps[BLOCK], pd[BLOCK];   // lane sums of P, of P (score - M), of P distance
    std::vector<float> top;              // [BLOCK][top] scores, largest first
    std::vector<int32_t> top_key;
    int n_top[BLOCK];

    Scratch(const Problem& p, int64_t width, int64_t v_width)
        : ld(round_up(width, CHUNK) + NR + 16), o_width(v_width), n_chunks(ld / CHUNK + 1),
          S(floats(BLOCK * ld)), Q(floats(BLOCK * p.d_k)), O(floats(BLOCK * v_width)), L(floats(BLOCK * LANES)),
          factor(floats(n_chunks * BLOCK)), top(BLOCK * p.top), top_key(BLOCK * p.top) {}
};

// One block of rows of one head at work.
struct Block {
    const Problem& p;
    const Results& r;
    const Packed& kv;
    Scratch& s;
    float *received, *received_max;      // this stripe's sums, or null
    const int64_t b, h, i0, rows;
    Span span[BLOCK];                    // of each row; past `rows` the last one again
    int64_t base, high;                  // the keys [base, high) that any row sees; base is a multiple of NR

    Block(const Problem& p, const Results& r, const Packed& kv, Scratch& s, float* received, float* received_max,
          int64_t b, int64_t h, int64_t i0)
        : p(p), r(r), kv(kv), s(s), received(received), received_max(received_max), b(b), h(h), i0(i0),
          rows(std::min<int64_t>(BLOCK, p.T_q - i0)) {
        for (int64_t m = 0; m < BLOCK; m++) span[m] = visible(p, b, i0 + std::min(m, rows - 1));
        base = span[0].low / NR * NR;
        high = span[BLOCK - 1].high;
    }

    Span tile(int64_t u) const { return {span[u * MR].low / NR * NR, span[u * MR + MR - 1].high}; }
    bool plain() const { return !p.mask && !p.bias && !p.alibi && !p.softcap; }
    float* row(int64_t m, int64_t j) const { return s.S.get() + m * s.ld + (j - base); }

    // A chunk takes milliseconds at most, so that a stop is soon; the block is then left unfinished.
    void run(Watch& watch, int id) {
        start();
        for (int64_t c0 = base, c = 0; c0 < high; c0 += CHUNK, c++) {
            watch.look(id);
            if (watch.stop) return;
            const int64_t c1 = std::min(c0 + CHUNK, high);
            if (plain()) scores<true>(c0, c1);
            else scores<false>(c0, c1);
            for (int64_t u = 0; u < (rows + MR - 1) / MR; u++) spend(u, c, c0, c1);
        }
        finish();
        if (received) receive();
        watch.done++;
    }

    void start() {
        const float scale = p.scale * (p.softcap ? 1.f : LOG2E);
        for (int64_t m = 0; m < BLOCK; m++) {
            const int64_t from = p.q.at(b, h, i0 + std::min(m, rows - 1), 0);
            for (int64_t d = 0; d < p.d_k; d++)
                s.Q[m * p.d_k + d] = m < rows ? element(p.q, from + d * p.q.column) * scale : 0.f;
            s.M[m] = -INF;
            s.l[m] = s.ps[m] = s.pd[m] = vf{};
            s.n_top[m] = 0;
        }
        std::fill_n(s.O.get(), BLOCK * s.o_width, 0.f);
    }

    // Pass 1: the chunk's scores in base 2, -inf where hidden, and the largest of each lane.
    template <bool PLAIN>
    void scores(int64_t c0, int64_t c1) {
        std::fill_n(s.L.get(), BLOCK * LANES, -INF);
        for (int64_t j0 = c0; j0 < c1; j0 += NR) {
            const float* keys = kv.k + j0 * p.d_k;
            float* lanes = s.L.get() + (j0 / NR) % LV * VL;
            for (int64_t u = 0; u * MR < rows; u++) {
                const Span t = tile(u);
                if (j0 >= t.high || j0 < t.low) continue;
                vf c[MR][NV] = {};
                multiply<NV>(p.d_k, s.Q.get() + u * MR * p.d_k, p.d_k, keys, NR, c);
                if (!PLAIN) for (int m = 0; m < MR; m++) adjust(u * MR + m, j0, c[m]);
                if (j0 < span[u * MR + MR - 1].low || j0 + NR > span[u * MR].high)
                    for (int m = 0; m < MR; m++) hide(span[u * MR + m], j0, c[m]);
#pragma GCC unroll 8
                for (int m = 0; m < MR; m++) {
                    float* to = row(u * MR + m, j0);
#pragma GCC unroll 8
                    for (int n = 0; n < NV; n++) store(to + n * VL, c[m][n]);
                    vf a = c[m][0];
#pragma GCC unroll 8
                    for (int n = 1; n < NV; n++) a = vmax(a, c[m][n]);
                    float* lane = lanes + (u * MR + m) * LANES;
                    store(lane, vmax(load(lane), a));
                }
            }
        }
    }

    static vf iota() {
        vf x;
        for (int l = 0; l < VL; l++) x[l] = static_cast<float>(l);
        return x;
    }

    static void hide(Span row, int64_t j0, vf (&c)[NV]) {
        const vf low = all(static_cast<float>(row.low - j0)), high = all(static_cast<float>(row.high - j0));
        for (int n = 0; n < NV; n++) {
            const vf j = iota() + static_cast<float>(n * VL);
            c[n] = j < high ? c[n] : all(-INF);
            c[n] = j >= low ? c[n] : all(-INF);
        }
    }

    // Soft-cap, then bias, then the mask, on one row of a tile.
    void adjust(int64_t m, int64_t j0, vf (&c)[NV]) const {
        const int64_t i = i0 + std::min(m, rows - 1);
        if (p.softcap)
            for (int n = 0; n < NV; n++) c[n] = tanh(c[n] * (1.f / p.softcap)) * (p.softcap * LOG2E);
        if (p.alibi) {
            const vf slope = all(-p.alibi[h] * LOG2E);
            for (int n = 0; n < NV; n++) {
                const vf d = iota() + static_cast<float>(j0 + n * VL - i - p.offset);
                c[n] += slope * (d < vf{} ? -d : d);
            }
        }
        alignas(64) float cells[NR];
        const int64_t n_keys = std::min<int64_t>(NR, p.T_k - j0);
        if (p.bias) {
            const float* from = static_cast<const float*>(p.bias.data) + p.bias.at(b, h, i, j0);
            for (int64_t j = 0; j < NR; j++) cells[j] = j < n_keys ? from[j * p.bias.column] : 0.f;
            for (int n = 0; n < NV; n++) c[n] += load(cells + n * VL) * LOG2E;
        }
        if (p.mask) {
            const uint8_t* from = static_cast<const uint8_t*>(p.mask.data) + p.mask.at(b, h, i, j0);
            for (int64_t j = 0; j < NR; j++) cells[j] = j < n_keys && from[j * p.mask.column] ? 0.f : -INF;
            for (int n = 0; n < NV; n++) c[n] = load(cells + n * VL) < vf{} ? all(-INF) : c[n];
        }
    }

    // Pass 2 on one tile: powers of two in place, row sums, the top, and out += P V.
    void spend(int64_t u, int64_t c, int64_t c0, int64_t c1) {
        const Span t = tile(u);
        const int64_t ja = std::max(c0, t.low), jz = std::min(c0 + CHUNK, round_up(t.high, NR));
        for (int64_t m = u * MR; m < u * MR + MR; m++) {
            if (ja < jz) raise(m);
            s.factor[c * BLOCK + m] = s.M[m];
            if (ja >= jz) continue;
            if (p.top && m < rows) rank(m, ja, jz);
            powers(m, ja, jz);
        }
        const int64_t n_keys = std::min(c1, t.high) - ja;
        if (n_keys <= 0) return;
        int64_t n0 = 0;
        for (; n0 + NR <= s.o_width; n0 += NR) accumulate<NV>(u, ja, n_keys, n0);
        switch ((s.o_width - n0) / VL) {
            case 1: accumulate<1>(u, ja, n_keys, n0); break;
            case 2: accumulate<2>(u, ja, n_keys, n0); break;
            case 3: accumulate<3>(u, ja, n_keys, n0); break;
        }
    }

    template <int N>
    void accumulate(int64_t u, int64_t ja, int64_t n_keys, int64_t n0) {
        float* out = s.O.get() + u * MR * s.o_width + n0;
        vf c[MR][N];
#pragma GCC unroll 8
        for (int m = 0; m < MR; m++)
#pragma GCC unroll 8
            for (int n = 0; n < N; n++) c[m][n] = load(out + m * s.o_width + n * VL);
        multiply<N>(n_keys, row(u * MR, ja), s.ld, kv.v + ja * kv.v_width + n0, kv.v_width, c);
#pragma GCC unroll 8
        for (int m = 0; m < MR; m++)
#pragma GCC unroll 8
            for (int n = 0; n < N; n++) store(out + m * s.o_width + n * VL, c[m][n]);
    }

    // Take the chunk's largest score into the running maximum; what was summed against the old one shrinks.
    void raise(int64_t m) {
        const float* lanes = s.L.get() + m * LANES;
        vf a = load(lanes);
        for (int n = 1; n < LV; n++) a = vmax(a, load(lanes + n * VL));
        const float old = s.M[m], now = std::max(old, largest(a));
        if (now == old) return;
        s.M[m] = now;
        if (old == -INF) return;
        const float f = exp2_nonpositive(all(old - now))[0];
        // Where f is 0 the old sums vanish whatever the shift, which may itself be too large to multiply.
        s.ps[m] = f == 0 ? vf{} : (s.ps[m] + s.l[m] * (old - now)) * f;
        s.l[m] *= f;
        s.pd[m] *= f;
        float* out = s.O.get() + m * s.o_width;
        for (int64_t d = 0; d < s.o_width; d += VL) store(out + d, load(out + d) * f);
    }

    void powers(int64_t m, int64_t ja, int64_t jz) {
        const vf M = all(s.M[m] == -INF ? 0.f : s.M[m]);
        vf l = s.l[m], ps = s.ps[m], pd = s.pd[m];
        vf d = iota() + static_cast<float>(ja - (i0 + m + p.offset));
        for (int64_t j = ja; j < jz; j += VL) {
            float* cell = row(m, j);
            const vf x = load(cell) - M, y = exp2_nonpositive(x);
            l += y;
            ps += y * vmax(x, all(SMALLEST));
            pd += y * (vf)((vi)d & 0x7fffffff);
            d += static_cast<float>(VL);
            store(cell, y);
        }
        s.l[m] = l, s.ps[m] = ps, s.pd[m] = pd;
    }

    // Keep the `top` largest scores of row m; of equal ones those with the lower key, which came first.
    void rank(int64_t m, int64_t ja, int64_t jz) {
        float* best = s.top.data() + m * p.top;
        int32_t* key = s.top_key.data() + m * p.top;
        int& n = s.n_top[m];
        float tau = threshold(m, n == p.top ? best[n - 1] : -INF);
        for (int64_t j = ja; j < jz; j += VL) {
            unsigned bits = greater(load(row(m, j)), all(tau));
            if (__builtin_expect(bits == 0, 1)) continue;
            for (; bits; bits &= bits - 1) {
                const int64_t at = j + __builtin_ctz(bits);
                const float x = *row(m, at);
                if (n == p.top && x <= best[n - 1]) continue;
                int z = n < p.top ? n++ : n - 1;
                for (; z > 0 && best[z - 1] < x; z--) best[z] = best[z - 1], key[z] = key[z - 1];
                best[z] = x, key[z] = static_cast<int32_t>(at);
            }
            if (n == p.top) tau = std::max(tau, best[n - 1]);
        }
    }

    // A score no larger than tau cannot be in the top: tau is the worst kept, or just below the top-th lane maximum.
    float threshold(int64_t m, float worst) const {
        vf v[LV];
        int above = 0;
        for (int n = 0; n < LV; n++) {
            v[n] = load(s.L.get() + m * LANES + n * VL);
            above += __builtin_popcount(greater(v[n], all(worst)));
        }
        if (above < p.top) return worst;
        float bound = INF;
        for (int found = 0; found < p.top;) {
            vf a = v[0];
            for (int n = 1; n < LV; n++) a = vmax(a, v[n]);
            bound = largest(a);
            for (int n = 0; n < LV; n++) {
                found += VL - __builtin_popcount(greater(all(bound), v[n]));
                v[n] = v[n] >= all(bound) ? all(-INF) : v[n];
            }
            if (bound == -INF) return worst;
        }
        return std::max(worst, std::nextafter(bound, -INF));
    }

    void finish() {
        for (int64_t m = 0; m < rows; m++) {
            const float sink = p.sinks ? p.sinks[h] * LOG2E : -INF;
            const float M = std::max(s.M[m], sink);
            const bool empty = s.M[m] == -INF;  // no visible key: zeros, and lse is the sink's alone
            const float f = empty ? 0.f : exp2_nonpositive(all(s.M[m] - M))[0];
            const float total = sum(s.l[m]) * f + (sink == -INF ? 0.f : exp2_nonpositive(all(sink - M))[0]);
            const float inv = empty ? 0.f : 1.f / total, log_total = std::log(total);
            const int64_t n_chunks = (std::max(high - base, int64_t{0}) + CHUNK - 1) / CHUNK;
            for (int64_t c = 0; c < n_chunks; c++) {
                float& x = s.factor[c * BLOCK + m];
                x = x == -INF ? 0.f : exp2_nonpositive(all(x - M))[0] * inv;
            }
            const int64_t at = (b * p.H + h) * p.T_q + i0 + m;
            for (int64_t d = 0; d < p.d_v; d++) r.out[at * p.d_v + d] = s.O[m * s.o_width + d] * (f * inv);
            if (r.lse) r.lse[at] = M == -INF ? -INF : LN2 * M + log_total;
            if (r.entropy_nats) {
                const float kept = sum(s.l[m]) * f * inv;  // 1 without sinks
                // -sum w ln w with ln w = ln2 (score - M) - ln total, where M now counts the sink
                const float shift = empty ? 0.f : s.M[m] - M;
                const float mean = f == 0 ? 0.f : (sum(s.ps[m]) + shift * sum(s.l[m])) * f * inv;
                r.entropy_nats[at] = empty ? 0.f : std::max(0.f, kept * log_total - LN2 * mean);
            }
            if (r.mean_distance) r.mean_distance[at] = sum(s.pd[m]) * (f * inv);
            if (r.max_weight) r.max_weight[at] = f * inv;
            if (r.first_weight) r.first_weight[at] = weight(m, first(m));
            if (r.self_weight) r.self_weight[at] = weight(m, i0 + m + p.offset);
            if (r.previous_weight) r.previous_weight[at] = weight(m, i0 + m + p.offset - 1);
            if (r.pair_weight) {
                float w = 0;
                for (int64_t x = p.pair_start[i0 + m]; x < p.pair_start[i0 + m + 1]; x++) w += weight(m, p.pair_key[x]);
                r.pair_weight[at] = w;
            }
            if (p.top) list_top(m, r.top_weight + at * p.top, r.top_key + at * p.top);
        }
    }

    // The top by weight: scores that differ may have weights that do not, and then the lower key is first.
    void list_top(int64_t m, float* to, int32_t* to_key) const {
        for (int t = 0; t < s.n_top[m]; t++) {
            const int32_t j = s.top_key[m * p.top + t];
            const float w = weight(m, j);
            int z = t;
            for (; z > 0 && (to[z - 1] < w || (to[z - 1] == w && to_key[z - 1] > j)); z--)
                to[z] = to[z - 1], to_key[z] = to_key[z - 1];
            to[z] = w, to_key[z] = j;
        }
        for (int t = s.n_top[m]; t < p.top; t++) to[t] = 0.f, to_key[t] = -1;
    }

    float weight(int64_t m, int64_t j) const {
        if (j < span[m].low || j >= span[m].high) return 0.f;
        return *row(m, j) * s.factor[(j - base) / CHUNK * BLOCK + m];
    }

    bool hidden(int64_t m, int64_t j) const {
        if (p.mask && !static_cast<const uint8_t*>(p.mask.data)[p.mask.at(b, h, i0 + m, j)]) return true;
        return p.bias && static_cast<const float*>(p.bias.data)[p.bias.at(b, h, i0 + m, j)] == -INF;
    }

    int64_t first(int64_t m) const {
        int64_t j = span[m].low;
        while (j < span[m].high && hidden(m, j)) j++;
        return j;
    }

    // Pass 3: what each key received, in this stripe's own sums.
    void receive() {
        for (int64_t j0 = base; j0 < high; j0 += NR) {
            const float* factor = s.factor.get() + (j0 - base) / CHUNK * BLOCK;
            vf a[NV], x[NV];
            for (int n = 0; n < NV; n++) a[n] = load(received + j0 + n * VL), x[n] = load(received_max + j0 + n * VL);
            for (int64_t u = 0; u * MR < rows; u++) {
                const Span t = tile(u);
                if (j0 >= t.high || j0 < t.low) continue;
                for (int64_t m = u * MR; m < std::min(u * MR + MR, rows); m++) {
                    const vf f = all(factor[m]);
                    const float* from = row(m, j0);
#pragma GCC unroll 8
                    for (int n = 0; n < NV; n++) {
                        const vf w = load(from + n * VL) * f;
                        a[n] += w;
                        x[n] = vmax(x[n], w);
                    }
                }
            }
            for (int n = 0; n < NV; n++) store(received + j0 + n * VL, a[n]), store(received_max + j0 + n * VL, x[n]);
        }
    }
};

}  // namespace

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

Outcome JOIN(run_, RIVERHEAD_ISA)(const Problem& p, const Results& r, int n_threads, const Poll& poll) {
    const int64_t panels = (p.T_k + NR - 1) / NR, T_pad = panels * NR, group = p.H / p.G;
    const int64_t v_width = round_up(p.d_v, VL), blocks = (p.T_q + BLOCK - 1) / BLOCK;
    const int64_t one = 4 * (T_pad * p.d_k + p.T_k * v_width);
    const int64_t wave = std::clamp<int64_t>(WAVE_BYTES / std::max<int64_t>(one, 1), 1, p.B * p.G);
    const int64_t stripes = std::clamp<int64_t>(MAX_STRIPES / (p.B * p.H), 1, std::max<int64_t>(blocks, 1));
    int64_t width = 1;
    for (int64_t b = 0; b < p.B; b++)
        for (int64_t i = 0; i < p.T_q; i += BLOCK)
            width = std::max(width, visible(p, b, std::min(i + BLOCK, p.T_q) - 1).high - visible(p, b, i).low / NR * NR);
    Watch watch(poll, p.B * p.H * blocks);
    try {
        const Floats k = floats(wave * T_pad * p.d_k), v = floats(wave * p.T_k * v_width);
        const int64_t n_sums = r.received ? wave * group * stripes * T_pad : 0;
        const Floats sums = floats(n_sums), maxima = floats(n_sums);
        const int n = static_cast<int>(std::clamp<int64_t>(n_threads, 1, std::min(p.B * p.H * stripes, MAX_THREADS)));
        std::vector<std::unique_ptr<Scratch>> scratch(n);
        for (int64_t first = 0; first < p.B * p.G && !watch.stop; first += wave) {
            const int64_t pairs = std::min(wave, p.B * p.G - first), tasks = pairs * group * stripes;
            std::fill_n(sums.get(), n_sums, 0.f);
            std::fill_n(maxima.get(), n_sums, 0.f);
            std::atomic<int64_t> next_panel{0}, next{0};
            bool fine = on_threads(n, watch, [&](int id) {
                for (int64_t x; (x = next_panel++) < pairs * panels && !watch.stop; watch.look(id)) {
                    const int64_t w = x / panels, b = (first + w) / p.G, g = (first + w) % p.G;
                    pack_keys(p, b, g, x % panels, k.get() + w * T_pad * p.d_k);
                    pack_values(p, b, g, x % panels, v.get() + w * p.T_k * v_width, v_width);
                }
            });
            fine = fine && on_threads(n, watch, [&](int id) {
                if (!scratch[id]) scratch[id] = std::make_unique<Scratch>(p, width, v_width);
                for (int64_t x; (x = next++) < tasks && !watch.stop;) {
                    const int64_t w = x / (group * stripes), stripe = x % stripes;
                    const int64_t b = (first + w) / p.G, h = (first + w) % p.G * group + x / stripes % group;
                    const Packed kv{k.get() + w * T_pad * p.d_k, v.get() + w * p.T_k * v_width, v_width};
                    float* to = r.received ? sums.get() + x * T_pad : nullptr;
                    float* to_max = r.received ? maxima.get() + x * T_pad : nullptr;
                    for (int64_t i = stripe; i < blocks && !watch.stop; i += stripes)
                        Block(p, r, kv, *scratch[id], to, to_max, b, h, i * BLOCK).run(watch, id);
                }
            });
            if (!fine) return Outcome::out_of_memory;
            if (watch.stop) return Outcome::cancelled;
            for (int64_t x = 0; r.received && x < pairs * group; x++) {
                const int64_t w = x / group, at = ((first + w) / p.G * p.H + (first + w) % p.G * group + x % group) * p.T_k;
                for (int64_t j = 0; j < p.T_k; j++) {
                    double total = 0;
                    float most = 0;
                    for (int64_t t = 0; t < stripes; t++) {
                        total += sums[(x * stripes + t) * T_pad + j];
                        most = std::max(most, maxima[(x * stripes + t) * T_pad + j]);
                    }
                    r.received[at + j] = static_cast<float>(total);
                    r.received_max[at + j] = most;
                }
            }
        }
    } catch (const std::bad_alloc&) {
        return Outcome::out_of_memory;
    }
    return Outcome::done;
}

// The ceiling: floating-point operations a second of the tile product alone, its operands in the first-level cache.
double JOIN(peak_, RIVERHEAD_ISA)() {
    constexpr int64_t K = 64, ROUNDS = 200000;
    alignas(64) static float A[MR * K], B[K * NR];
    for (float& x : A) x = 1e-3f;
    for (float& x : B) x = 1e-3f;
    vf c[MR][NV] = {};
    const std::clock_t start = std::clock();  // of the processor: a busy machine lowers no ceiling
    for (int64_t i = 0; i < ROUNDS; i++) {
        multiply<NV>(K, A, K, B, NR, c);
        asm volatile("" ::: "memory");  // the operands may have changed: nothing is carried over
    }
    const double spent = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    volatile float kept = 0;
    for (const auto& row : c)
        for (const vf& x : row) kept = kept + x[0];
    return 2.0 * MR * NR * K * ROUNDS / spent;
}

}  // namespace riverhead
