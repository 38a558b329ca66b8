/* Weighted sums of elements picked from a plane, for a run of places. */
#pragma once
#include "kernels/level.h"
#include <stdint.h>

static const int64_t FL_GRID_RUN = 64;      /* places of a run, at most */

/* out[i] = the sum over k < taps of weight[k * FL_GRID_RUN + i] times the element of the plane at
 * offset[k * FL_GRID_RUN + i]; negative offsets stand for elements that are zero. */
struct fl_grid_kernels {
    void (*f32)(const float *plane, const int32_t *offset, const float *weight, int64_t taps,
                int64_t n, float *out);
    void (*f64)(const double *plane, const int32_t *offset, const double *weight, int64_t taps,
                int64_t n, double *out);
};
extern "C" {
FL_LEVELS(fl_grid_kernels);
}
