/* Kernels of layer and batch normalization; float32 and float64. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* out = (x - mean) * rstd * weight + bias over one contiguous row; weight and bias may be NULL.
 * Gives mean and rstd = 1 / sqrt(var + eps), as numbers of the kernel's type. */
typedef void (*fl_layer_norm_row_fn)(const void *x, const void *weight, const void *bias, void *out,
                                     int64_t n, double eps, void *mean, void *rstd);
/* One row: dx, and dweight += g * xhat, dbias += g. */
typedef void (*fl_layer_norm_grad_row_fn)(const void *g, const void *x, const void *weight,
                                          double mean, double rstd, void *dx, void *dweight,
                                          void *dbias, int64_t n);
/* out = x * scale + shift over a contiguous run. */
typedef void (*fl_affine_fn)(const void *x, void *out, int64_t n, double scale, double shift);
/* out = x * scale[j] + shift[j], rows of `width`. */
typedef void (*fl_affine_columns_fn)(const void *x, void *out, int64_t rows, int64_t width,
                                     const void *scale, const void *shift);
/* Sums of g and of g * (x - mean) over a contiguous run. */
typedef void (*fl_norm_sums_fn)(const void *g, const void *x, int64_t n, double mean, double *sum_g,
                                double *sum_gx);
/* out = a * g + b * (x - mean) + c over a contiguous run. */
typedef void (*fl_norm_dx_fn)(const void *g, const void *x, void *out, int64_t n, double mean,
                              double a, double b, double c);

/* The same for `width` columns; means and factors are arrays, of the kernel's type. The sums are
 * added to; rows lie `stride` apart there. */
typedef void (*fl_norm_sums_columns_fn)(const void *g, const void *x, int64_t rows, int64_t stride,
                                        int64_t width, const void *mean, double *sum_g,
                                        double *sum_gx);
typedef void (*fl_norm_dx_columns_fn)(const void *g, const void *x, void *out, int64_t rows,
                                      int64_t width, const void *mean, const void *a,
                                      const void *b, const void *c);

struct fl_norm_kernels {
    fl_layer_norm_row_fn layer_norm[2];
    fl_layer_norm_grad_row_fn layer_norm_grad[2];
    fl_affine_fn affine[2];
    fl_affine_columns_fn affine_columns[2];
    fl_norm_sums_fn sums[2];
    fl_norm_dx_fn dx[2];
    fl_norm_sums_columns_fn sums_columns[2];
    fl_norm_dx_columns_fn dx_columns[2];
};
extern "C" {
FL_LEVELS(fl_norm_kernels);
}
