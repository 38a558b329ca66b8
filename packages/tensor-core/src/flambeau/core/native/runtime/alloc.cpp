/* The caching allocator: see alloc.h.
 *
 * A request is rounded to a class. Small classes go through the thread's own magazine of the
 * class, an array of addresses, so that neither allocating nor freeing touches the block. A
 * magazine that is empty or full exchanges half of itself with the common cache, under its lock.
 * Larger blocks use the common cache directly. Blocks of a class are stacks: the one freed last,
 * still warm, is handed out first, and trimming removes the one that has waited longest. */
#include "runtime/alloc.h"

#include "runtime/alloc_cache.h"
#include "runtime/alloc_counters.h"
#include "runtime/error.h"
#include "runtime/host.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <new>

namespace {

const int MAGAZINE_CLASSES = fl_class_of_power(16) + 1; /* larger ones: common cache directly */
const int MAGAZINE_SLOTS = 32;
const size_t MAGAZINE_BYTES = 256 << 10; /* what a magazine may hold, if more than 2 blocks */
const int64_t MIN_CACHE_BYTES = 256 << 20;   /* the cache may hold this much in any case */
const int POISON = 0xFF;

enum Mode { CACHE, PLAIN, POISONED };

Counters counters;

inline int magazine_capacity(int index) {
    size_t fits = MAGAZINE_BYTES / fl_class_bytes(index);
    return static_cast<int>(std::min<size_t>(std::max<size_t>(fits, 2), MAGAZINE_SLOTS));
}

/* ---- the common cache ------------------------------------------------------------------ */

struct ThreadCache;

struct State {
    Mode mode;
    int64_t most_cached; /* a quarter of the memory this process may use */
    CommonCache common;
    ThreadCache *threads = nullptr; /* all caches of threads; under the lock of `common` */
    Calls ended;                    /* calls made by threads without a cache, or gone; likewise */
};

/* Built on first use and never destroyed: storages die while the process exits. */
alignas(State) char state_bytes[sizeof(State)];
std::atomic<State *> state_ready{nullptr};

Mode chosen_mode() {
    const char *text = getenv("FLAMBEAU_ALLOC");
    if (!text || !*text || strcmp(text, "cache") == 0)
        return CACHE;
    if (strcmp(text, "plain") == 0)
        return PLAIN;
    if (strcmp(text, "poison") == 0)
        return POISONED;
    return CACHE; /* environment.py warns */
}

/* A fork waits for the lock, so that the child finds the common cache whole. */
void before_fork() {
    state_ready.load()->common.lock.lock();
}

void after_fork() {
    state_ready.load()->common.lock.unlock();
}

State *make_state() {
    static State *const only = [] {
        State *made = new (state_bytes) State;
        made->mode = chosen_mode();
        made->most_cached = fl_host_memory() / 4;
        state_ready.store(made);
        pthread_atfork(before_fork, after_fork, after_fork);
        return made;
    }();
    return only;
}

inline State &state() {
    State *ready = state_ready.load(std::memory_order_acquire);
    return ready ? *ready : *make_state();
}

/* The cache may hold twice what was ever in use at once, within its hard limit: the blocks of a
 * training step are of many sizes, which are not all in use at the same time. */
int64_t cache_limit(const State &s) {
    int64_t used = counters.high_water.load(std::memory_order_relaxed);
    int64_t wanted = std::max(MIN_CACHE_BYTES, 2 * used);
    return std::min(wanted, s.most_cached);
}

void put_common(State &s, int index, void *const *blocks, int count) {
    MutexGuard held(s.common.lock);
    for (int i = 0; i < count; i++)
        s.common.put(index, blocks[i]);
    int64_t most = cache_limit(s);
    if (s.common.bytes() > most)
        s.common.trim(most - most / 8);
}

int take_common(State &s, int index, void **blocks, int count) {
    MutexGuard held(s.common.lock);
    int taken = 0;
    while (taken < count && (blocks[taken] = s.common.take(index)))
        taken++;
    return taken;
}

/* ---- the caches of threads --------------------------------------------------------------- */

struct Magazine {
    int count;
    void *blocks[MAGAZINE_SLOTS];
};

struct ThreadCache {
    Calls calls;
    ThreadCache *next = nullptr;
    Magazine magazines[MAGAZINE_CLASSES] = {};

