/* Kernels for running sums; in and out may be the same memory. Floats accumulate in double. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* `lines` contiguous lines of n elements. */
typedef void (*fl_scan_lines_fn)(const void *x, void *out, int64_t lines, int64_t n);
/* `width` columns of n elements; consecutive elements lie `stride` apart. */
typedef void (*fl_scan_columns_fn)(const void *x, void *out, int64_t n, int64_t stride,
                                   int64_t width);

struct fl_scan_kernels {
    fl_scan_lines_fn lines[3];      /* float32, float64, int64 */
    fl_scan_columns_fn columns[3];
};
extern "C" {
FL_LEVELS(fl_scan_kernels);
}
