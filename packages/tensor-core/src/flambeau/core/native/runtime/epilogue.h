/* What is done to a result while it is made: machine code that a product or convolution runs over
 * elements as soon as they are final, while they are in the cache, by the thread that made them. */
#ifndef FLAMBEAU_RUNTIME_EPILOGUE_H
#define FLAMBEAU_RUNTIME_EPILOGUE_H
#include "runtime/pool.h"

struct fl_epilogue {
    fl_chunk_fn run;
    void *words;                /* of the code; only read */
    const char *data;           /* the result, whose elements lie in order, without gaps */
    int64_t count, size;        /* its elements, and the bytes of one */

    /* `n` elements from `at` on are final. */
    void finish(const void *at, int64_t n) const {
        int64_t begin = (static_cast<const char *>(at) - data) / size;
        run(words, begin, begin + n);
    }
};

/* The epilogue of the running kernel, if its result is these elements and nobody took it: who takes
 * it finishes each of them once. NULL otherwise. */
const fl_epilogue *fl_take_epilogue(const void *data, int64_t count, int64_t size);
/* Offer one to the kernel that this thread is about to run; NULL: no more. Whether the one before
 * was taken. */
bool fl_offer_epilogue(const fl_epilogue *epilogue);
#endif
