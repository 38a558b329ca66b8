/* Distances between the rows of a matrix. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* Columns of a strip of the transposed matrix; strips are padded to it with anything. */
#define FL_DISTANCE_STRIP 64

/* The root of the sum of squares, the sum of sizes, the greatest size. */
enum fl_distance_way { FL_EUCLIDEAN, FL_MANHATTAN, FL_CHEBYSHEV, FL_DISTANCE_WAYS };

struct fl_distance_kernels {
    /* out[j] = what row[c] - columns[c * step + j] for c < m come to, for j < FL_DISTANCE_STRIP */
    void (*f32[FL_DISTANCE_WAYS])(const float *row, const float *columns, int64_t step, int64_t m,
                                  float *out);
    void (*f64[FL_DISTANCE_WAYS])(const double *row, const double *columns, int64_t step, int64_t m,
                                  double *out);
};
extern "C" {
FL_LEVELS(fl_distance_kernels);
}
