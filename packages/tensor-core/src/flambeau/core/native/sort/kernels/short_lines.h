/* Kernels that order the elements of many short lines at once. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* The first k of n elements of each of `count` lines, in order, stably; and where each stood, in
 * numbers as wide as the elements. What stands behind the first k is in any order. */
typedef void (*fl_first_of_fn)(void *lines, void *positions, int64_t n, int64_t k, int64_t count);

struct fl_short_line_kernels {
    fl_first_of_fn first_of[2][3];      /* ascending, descending; then float32, float64, int64 */
};
extern "C" {
FL_LEVELS(fl_short_line_kernels);
}
