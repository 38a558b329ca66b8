/* Kernels for variances: count, mean and sum of squared deviations. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* Mean and sum of squared deviations of n > 0 contiguous elements. */
typedef void (*fl_moments_row_fn)(const void *x, int64_t n, double *mean, double *m2);
/* The same for `width` columns of n rows, joined to the `seen` rows already in mean and m2;
 * `sums` is room for width elements of the kernel's type. */
typedef void (*fl_moments_columns_fn)(const void *x, int64_t n, int64_t stride, int64_t width,
                                      int64_t seen, double *mean, double *m2, void *sums);

struct fl_moments_kernels {
    fl_moments_row_fn row[2];
    fl_moments_columns_fn columns[2];
};
extern "C" {
FL_LEVELS(fl_moments_kernels);
}

/* Join (count, mean, m2) of a part to that of what came before it. */
static inline void fl_join_moments(int64_t seen, double *mean, double *m2, int64_t n,
                                   double part_mean, double part_m2) {
    double total = (double)(seen + n), delta = part_mean - *mean;
    *mean += delta * (double)n / total;
    *m2 += part_m2 + delta * delta * (double)seen * (double)n / total;
}
