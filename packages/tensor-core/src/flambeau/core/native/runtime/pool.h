/* The one thread pool of the process.
 *
 * `fl_parallel_for(n, grain, fn, ctx)` cuts 0..n into chunks [i * grain, (i + 1) * grain) and
 * calls fn once per chunk. The cut depends on n and grain alone: with one thread, nested in
 * another loop, or while another thread holds the pool, the same chunks run one after another on
 * the calling thread. Code that keeps a partial result per chunk (index begin / grain) and
 * combines them in order therefore gives the same bits for any number of threads. Chunks run in
 * no fixed order; fn must neither throw nor fork. Nothing here needs Python or its lock. */
#ifndef FLAMBEAU_RUNTIME_POOL_H
#define FLAMBEAU_RUNTIME_POOL_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*fl_chunk_fn)(void *ctx, int64_t begin, int64_t end);

/* For kernels: a loop shorter than one grain is a plain call. */
void fl_parallel_chunks(int64_t n, int64_t grain, fl_chunk_fn fn, void *ctx);

static inline void fl_parallel_for(int64_t n, int64_t grain, fl_chunk_fn fn, void *ctx) {
    if (n > grain)
        fl_parallel_chunks(n, grain, fn, ctx);
    else if (n > 0)
        fn(ctx, 0, n);
}

/* How many chunks fl_parallel_for makes: the length of an array of partial results. */
static inline int64_t fl_chunk_count(int64_t n, int64_t grain) {
    if (grain < 1)
        grain = 1;
    return n > 0 ? (n - 1) / grain + 1 : 0;
}

/* Threads that take part, the caller included. The default is the smallest of the affinity mask
 * and the cgroup CPU quotas, or FLAMBEAU_NUM_THREADS, OMP_NUM_THREADS, MKL_NUM_THREADS, the first
 * that is set. Setting less than 1 is an error (-1). */
int fl_get_num_threads(void);
int fl_set_num_threads(int count);
int fl_in_parallel(void);   /* 1 on a thread that is running a chunk handed out by the pool */

#ifdef __cplusplus
}

/* fl_parallel_for with a callable `body(begin, end)`, called in place: nothing is copied. */
template <class Body>
static inline void fl_parallel(int64_t n, int64_t grain, const Body &body) {
    struct thunk {
        static void call(void *ctx, int64_t begin, int64_t end) {
            (*static_cast<const Body *>(ctx))(begin, end);
        }
    };
    fl_parallel_for(n, grain, &thunk::call, const_cast<Body *>(&body));
}
#endif
#endif
