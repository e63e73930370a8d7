// Keys and values of any type and layout as float32, in the order the tiles read them; and which keys a query sees.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "problem.hpp"
#include "simd.hpp"

namespace riverhead {
namespace {

int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

struct Free { void operator()(void* p) const { std::free(p); } };
using Floats = std::unique_ptr<float[], Free>;

Floats floats(int64_t n) {
    void* p = std::aligned_alloc(64, static_cast<size_t>(round_up(std::max<int64_t>(n, 1) * 4, 64)));
    if (!p) throw std::bad_alloc();
    return Floats(static_cast<float*>(p));
}

// Element `i` of an array of any type, as float32.
INLINE float element(const Array& a, int64_t i) {
    switch (a.type) {
        case Type::float16: return from_half(static_cast<const uint16_t*>(a.data)[i]);
        case Type::bfloat16: return from_bfloat(static_cast<const uint16_t*>(a.data)[i]);
        default: return static_cast<const float*>(a.data)[i];
    }
}

// The keys [low, high) that query i may see before the mask is asked; neither end ever moves back as i grows.
struct Span { int64_t low, high; };

Span visible(const Problem& p, int64_t b, int64_t i) {
    const int64_t position = i + p.offset;
    int64_t low = 0, high = p.lengths ? std::clamp<int64_t>(p.lengths[b], 0, p.T_k) : p.T_k;
    if (p.window) low = std::clamp<int64_t>(position - p.window + 1, 0, p.T_k);
    if (p.causal) high = std::min(high, position + 1);
    else if (p.window) high = std::min(high, position + p.window);
    return {low, std::max(high, int64_t{0})};
}

// The keys and values of one (batch item, kv head) in the order the tiles read them.
struct Packed {
    float *k, *v;        // [panels][d_k][NR], zeros past T_k; [T_k][width of v]
    int64_t v_width;
};

void pack_keys(const Problem& p, int64_t b, int64_t g, int64_t panel, float* to) {
    const int64_t j0 = panel * NR, n = std::min<int64_t>(NR, p.T_k - j0);
    to += panel * p.d_k * NR;
    for (int64_t j = 0; j < NR; j++) {
        const int64_t from = j < n ? p.k.at(b, g, j0 + j, 0) : 0;
        for (int64_t d = 0; d < p.d_k; d++) to[d * NR + j] = j < n ? element(p.k, from + d * p.k.column) : 0.f;
    }
}

void pack_values(const Problem& p, int64_t b, int64_t g, int64_t panel, float* to, int64_t width) {
    const int64_t j1 = std::min<int64_t>((panel + 1) * NR, p.T_k);
    for (int64_t j = panel * NR; j < j1; j++) {
        const int64_t from = p.v.at(b, g, j, 0);
        for (int64_t d = 0; d < width; d++) to[j * width + d] = d < p.d_v ? element(p.v, from + d * p.v.column) : 0.f;
    }
}

}  // namespace
}  // namespace riverhead
