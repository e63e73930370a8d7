// What one call computes: plain data, the same for every instruction set.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace riverhead {

enum class Type : int { float32, float16, bfloat16 };

// An array (B, heads, rows, columns): `batch` holds the offset of every batch item, the rest are strides,
// all counted in elements; a stride of 0 repeats, so nothing that broadcasts is ever expanded.
struct Array {
    const void* data = nullptr;
    Type type = Type::float32;
    const int64_t* batch = nullptr;
    int64_t head = 0, row = 0, column = 0;

    explicit operator bool() const { return data != nullptr; }
    int64_t at(int64_t b, int64_t h, int64_t i, int64_t j) const { return batch[b] + h * head + i * row + j * column; }
};

struct Problem {
    int64_t B, H, G, T_q, T_k, d_k, d_v;
    Array q, k, v;
    Array mask;                     // one byte a cell, 1 = may attend
    Array bias;                     // float32, added after the soft-cap
    float scale;                    // multiplies the dots
    float softcap = 0;              // 0: none
    const float* alibi = nullptr;   // (H): the bias is -alibi * |position - key|
    const float* sinks = nullptr;   // (H): a logit that takes weight and is no key
    const int64_t* lengths = nullptr;  // (B): keys at and after it are hidden
    bool causal = false;
    int64_t offset = 0;             // query i stands at key position i + offset
    int64_t window = 0;             // 0: none
    int top = 0;
    const int64_t* pair_start = nullptr;  // (T_q + 1), and the keys of query i: pair_key[start[i] .. start[i+1])
    const int64_t* pair_key = nullptr;
};

// Where results go, C order; a null pointer is a result nobody asked for.
struct Results {
    float* out = nullptr;            // (B, H, T_q, d_v)
    float* lse = nullptr;            // (B, H, T_q), like all up to pair_weight
    float* entropy_nats = nullptr;
    float* mean_distance = nullptr;
    float* max_weight = nullptr;
    float* first_weight = nullptr;
    float* self_weight = nullptr;
    float* previous_weight = nullptr;
    float* pair_weight = nullptr;
    float* top_weight = nullptr;     // (B, H, T_q, top)
    int32_t* top_key = nullptr;
    float* received = nullptr;       // (B, H, T_k)
    float* received_max = nullptr;
};

enum class Outcome { done, cancelled, out_of_memory };

// `poll(fraction)` is called now and then from the calling thread; false cancels, and is its last call.
using Poll = std::function<bool(double)>;
using Run = Outcome (*)(const Problem&, const Results&, int n_threads, const Poll&);

}  // namespace riverhead