    void flush() {
        for (int i = 0; i < MAGAZINE_CLASSES; i++) {
            if (magazines[i].count)
                put_common(state(), i, magazines[i].blocks, magazines[i].count);
            magazines[i].count = 0;
        }
    }
};

thread_local ThreadCache *own = nullptr;
thread_local bool own_ended = false; /* blocks freed by later destructors go to the common cache */

void enlist(State &s, ThreadCache *cache) {
    MutexGuard held(s.common.lock);
    cache->next = s.threads;
    s.threads = cache;
}

void delist(State &s, ThreadCache *cache) {
    MutexGuard held(s.common.lock);
    ThreadCache **link = &s.threads;
    while (*link != cache)
        link = &(*link)->next;
    *link = cache->next;
    s.ended.allocs.fetch_add(cache->calls.allocs);
    s.ended.frees.fetch_add(cache->calls.frees);
}

struct ThreadCacheEnd {
    bool armed = false;

    ~ThreadCacheEnd() {
        own_ended = true;
        if (!own)
            return;
        own->flush();
        delist(state(), own);
        delete own;
        own = nullptr;
    }
};

thread_local ThreadCacheEnd own_end;

ThreadCache *make_own() {
    if (own_ended)
        return nullptr;
    own_end.armed = true; /* touching it registers its destructor with the thread */
    own = new (std::nothrow) ThreadCache;
    if (own)
        enlist(state(), own);
    return own;
}

inline ThreadCache *own_cache() {
    return own ? own : make_own();
}

inline void count_alloc(State &s) {
    if (ThreadCache *cache = own_cache())
        add_one(cache->calls.allocs);
    else
        s.ended.allocs.fetch_add(1);
}

inline void count_free(State &s) {
    if (ThreadCache *cache = own_cache())
        add_one(cache->calls.frees);
    else
        s.ended.frees.fetch_add(1);
}

inline Magazine *magazine(int index) {
    ThreadCache *cache = own_cache();
    return cache ? &cache->magazines[index] : nullptr;
}

void *take_small(State &s, int index) {
    Magazine *m = magazine(index);
    if (m && m->count)
        return m->blocks[--m->count];
    void *block = nullptr;
    if (!m)
        return take_common(s, index, &block, 1) ? block : nullptr;
    m->count = take_common(s, index, m->blocks, (magazine_capacity(index) + 1) / 2);
    return m->count ? m->blocks[--m->count] : nullptr;
}

void put_small(State &s, int index, void *block) {
    Magazine *m = magazine(index);
    if (!m) {
        put_common(s, index, &block, 1);
        return;
    }
    int capacity = magazine_capacity(index);
    if (m->count == capacity) {
        int moved = (capacity + 1) / 2; /* the oldest: those at the bottom */
        put_common(s, index, m->blocks, moved);
        m->count -= moved;
        memmove(m->blocks, m->blocks + moved, static_cast<size_t>(m->count) * sizeof(void *));
    }
    m->blocks[m->count++] = block;
}

/* ---- the modes --------------------------------------------------------------------------- */

void *take_cached(State &s, int index) {
    size_t bytes = fl_class_bytes(index);
    void *block = nullptr;
    if (index < MAGAZINE_CLASSES)
        block = take_small(s, index);
    else
        take_common(s, index, &block, 1);
    if (!block)
        block = system_take(bytes);
    if (!block) {
        fl_alloc_trim();
        block = system_take(bytes);
    }
    return block;
}

void *alloc_cached(State &s, size_t bytes) {
    if (bytes > FL_LARGEST_CLASS)
        return nullptr;
    int index = fl_class_of(bytes);
    void *block = take_cached(s, index);
    if (!block)
        return nullptr;
    add_live(counters, fl_class_bytes(index));
    if (s.mode == POISONED)
        memset(block, POISON, fl_class_bytes(index));
    return block;
}

void free_cached(State &s, void *block, size_t bytes) {
    int index = fl_class_of(bytes);
    size_t size = fl_class_bytes(index);
    if (s.mode == POISONED)
        memset(block, POISON, size);
    remove_live(counters, size);
    if (index < MAGAZINE_CLASSES)
        put_small(s, index, block);
    else
        put_common(s, index, &block, 1);
}

std::atomic<int64_t> until_failure{-1}; /* blocks that plain mode still gives; -1: no end */

bool must_fail() {
    return until_failure.load(std::memory_order_relaxed) >= 0 && until_failure.fetch_sub(1) == 0;
}

void *alloc_plain(size_t bytes) {
    void *block = nullptr;
    if (must_fail() || posix_memalign(&block, FL_ALLOC_ALIGNMENT, bytes ? bytes : 1) != 0)
        return nullptr;
    system_counters.held.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    system_counters.taken.fetch_add(1, std::memory_order_relaxed);
    add_live(counters, bytes);
    return block;
}

void free_plain(void *block, size_t bytes) {
    free(block);
    system_counters.held.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    remove_live(counters, bytes);
}

std::atomic<size_t> refused{0}; /* what was asked for last in vain */

} // namespace

