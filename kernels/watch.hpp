// A run that is watched: how much of it is done, whether it has to stop, and its threads.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "problem.hpp"

namespace riverhead {
namespace {

// Calls `poll` from the calling thread: at once, and then at most every 50 ms.
struct Watch {
    const Poll& poll;
    const int64_t total;                 // blocks
    std::atomic<int64_t> done{0};
    std::atomic<bool> stop{false};
    std::chrono::steady_clock::time_point last{};

    Watch(const Poll& poll, int64_t total) : poll(poll), total(total) {}
    void look(int id) {
        if (id != 0 || stop) return;
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(50)) return;
        last = now;
        if (!poll(static_cast<double>(done.load()) / static_cast<double>(total))) stop = true;
    }
};

// Run work(id) on n threads, the caller's among them; a thread that cannot have memory ends the run.
template <class Work>
bool on_threads(int n, Watch& watch, Work work) {
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::condition_variable ended;
    size_t n_ended = 0;
    auto guarded = [&](int id) {
        try { work(id); }
        catch (const std::bad_alloc&) { failed = true; watch.stop = true; }
        const std::lock_guard<std::mutex> lock(mutex);
        n_ended++;
        ended.notify_one();
    };
    std::vector<std::thread> others;
    others.reserve(static_cast<size_t>(n - 1));
    for (int id = 1; id < n; id++) {
        try { others.emplace_back(guarded, id); }
        catch (const std::exception&) { break; }  // fewer threads, the same result
    }
    guarded(0);
    for (std::unique_lock<std::mutex> lock(mutex); n_ended <= others.size(); lock.lock()) {
        ended.wait_for(lock, std::chrono::milliseconds(50));
        lock.unlock();
        watch.look(0);
    }
    for (auto& t : others) t.join();
    return !failed;
}

}  // namespace
}  // namespace riverhead
