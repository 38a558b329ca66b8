/* Kernels around exp: softmax, logsumexp and their gradients, along rows and along columns. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* `rows` contiguous rows of n > 0 elements; in and out may be the same memory. */
typedef void (*fl_softmax_rows_fn)(const void *x, void *out, int64_t rows, int64_t n);
/* `width` columns of n elements each; consecutive elements lie `stride` apart. */
typedef void (*fl_softmax_columns_fn)(const void *x, void *out, int64_t n, int64_t stride,
                                      int64_t width);
/* Of each row of log_softmax the element at an index; 0 where there is none. */
typedef void (*fl_log_softmax_at_fn)(const void *x, const int64_t *index, void *out, int64_t rows,
                                     int64_t n);
/* A shift and sum(exp(x - shift)) of a row, so that log(sum) + shift is the answer. The shift is
 * the maximum, or 0 when that is infinite: inf - inf would lose it. */
typedef void (*fl_lse_row_fn)(const void *x, int64_t n, double *shift, double *sum);
/* The same for columns, in the kernel's type. */
typedef void (*fl_lse_columns_fn)(const void *x, int64_t n, int64_t stride, int64_t width,
                                  void *shift, void *sum);
typedef void (*fl_softmax_grad_rows_fn)(const void *grad, const void *result, void *out,
                                        int64_t rows, int64_t n);
typedef void (*fl_softmax_grad_columns_fn)(const void *grad, const void *result, void *out,
                                           int64_t n, int64_t stride, int64_t width);

/* [0] softmax, [1] log_softmax; then float32, float64. */
struct fl_softmax_kernels {
    fl_softmax_rows_fn rows[2][2];
    fl_softmax_columns_fn columns[2][2];
    fl_log_softmax_at_fn log_softmax_at[2];
    fl_lse_row_fn lse[2];
    fl_lse_columns_fn lse_columns[2];
    fl_softmax_grad_rows_fn grad_rows[2][2];
    fl_softmax_grad_columns_fn grad_columns[2][2];
};
extern "C" {
FL_LEVELS(fl_softmax_kernels);
}