const bool fl_alloc_watched = state().mode != CACHE;

void *fl_alloc(size_t bytes) {
    State &s = state();
    void *block = s.mode == PLAIN ? alloc_plain(bytes) : alloc_cached(s, bytes);
    if (block)
        count_alloc(s);
    else
        refused.store(bytes, std::memory_order_relaxed);
    return block;
}

void fl_free(void *block, size_t bytes) {
    if (!block)
        return;
    State &s = state();
    count_free(s);
    if (s.mode == PLAIN)
        free_plain(block, bytes);
    else
        free_cached(s, block, bytes);
}

void *fl_alloc_or_error(size_t bytes) {
    void *block = fl_alloc(bytes);
    if (block)
        return block;
    char text[FL_ALLOC_TEXT];
    fl_alloc_text(text);
    fl_error(FL_MEMORY_ERROR, "%s", text);
    return nullptr;
}

void fl_alloc_text(char *text) {
    fl_alloc_info info;
    fl_alloc_stats(&info);
    double mib = 1048576.0;
    size_t bytes = refused.load(std::memory_order_relaxed);
    snprintf(text, FL_ALLOC_TEXT,
             "cannot allocate %zu bytes (%.1f MiB): live tensors hold %.1f MiB, freed blocks kept "
             "for reuse %.1f MiB, and this process may use %.1f MiB; free tensors or use smaller "
             "batches",
             bytes, static_cast<double>(bytes) / mib, static_cast<double>(info.live_bytes) / mib,
             static_cast<double>(info.cached_bytes) / mib,
             static_cast<double>(fl_host_memory()) / mib);
}

void fl_alloc_fail_after(int64_t blocks) {
    until_failure.store(blocks);
}

void fl_alloc_stats(fl_alloc_info *info) {
    State &s = state();
    info->live_bytes = counters.live.load();
    info->peak_live_bytes = counters.peak.load();
    info->cached_bytes = system_counters.held.load() - info->live_bytes;
    info->cache_limit = cache_limit(s);
    MutexGuard held(s.common.lock);
    info->alloc_count = s.ended.allocs.load();
    info->free_count = s.ended.frees.load();
    for (ThreadCache *cache = s.threads; cache; cache = cache->next) {
        info->alloc_count += cache->calls.allocs.load(std::memory_order_relaxed);
        info->free_count += cache->calls.frees.load(std::memory_order_relaxed);
    }
    info->system_count = system_counters.taken.load();
}

void fl_alloc_reset_peak(void) {
    counters.peak.store(counters.live.load());
}

void fl_alloc_trim(void) {
    State &s = state();
    if (own)
        own->flush();
    MutexGuard held(s.common.lock);
    s.common.trim(0);
}

size_t fl_alloc_class(size_t bytes) {
    if (state().mode == PLAIN || bytes > FL_LARGEST_CLASS)
        return bytes;
    return fl_class_bytes(fl_class_of(bytes));
}

const char *fl_alloc_mode(void) {
    static const char *const NAMES[] = {"cache", "plain", "poison"};
    return NAMES[state().mode];
}
