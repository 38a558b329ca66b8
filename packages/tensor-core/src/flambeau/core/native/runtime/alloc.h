/* The caching allocator of CPU storages.
 *
 * Sizes are rounded up to classes, eight per power of two (at most 12.5% more than asked, from
 * 512 bytes on; below that, multiples of 64). Freed blocks wait in a small cache per thread
 * (small classes) or a locked common cache and serve requests of their own class only. Blocks
 * of 2 MiB and more are mapped for huge pages. A block may be freed by any thread; after fork
 * the child owns a copy of everything, less what sat in the caches of threads that are gone.
 *
 * FLAMBEAU_ALLOC=plain: one exact block of the system per request, no cache, so that AddressSanitizer sees an
 * overrun by one element. FLAMBEAU_ALLOC=poison: the cache, with every block filled with 0xFF
 * (NaN in every floating dtype) when handed out and when returned. */
#ifndef FLAMBEAU_RUNTIME_ALLOC_H
#define FLAMBEAU_RUNTIME_ALLOC_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What blocks are aligned to. Kernels may not rely on it: views start anywhere. */
#define FL_ALLOC_ALIGNMENT 64

typedef struct fl_alloc_info {
    int64_t live_bytes;         /* in blocks that are in use, rounded up to their classes */
    int64_t peak_live_bytes;    /* the most that was since start or fl_alloc_reset_peak */
    int64_t cached_bytes;       /* in blocks waiting for reuse */
    int64_t cache_limit;        /* the common cache is trimmed down to this */
    int64_t alloc_count;        /* calls of fl_alloc that succeeded */
    int64_t free_count;         /* calls of fl_free */
    int64_t system_count;       /* blocks asked of the operating system */
} fl_alloc_info;

#ifdef __cplusplus
extern "C" {
#endif

/* Uninitialised memory, or NULL (the caches have been emptied and it still did not fit). Zero
 * bytes give a valid address. */
void *fl_alloc(size_t bytes);

/* Give a block back; `bytes` is what was asked for. NULL is ignored. */
void fl_free(void *block, size_t bytes);

/* fl_alloc that says what failed: NULL with an FL_MEMORY_ERROR naming what was asked and held. */
void *fl_alloc_or_error(size_t bytes);

/* What the last request that failed asked for, what is held and what there is. */
enum { FL_ALLOC_TEXT = 256 };
void fl_alloc_text(char *text);

void fl_alloc_stats(fl_alloc_info *info);
void fl_alloc_reset_peak(void);
void fl_alloc_trim(void);           /* return all cached blocks to the operating system, those
                                       in the caches of other threads excepted */
size_t fl_alloc_class(size_t bytes);    /* the size of the block that serves such a request */
const char *fl_alloc_mode(void);        /* "cache", "plain" or "poison" */

/* For tests: in plain mode, the request after so many more fails once; -1 takes that back. */
void fl_alloc_fail_after(int64_t blocks);

/* Whether the mode looks for mistakes: then small scratch comes from here too, not the stack. */
extern const bool fl_alloc_watched;

#ifdef __cplusplus
}
#endif
#endif
