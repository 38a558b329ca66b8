/* Copies of a matrix with any strides into rows of contiguous elements. Rows have room for 16
 * elements more: they are written by whole vectors. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

struct fl_transpose_kernels {
    /* out[r * out_row + c] = in[r * row + c * col] */
    void (*f32)(float *out, int64_t out_row, const float *in, int64_t row, int64_t col,
                int64_t rows, int64_t cols);
    void (*f64)(double *out, int64_t out_row, const double *in, int64_t row, int64_t col,
                int64_t rows, int64_t cols);
};
extern "C" {
FL_LEVELS(fl_transpose_kernels);
}
