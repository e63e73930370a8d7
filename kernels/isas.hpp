// The instruction sets compiled in, and those this processor runs. RIVERHEAD_ISAS lists them: ISA(base) ISA(avx2) …
#pragma once
#include <map>
#include <string>
#include <vector>

#include "problem.hpp"

namespace riverhead {
#define ISA(name)                                                         \
    Outcome run_##name(const Problem&, const Results&, int, const Poll&); \
    double peak_##name();
RIVERHEAD_ISAS
#undef ISA

inline const std::map<std::string, Run>& compiled() {
    static const std::map<std::string, Run> runs{
#define ISA(name) {#name, run_##name},
        RIVERHEAD_ISAS
#undef ISA
    };
    return runs;
}

inline bool supported(const std::string& isa) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (isa == "avx2") return v3;
    if (isa == "avx512")
        return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return compiled().count(isa) != 0;
}

// Floating-point operations a second of the tile product alone: the ceiling of a run on one thread.
inline double peak(const std::string& isa) {
    static const std::map<std::string, double (*)()> peaks{
#define ISA(name) {#name, peak_##name},
        RIVERHEAD_ISAS
#undef ISA
    };
    return peaks.at(isa)();
}

// Best first.
inline std::vector<std::string> isas() {
    std::vector<std::string> found;
    for (const char* isa : {"avx512", "avx2", "neon", "base"})
        if (compiled().count(isa) && supported(isa)) found.emplace_back(isa);
    return found;
}

}  // namespace riverhead
