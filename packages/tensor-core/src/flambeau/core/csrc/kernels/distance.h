/* Distances between the rows of a matrix. */
#pragma once
#include "kernels/level.h"
#include <stdint.h>

/* Columns of a strip of the transposed matrix; strips are padded to it with anything. */
#define FL_DISTANCE_STRIP 64

struct fl_distance_kernels {
    /* out[j] = the root of the sum over c < m of (row[c] - columns[c * step + j])^2, for j <
     * FL_DISTANCE_STRIP */
    void (*f32)(const float *row, const float *columns, int64_t step, int64_t m, float *out);
    void (*f64)(const double *row, const double *columns, int64_t step, int64_t m, double *out);
};
extern "C" {
FL_LEVELS(fl_distance_kernels);
}
