/* Kernels that add one run of numbers to another. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* to[i] += scale * from[i]; bools are or-ed. */
typedef void (*fl_accumulate_fn)(void *to, const void *from, int64_t n, double scale);
/* out = sum of rows of a table; rows numbered `skipped` are left out. Returns how many it took. */
typedef int64_t (*fl_add_rows_fn)(const void *table, int64_t width, const int64_t *rows, int64_t n,
                                  int64_t skipped, void *out);
struct fl_accumulate_kernels {
    fl_accumulate_fn run[6];        /* by compute kind */
    fl_add_rows_fn rows[2];         /* float32, float64 */
};
extern "C" {
FL_LEVELS(fl_accumulate_kernels);
}
