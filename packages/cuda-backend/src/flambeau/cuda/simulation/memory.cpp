/* Memory of the simulated device: each allocation ends where a MiB begins that nobody may touch,
 * begins after another one, and holds NaN at first. In strict mode the host may not touch it either. */
#include <mutex>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

namespace {
constexpr size_t kPage = 4096, kGuard = 1 << 20, kAlignment = 16, kLookedAt = 64;
constexpr unsigned char kMark = 0xa5, kPoison = 0xff;

struct Block {
    char *data;
    size_t bytes, pages;        /* pages in use, without what guards them */
    bool reported;              /* that bytes around it were written */
    Block *previous, *next;

    char *first_page() const { return (char *)((uintptr_t)data & ~(kPage - 1)); }
    char *end() const { return first_page() + pages * kPage; }
};

Block live = {nullptr, 0, 0, false, &live, &live};
std::mutex lock;
bool strict;
int open_count = 1;
int lost;                       /* freed allocations that had been written around */

void protect(const Block &b, bool open) {
    mprotect(b.first_page(), b.pages * kPage, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/* Whether one of the bytes around it was written: of those before it, the last `before`. */
bool is_damaged(const Block &b, size_t before) {
    for (const char *p = b.data + b.bytes; p < b.end(); p++)
        if ((unsigned char)*p != kMark)
            return true;
    size_t there = (size_t)(b.data - b.first_page());
    for (const char *p = b.data - (before < there ? before : there); p < b.data; p++)
        if ((unsigned char)*p != kMark)
            return true;
    return false;
}
}

extern "C" {

/* The address of `bytes` bytes, and in *handle what frees them; null where there is no memory. */
char *fl_device_allocate(size_t bytes, void **handle) {
    size_t used = ((bytes ? bytes : 1) + kAlignment - 1) / kAlignment * kAlignment;
    size_t pages = (used + kPage - 1) / kPage;
    char *mapped = (char *)mmap(nullptr, pages * kPage + 2 * kGuard, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
        return nullptr;
    char *first = mapped + kGuard, *data = first + pages * kPage - used;
    if (mprotect(first, pages * kPage, PROT_READ | PROT_WRITE)) {
        munmap(mapped, pages * kPage + 2 * kGuard);
        return nullptr;
    }
    memset(first, kMark, pages * kPage);
    memset(data, kPoison, bytes);
    Block *b = new Block{data, bytes, pages, false, nullptr, nullptr};
    std::lock_guard<std::mutex> held(lock);
    b->next = &live;
    b->previous = live.previous;
    live.previous->next = b;
    live.previous = b;
    if (strict && !open_count)
        protect(*b, false);
    *handle = b;
    return data;
}

void fl_device_free(void *handle) {
    Block *b = (Block *)handle;
    std::lock_guard<std::mutex> held(lock);
    if (strict && !open_count)
        protect(*b, true);
    lost += !b->reported && is_damaged(*b, kPage);
    b->previous->next = b->next;
    b->next->previous = b->previous;
    munmap(b->first_page() - kGuard, b->pages * kPage + 2 * kGuard);
    delete b;
}

/* Kernels and copies run between these two. */
void fl_device_open(void) {
    std::lock_guard<std::mutex> held(lock);
    if (!open_count++ && strict)
        for (Block *b = live.next; b != &live; b = b->next)
            protect(*b, true);
}

void fl_device_close(void) {
    std::lock_guard<std::mutex> held(lock);
    if (!--open_count && strict)
        for (Block *b = live.next; b != &live; b = b->next)
            protect(*b, false);
}

/* Whether the host is kept from the device's memory between launches. */
void fl_device_strict(int wanted) {
    std::lock_guard<std::mutex> held(lock);
    if (wanted == strict)
        return;
    strict = wanted;
    open_count += wanted ? -1 : 1;
    for (Block *b = live.next; b != &live; b = b->next)
        protect(*b, !wanted || open_count);
}

/* How many more allocations have bytes around them that somebody wrote. */
int fl_device_damaged(void) {
    std::lock_guard<std::mutex> held(lock);
    int count = 0;
    for (Block *b = live.next; b != &live; b = b->next)
        if (!b->reported && is_damaged(*b, kLookedAt)) {
            b->reported = true;
            count++;
        }
    return count;
}

/* The allocation that an address lies in or near: its address and size; 0 if there is none. */
int fl_device_find(const char *address, char **data, size_t *bytes) {
    std::lock_guard<std::mutex> held(lock);
    for (Block *b = live.next; b != &live; b = b->next)
        if (address >= b->first_page() - kGuard && address < b->end() + kGuard) {
            *data = b->data;
            *bytes = b->bytes;
            return 1;
        }
    return 0;
}
}
