/* What the allocator counts on every call. */
#ifndef FLAMBEAU_RUNTIME_ALLOC_COUNTERS_H
#define FLAMBEAU_RUNTIME_ALLOC_COUNTERS_H
#include <atomic>
#include <stddef.h>
#include <stdint.h>

/* What is held of the system moves on slow paths only; cached bytes are held minus live. */
struct Counters {
    std::atomic<int64_t> live{0};
    std::atomic<int64_t> peak{0};
    std::atomic<int64_t> high_water{0}; /* like peak, but never reset: it bounds the cache */
};

/* Calls are counted per thread and summed when asked for: locked additions are what costs most
 * in fl_alloc. Only the owner writes. */
struct Calls {
    std::atomic<int64_t> allocs{0};
    std::atomic<int64_t> frees{0};
};

static inline void add_one(std::atomic<int64_t> &count) {
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

static inline void raise_to(std::atomic<int64_t> &mark, int64_t value) {
    int64_t now = mark.load(std::memory_order_relaxed);
    while (value > now && !mark.compare_exchange_weak(now, value, std::memory_order_relaxed)) {
    }
}

static inline void add_live(Counters &counters, size_t bytes) {
    int64_t size = static_cast<int64_t>(bytes);
    int64_t live = counters.live.fetch_add(size, std::memory_order_relaxed) + size;
    if (live > counters.peak.load(std::memory_order_relaxed)) {
        raise_to(counters.peak, live);
        raise_to(counters.high_water, live);
    }
}

static inline void remove_live(Counters &counters, size_t bytes) {
    counters.live.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}
#endif
