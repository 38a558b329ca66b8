/* Kernels that add one run of numbers to another. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* to[i] += scale * from[i]; bools are or-ed. */
typedef void (*fl_accumulate_fn)(void *to, const void *from, int64_t n, double scale);
/* out = sum of rows of a table; rows numbered `skipped` are left out. Returns how many it took. */
typedef int64_t (*fl_add_rows_fn)(const void *table, int64_t width, const int64_t *rows, int64_t n,
                                  int64_t skipped, void *out);
/* Blocks of `block` numbers, of which columns begin .. begin + width are added. Those whose index
 * is not in low .. high, or is `skip`, are left out. */
struct fl_named_blocks {
    const int64_t *index;
    int64_t n, block, step, begin, width, low, high, skip;
};
/* to[index[i] * step ...] += scale * from[i * block ...], in this order. */
typedef void (*fl_add_named_fn)(void *to, const void *from, const fl_named_blocks *blocks,
                                double scale);
struct fl_accumulate_kernels {
    fl_accumulate_fn run[6];        /* by compute kind */
    fl_add_named_fn named[6];
    fl_add_rows_fn rows[2];         /* float32, float64 */
};
extern "C" {
FL_LEVELS(fl_accumulate_kernels);
}
