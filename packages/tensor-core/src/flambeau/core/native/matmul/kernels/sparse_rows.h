/* Rows of products with sparse matrices. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

struct fl_sparse_rows {
    /* out[j] = the sum over e < count of values[e] * dense[columns[e] * width + j], j < width;
       false, and nothing is written, where a column is not a row of the dense matrix */
    bool (*product_f32)(const float *values, const int64_t *columns, int64_t count,
                        const float *dense, int64_t height, int64_t width, float *out);
    bool (*product_f64)(const double *values, const int64_t *columns, int64_t count,
                        const double *dense, int64_t height, int64_t width, double *out);
    /* for rows i in [begin, end) the sums over e in [starts[i], starts[i + 1]) of values[e] *
       vector[columns[e]]; false where a column is not in [0, height) */
    bool (*vector_f32)(const int64_t *starts, const int64_t *columns, const float *values,
                       const float *vector, int64_t begin, int64_t end, int64_t height,
                       float *out);
    bool (*vector_f64)(const int64_t *starts, const int64_t *columns, const double *values,
                       const double *vector, int64_t begin, int64_t end, int64_t height,
                       double *out);
    /* the sum over j < width of a[j] * b[j] */
    float (*dot_f32)(const float *a, const float *b, int64_t width);
    double (*dot_f64)(const double *a, const double *b, int64_t width);
};
extern "C" {
FL_LEVELS(fl_sparse_rows);
}
