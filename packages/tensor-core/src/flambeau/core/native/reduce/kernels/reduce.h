/* Kernels that reduce contiguous numbers: sums, products, extremes and where they are. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

enum fl_reduce {
    FL_REDUCE_SUM = 0, FL_REDUCE_PROD = 1, FL_REDUCE_MAX = 2, FL_REDUCE_MIN = 3, FL_REDUCE_COUNT = 4
};
/* Element types: the first four compute kinds, in their order, and integers whose extremes are
 * found as they lie. */
enum {
    FL_REDUCE_KINDS = 4, FL_REDUCE_U8 = FL_REDUCE_KINDS, FL_REDUCE_I8, FL_REDUCE_I16, FL_REDUCE_I32,
    FL_REDUCE_TYPES
};
enum { FL_REDUCE_ROWS = 8 };

/* *acc = reduction of n elements. */
typedef void (*fl_reduce_row_fn)(const void *x, int64_t n, void *acc);
/* acc[0..width) = reduction of n rows of `width` elements, `stride` elements apart; or of what is
 * there and these: multiples of FL_REDUCE_ROWS one after the other give the bits of all at once. */
typedef void (*fl_reduce_columns_fn)(const void *x, int64_t n, int64_t stride, int64_t width,
                                   void *acc);
/* The winning element and its index, n > 0; the first one wins ties, the first NaN wins over
 * all. */
typedef void (*fl_argmax_row_fn)(const void *x, int64_t n, void *value, int64_t *index);
/* The same for each of `width` columns; rows are numbered from `first`. When `first` is 0 the
 * results are set, else they are improved upon. */
typedef void (*fl_argmax_columns_fn)(const void *x, int64_t n, int64_t stride, int64_t width,
                                   int64_t first, void *value, int64_t *index);

struct fl_reduce_kernels {
    fl_reduce_row_fn row[FL_REDUCE_COUNT][FL_REDUCE_TYPES];
    fl_reduce_columns_fn columns[FL_REDUCE_COUNT][FL_REDUCE_TYPES];
    fl_reduce_columns_fn more[FL_REDUCE_COUNT][FL_REDUCE_TYPES];
    fl_reduce_row_fn sum_pairs[2];      /* float, double: acc[0], acc[1] = n / 2 complex numbers */
    fl_reduce_row_fn sum_bf16;          /* to float: what the row of widened elements gives */
};
struct fl_argmax_kernels {
    fl_argmax_row_fn row[2][FL_REDUCE_KINDS];           /* greatest, least */
    fl_argmax_columns_fn columns[2][FL_REDUCE_KINDS];
};
extern "C" {
FL_LEVELS(fl_reduce_kernels);
FL_LEVELS(fl_argmax_kernels);
}
