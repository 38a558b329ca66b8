/* Kernels that look for the next element worth a closer look. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* The first i >= begin whose element may rank before *bar, or n. For floats a NaN on either side
 * counts as "may". */
typedef int64_t (*fl_next_fn)(const void *x, int64_t begin, int64_t n, const void *bar);

struct fl_select_kernels {
    fl_next_fn next[2][3];      /* greater, less; then float32, float64, int64 */
};
extern "C" {
FL_LEVELS(fl_select_kernels);
}
