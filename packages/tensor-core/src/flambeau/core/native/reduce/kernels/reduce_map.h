/* Kernels that prepare elements before they are reduced; x and out may be the same memory. */
#pragma once
#include "common/kernels/level.h"
#include "reduce/kernels/reduce.h"
#include <stdint.h>

enum fl_map {
    FL_MAP_NAN_TO_ZERO = 0, FL_MAP_ABS = 1, FL_MAP_SQUARE = 2, FL_MAP_NONZERO = 3,
    FL_MAP_POWER = 4, FL_MAP_COUNT = 5
};
enum { FL_MAP_SUMS = 3 };       /* the first maps have sums of their own */
/* out[i] = map of x[i]; p is the exponent of FL_MAP_POWER, which takes the magnitude first. */
typedef void (*fl_map_fn)(const void *x, void *out, int64_t n, double p);

struct fl_map_kernels {
    fl_map_fn run[FL_MAP_COUNT][2];     /* float32, float64 */
    fl_map_fn magnitude[2];             /* complex64, complex128 to their real dtypes */
    fl_reduce_row_fn sum[FL_MAP_SUMS][2];
};
extern "C" {
FL_LEVELS(fl_map_kernels);
}
