// The extension module: arrays in, one pass, arrays out; which instruction set runs is chosen by the caller.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "isas.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace riverhead {
namespace {

constexpr int64_t MAX_WIDTH = 1 << 20;  // of d_k and d_v: no product of sizes overflows below it

using Input = nb::ndarray<nb::ro, nb::device::cpu>;
using Offsets = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::c_contig, nb::device::cpu>;

// (..., heads, rows, columns), the leading axes folded into the offsets of the batch items.
Array array(const Input& x, const Offsets& batch, Type type) {
    if (x.ndim() < 3) throw std::invalid_argument("an array needs three axes");
    const size_t n = x.ndim();
    return {x.data(), type, batch.data(), x.stride(n - 3), x.stride(n - 2), x.stride(n - 1)};
}

Type type_of(const Input& x, bool bfloat) {
    if (x.dtype() == nb::dtype<float>()) return Type::float32;
    if (x.itemsize() == 2) return bfloat ? Type::bfloat16 : Type::float16;
    throw std::invalid_argument("an array is neither float32 nor 16 bits wide");
}

template <class T>
T* output(const nb::dict& outputs, const char* name, int64_t n) {
    if (!outputs.contains(name)) return nullptr;
    const Output x = nb::cast<Output>(outputs[name]);
    if (static_cast<int64_t>(x.size()) != n || x.dtype() != nb::dtype<T>())
        throw std::invalid_argument(std::string(name) + " has the wrong size or dtype");
    return static_cast<T*>(x.data());
}

// Returns False if `poll` raised: its exception is then set, and the outputs are unfinished.
void run(const std::string& isa, const Input& q, const Input& k, const Input& v, const std::vector<Offsets>& batch,
         bool bfloat, float scale, nb::object mask, nb::object bias, nb::object alibi, nb::object sinks, nb::object lengths,
         float softcap, bool causal, int64_t offset, int64_t window, int top, nb::object pairs, const nb::dict& outputs,
         int n_threads, nb::object progress) {
    const auto chosen = compiled().find(isa);
    if (chosen == compiled().end() || !supported(isa)) throw std::invalid_argument("no kernel for " + isa);
    Problem p{};
    p.q = array(q, batch.at(0), type_of(q, bfloat));
    p.k = array(k, batch.at(1), type_of(k, bfloat));
    p.v = array(v, batch.at(2), type_of(v, bfloat));
    p.B = static_cast<int64_t>(batch[0].size());
    auto axis = [](const Input& x, size_t from_end) { return static_cast<int64_t>(x.shape(x.ndim() - from_end)); };
    p.H = axis(q, 3), p.T_q = axis(q, 2), p.d_k = axis(q, 1);
    p.G = axis(k, 3), p.T_k = axis(k, 2), p.d_v = axis(v, 1);
    if (axis(k, 1) != p.d_k || axis(v, 2) != p.T_k || axis(v, 3) != p.G || p.G < 1 || p.H % p.G)
        throw std::invalid_argument("q, k and v do not fit");
    if (p.T_k > INT32_MAX || std::max(p.d_k, p.d_v) > MAX_WIDTH) throw std::invalid_argument("an axis is too long");
    p.scale = scale, p.softcap = softcap, p.causal = causal, p.offset = offset, p.window = window, p.top = top;

    Input mask_array, bias_array;
    Vector alibi_array, sinks_array;
    Offsets lengths_array, pair_start, pair_key;
    if (!mask.is_none()) p.mask = array(mask_array = nb::cast<Input>(mask), batch.at(3), Type::float32);
    if (!bias.is_none()) p.bias = array(bias_array = nb::cast<Input>(bias), batch.at(4), Type::float32);
    auto vector = [&](nb::object x, auto& keep, int64_t n) {
        keep = nb::cast<std::decay_t<decltype(keep)>>(x);
        if (static_cast<int64_t>(keep.size()) != n) throw std::invalid_argument("a vector has the wrong length");
        return keep.data();
    };
    if (!alibi.is_none()) p.alibi = vector(alibi, alibi_array, p.H);
    if (!sinks.is_none()) p.sinks = vector(sinks, sinks_array, p.H);
    if (!lengths.is_none()) p.lengths = vector(lengths, lengths_array, p.B);
    if (!pairs.is_none()) {
        p.pair_start = vector(pairs[nb::int_(0)], pair_start, p.T_q + 1);
        pair_key = nb::cast<Offsets>(pairs[nb::int_(1)]);
        p.pair_key = pair_key.data();
    }

    const int64_t rows = p.B * p.H * p.T_q, keys = p.B * p.H * p.T_k;
    Results r;
    r.out = output<float>(outputs, "out", rows * p.d_v);
    r.lse = output<float>(outputs, "lse", rows);
    r.entropy_nats = output<float>(outputs, "entropy_nats", rows);
    r.mean_distance = output<float>(outputs, "mean_distance", rows);
    r.max_weight = output<float>(outputs, "max_weight", rows);
    r.first_weight = output<float>(outputs, "first_weight", rows);
    r.self_weight = output<float>(outputs, "self_weight", rows);
    r.previous_weight = output<float>(outputs, "previous_weight", rows);
    if (p.pair_start) r.pair_weight = output<float>(outputs, "pair_weight", rows);
    r.top_weight = output<float>(outputs, "top_weight", rows * top);
    r.top_key = output<int32_t>(outputs, "top_key", rows * top);
    r.received = output<float>(outputs, "received", keys);
    r.received_max = output<float>(outputs, "received_max", keys);
    if (!r.out || (top && !(r.top_weight && r.top_key)) || !r.received != !r.received_max)
        throw std::invalid_argument("outputs are missing");

    bool raised = false;
    const Poll poll = [&](double fraction) {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals()) raised = true;
        if (!raised && !progress.is_none()) {
            try { progress(fraction); }
            catch (nb::python_error& error) { error.restore(); raised = true; }
        }
        return !raised;
    };
    Outcome outcome;
    {
        nb::gil_scoped_release released;
        outcome = chosen->second(p, r, n_threads, poll);
    }
    if (raised) throw nb::python_error();
    if (outcome == Outcome::out_of_memory) throw std::bad_alloc();
}

}  // namespace
}  // namespace riverhead

NB_MODULE(_kernel, m) {
    m.doc() = "The fused pass, compiled; riverhead.core.kernel is its only caller.";
    m.def("isas", &riverhead::isas, "The instruction sets this processor runs, best first.");
    m.def(
        "peak",
        [](const std::string& isa) {
            if (!riverhead::supported(isa)) throw std::invalid_argument("no kernel for " + isa);
            return riverhead::peak(isa);
        },
        "isa"_a, "Floating-point operations a second of the tile product alone: the ceiling of `run` on one thread.");
    m.def("run", &riverhead::run, "isa"_a, "q"_a, "k"_a, "v"_a, "batch"_a, "bfloat"_a, "scale"_a, "mask"_a.none(),
          "bias"_a.none(), "alibi"_a.none(), "sinks"_a.none(), "lengths"_a.none(), "softcap"_a, "causal"_a, "offset"_a,
          "window"_a, "top"_a, "pairs"_a.none(), "outputs"_a, "n_threads"_a, "progress"_a.none());
}
