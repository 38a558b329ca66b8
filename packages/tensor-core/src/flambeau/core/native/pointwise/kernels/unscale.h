/* Multiplying numbers and looking whether all of them are finite, in one pass. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

struct fl_unscale_kernels {
    /* out[i] = x[i] * factor; whether all of x are finite */
    bool (*f32)(const float *x, float *out, int64_t n, double factor);
    bool (*f64)(const double *x, double *out, int64_t n, double factor);
};
extern "C" {
FL_LEVELS(fl_unscale_kernels);
}
