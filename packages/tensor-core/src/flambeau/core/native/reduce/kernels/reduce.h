/* Kernels that fold contiguous numbers: sums, products, extremes and where they are. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

enum fl_fold {
    FL_FOLD_SUM = 0, FL_FOLD_PROD = 1, FL_FOLD_MAX = 2, FL_FOLD_MIN = 3, FL_FOLD_COUNT = 4
};
/* Element types, in the order of the first four compute kinds. */
enum { FL_FOLD_KINDS = 4 };

/* *acc = fold of n elements. */
typedef void (*fl_fold_row_fn)(const void *x, int64_t n, void *acc);
/* acc[0..width) = fold of n rows of `width` elements, `stride` elements apart. */
typedef void (*fl_fold_columns_fn)(const void *x, int64_t n, int64_t stride, int64_t width,
                                   void *acc);
/* The winning element and its index, n > 0; the first one wins ties, the first NaN wins over
 * all. */
typedef void (*fl_best_row_fn)(const void *x, int64_t n, void *value, int64_t *index);
/* The same for each of `width` columns; rows are numbered from `first`. When `first` is 0 the
 * results are set, else they are improved upon. */
typedef void (*fl_best_columns_fn)(const void *x, int64_t n, int64_t stride, int64_t width,
                                   int64_t first, void *value, int64_t *index);

struct fl_fold_kernels {
    fl_fold_row_fn row[FL_FOLD_COUNT][FL_FOLD_KINDS];
    fl_fold_columns_fn columns[FL_FOLD_COUNT][FL_FOLD_KINDS];
};
struct fl_best_kernels {
    fl_best_row_fn row[2][FL_FOLD_KINDS];           /* greatest, least */
    fl_best_columns_fn columns[2][FL_FOLD_KINDS];
};
extern "C" {
FL_LEVELS(fl_fold_kernels);
FL_LEVELS(fl_best_kernels);
}
