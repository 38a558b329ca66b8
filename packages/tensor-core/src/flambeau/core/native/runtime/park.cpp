/* Sleeping on a word: see park.h. -DFL_NO_FUTEX selects the portable version on Linux, too. */
#include "runtime/park.h"

#if defined(__linux__) && !defined(FL_NO_FUTEX)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void fl_park(std::atomic<uint32_t> *word, uint32_t seen) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void fl_unpark(std::atomic<uint32_t> *word, int count) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void fl_park_after_fork(void) {}

#else
#include <condition_variable>
#include <mutex>
#include <new>

namespace {

/* All words share one condition: sleepers look at their own word again after any wake. */
struct Lot {
    std::mutex lock;
    std::condition_variable changed;
};

alignas(Lot) char storage[sizeof(Lot)];
/* Built in place and never destroyed: threads sleep here while the process exits. */
Lot *lot = new (storage) Lot;

} // namespace

void fl_park(std::atomic<uint32_t> *word, uint32_t seen) {
    std::unique_lock<std::mutex> held(lot->lock);
    if (word->load() == seen)
        lot->changed.wait(held);
}

void fl_unpark(std::atomic<uint32_t> *, int) {
    std::lock_guard<std::mutex> held(lot->lock);
    lot->changed.notify_all();
}

void fl_park_after_fork(void) {
    lot = new (storage) Lot;
}
#endif
