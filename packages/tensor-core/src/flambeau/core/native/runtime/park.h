/* Sleeping until a 32-bit word changes: a futex on Linux, a condition variable elsewhere. */
#ifndef FLAMBEAU_RUNTIME_PARK_H
#define FLAMBEAU_RUNTIME_PARK_H
#include <atomic>
#include <stdint.h>

/* Return once the word may differ from `seen` (it may return early, too). */
void fl_park(std::atomic<uint32_t> *word, uint32_t seen);
void fl_unpark(std::atomic<uint32_t> *word, int count);     /* wake up to `count` sleepers */
void fl_park_after_fork(void);                              /* in the child: nobody sleeps */

static inline void fl_cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
#endif
