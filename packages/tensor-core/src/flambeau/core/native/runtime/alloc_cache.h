/* The common cache of the allocator, and the blocks it takes from the operating system. */
#ifndef FLAMBEAU_RUNTIME_ALLOC_CACHE_H
#define FLAMBEAU_RUNTIME_ALLOC_CACHE_H
#include "runtime/alloc_classes.h"
#include "runtime/mutex.h"

#include <atomic>
#include <stdint.h>

/* Bytes and blocks taken from the system and not given back. */
struct SystemCounters {
    std::atomic<int64_t> held{0};
    std::atomic<int64_t> taken{0}; /* blocks, ever */
};

extern SystemCounters system_counters;

/* Where blocks come from instead of the system, where somebody said so before the first one. */
struct AllocSource {
    void *(*take)(void *context, size_t bytes) = nullptr;
    void (*give)(void *context, void *block, size_t bytes) = nullptr;
    void *context = nullptr;
};
extern AllocSource alloc_source;

void *system_take(size_t bytes);    /* NULL when the system refuses */
void system_return(void *block, size_t bytes);

/* Free blocks of one class: last in, first out at the top, the longest waiting at the bottom. */
class BlockStack {
  public:
    bool empty() const { return bottom_ == top_; }
    uint64_t oldest_since() const { return entries_[bottom_].since; }
    void *pop_newest() { return entries_[--top_].block; }
    void *pop_oldest() { return entries_[bottom_++].block; }
    bool push(void *block, uint64_t since);     /* false: no memory for the list itself */

  private:
    struct Entry {
        void *block;
        uint64_t since;
    };

    bool make_room();

    Entry *entries_ = nullptr;
    size_t bottom_ = 0, top_ = 0, capacity_ = 0;
};

/* Stacks of all classes. Callers hold `lock` around the other methods. */
class CommonCache {
  public:
    Mutex lock;

    void *take(int index);
    void put(int index, void *block);
    void trim(int64_t target);  /* drop what has waited longest until `target` bytes are left */
    int64_t bytes() const { return bytes_; }

  private:
    int oldest() const;

    BlockStack stacks_[FL_CLASS_COUNT];
    int64_t bytes_ = 0;
    uint64_t clock_ = 0;
};
#endif
