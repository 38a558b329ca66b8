/* The common cache and its source of blocks: see alloc_cache.h. */
#include "runtime/alloc_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

SystemCounters system_counters;

namespace {

const size_t HUGE_PAGE = 2 << 20; /* blocks of this size and more are mapped for huge pages */

/* Mapped blocks start on a huge page: map one page more than needed and cut both ends off. */
void *map_block(size_t bytes) {
    void *area = mmap(nullptr, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return nullptr;
    char *start = static_cast<char *>(area);
    size_t misaligned = reinterpret_cast<uintptr_t>(start) % HUGE_PAGE;
    size_t before = misaligned ? HUGE_PAGE - misaligned : 0;
    if (before)
        munmap(start, before);
    munmap(start + before + bytes, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    madvise(start + before, bytes, MADV_HUGEPAGE);
#endif
    return start + before;
}

} // namespace

AllocSource alloc_source;

void *system_take(size_t bytes) {
    void *block = alloc_source.take ? alloc_source.take(alloc_source.context, bytes)
                  : bytes >= HUGE_PAGE ? map_block(bytes) : aligned_alloc(FL_CLASS_UNIT, bytes);
    if (!block)
        return nullptr;
    system_counters.held.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
    system_counters.taken.fetch_add(1, std::memory_order_relaxed);
    return block;
}

void system_return(void *block, size_t bytes) {
    if (alloc_source.give)
        alloc_source.give(alloc_source.context, block, bytes);
    else if (bytes >= HUGE_PAGE)
        munmap(block, bytes);
    else
        free(block);
    system_counters.held.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
}

bool BlockStack::push(void *block, uint64_t since) {
    if (top_ == capacity_ && !make_room())
        return false;
    entries_[top_++] = Entry{block, since};
    return true;
}

/* Move down when the lower half is unused, else double: amortised constant work per push. */
bool BlockStack::make_room() {
    if (bottom_ > 0 && bottom_ >= capacity_ / 2) {
        memmove(entries_, entries_ + bottom_, (top_ - bottom_) * sizeof(Entry));
        top_ -= bottom_;
        bottom_ = 0;
        return true;
    }
    size_t wanted = capacity_ ? capacity_ * 2 : 16;
    Entry *grown = static_cast<Entry *>(realloc(entries_, wanted * sizeof(Entry)));
    if (!grown)
        return false;
    entries_ = grown;
    capacity_ = wanted;
    return true;
}

void *CommonCache::take(int index) {
    if (stacks_[index].empty())
        return nullptr;
    bytes_ -= static_cast<int64_t>(fl_class_bytes(index));
    return stacks_[index].pop_newest();
}

void CommonCache::put(int index, void *block) {
    if (stacks_[index].push(block, ++clock_))
        bytes_ += static_cast<int64_t>(fl_class_bytes(index));
    else
        system_return(block, fl_class_bytes(index));
}

void CommonCache::trim(int64_t target) {
    while (bytes_ > target) {
        int index = oldest();
        if (index < 0)
            return;
        bytes_ -= static_cast<int64_t>(fl_class_bytes(index));
        system_return(stacks_[index].pop_oldest(), fl_class_bytes(index));
    }
}

int CommonCache::oldest() const {
    int found = -1;
    for (int i = 0; i < FL_CLASS_COUNT; i++)
        if (!stacks_[i].empty() &&
            (found < 0 || stacks_[i].oldest_since() < stacks_[found].oldest_since()))
            found = i;
    return found;
}
