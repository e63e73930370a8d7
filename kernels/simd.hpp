// One vector type for every instruction set (GCC and Clang vector extensions); the width is the compiler's target.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__AVX2__) || defined(__F16C__)
#include <immintrin.h>
#endif

#define INLINE inline __attribute__((always_inline))

namespace riverhead {
namespace {

#if defined(__AVX512F__)
constexpr int VL = 16, NV = 4;      // lanes of a vector, vectors of a panel: 24 accumulators of 32 registers
#elif defined(__AVX2__)
constexpr int VL = 8, NV = 2;       // 12 accumulators of 16
#elif defined(__aarch64__)
constexpr int VL = 4, NV = 4;       // 24 of 32
#else
constexpr int VL = 4, NV = 2;
#endif
constexpr int MR = 6;               // rows of a tile
constexpr int NR = VL * NV;         // keys of a panel

typedef float vf __attribute__((vector_size(VL * 4)));
typedef float vf_unaligned __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(VL * 4)));
typedef uint8_t vb __attribute__((vector_size(VL), aligned(1), may_alias));

INLINE vf load(const float* p) { return *reinterpret_cast<const vf_unaligned*>(p); }
INLINE void store(float* p, vf v) { *reinterpret_cast<vf_unaligned*>(p) = v; }
INLINE vf all(float x) { return x - vf{}; }  // a broadcast; `vf{} + x` would cost an add for the sign of zero
INLINE vf vmax(vf a, vf b) { return a > b ? a : b; }

// The lanes of v, each changing places with the one S away (S a power of two).
template <int S>
INLINE vf exchanged(vf v) {
#if defined(__clang__)
    vf to;
    for (int l = 0; l < VL; l++) to[l] = v[l ^ S];
    return to;
#else
    vi from;
    for (int l = 0; l < VL; l++) from[l] = l ^ S;
    return __builtin_shuffle(v, from);
#endif
}

// The sum, and the largest, of the lanes: in halves, a few shuffles where a loop would take each lane out.
template <int S = VL / 2>
INLINE float sum(vf v) {
    v += exchanged<S>(v);
    if constexpr (S > 1) return sum<S / 2>(v);
    else return v[0];
}
template <int S = VL / 2>
INLINE float largest(vf v) {
    v = vmax(v, exchanged<S>(v));
    if constexpr (S > 1) return largest<S / 2>(v);
    else return v[0];
}

// One bit a lane where a > b.
INLINE unsigned greater(vf a, vf b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
#elif defined(__AVX2__)
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ));
#else
    const vi m = a > b;
    unsigned bits = 0;
    for (int l = 0; l < VL; l++) bits |= static_cast<unsigned>(m[l] & 1) << l;
    return bits;
#endif
}

constexpr float SMALLEST = -126.f;  // below this power of two a float32 is no longer normal: its weight is 0

// 2^x for x <= 0; 0 where x < SMALLEST (so for -inf too). Minimax on [-1/2, 1/2], relative error below 2e-7.
INLINE vf exp2_nonpositive(vf x) {
    const vf clamped = vmax(x, all(SMALLEST));
    const vf n = clamped + 12582912.f;  // 1.5 * 2^23: rounds to the nearest integer, which sits in the low bits
    const vf r = clamped - (n - 12582912.f);
    vf p = all(1.535336188319500e-4f);
    p = p * r + 1.339887440266574e-3f;
    p = p * r + 9.618437357674640e-3f;
    p = p * r + 5.550332471162809e-2f;
    p = p * r + 2.402264791363012e-1f;
    p = p * r + 6.931472028550421e-1f;
    p = p * r + 1.f;
    const vf y = (vf)((vi)p + ((vi)n << 23));
    return x >= all(SMALLEST) ? y : vf{};
}

// tanh: a series near 0, where the quotient would cancel, and (1 - t)/(1 + t), t = exp(-2|x|), beyond.
INLINE vf tanh(vf x) {
    const vf a = x < vf{} ? -x : x;
    const vf t = exp2_nonpositive(a * -2.885390081777927f);
    const vf far = (1.f - t) / (1.f + t);
    const vf s = a * a;
    vf series = all(0.0218694885f);           // 62/2835
    series = series * s - 0.0539682540f;      // 17/315
    series = series * s + 0.1333333333f;
    series = series * s - 0.3333333333f;
    const vf near = a + a * s * series;
    const vf y = a < all(0.25f) ? near : far;
    return x < vf{} ? -y : y;
}

// C[MR][N vectors] += A[MR][K] B[K][N vectors]: all the arithmetic of the pass goes through here.
template <int N>
INLINE void multiply(int64_t K, const float* __restrict A, int64_t lda, const float* __restrict B, int64_t ldb, vf (&c)[MR][N]) {
    for (int64_t k = 0; k < K; k++) {
        vf b[N];
#pragma GCC unroll 8
        for (int n = 0; n < N; n++) b[n] = load(B + n * VL);
#pragma GCC unroll 8
        for (int m = 0; m < MR; m++) {
            const vf a = all(A[m * lda + k]);
#pragma GCC unroll 8
            for (int n = 0; n < N; n++) c[m][n] += a * b[n];
        }
        B += ldb;
    }
}

INLINE float from_half(uint16_t h) {
#if defined(__F16C__)
    return _cvtsh_ss(h);
#else
    const uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31, fraction = h & 1023;
    float x;
    if (exponent == 0) {
        x = static_cast<float>(fraction) * 5.9604644775390625e-8f;  // 2^-24: zero and subnormals
        return sign ? -x : x;
    }
    const uint32_t bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | fraction << 13;
    std::memcpy(&x, &bits, 4);
    return x;
#endif
}

INLINE float from_bfloat(uint16_t h) {
    const uint32_t bits = static_cast<uint32_t>(h) << 16;
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}

}  // namespace
}  // namespace riverhead
