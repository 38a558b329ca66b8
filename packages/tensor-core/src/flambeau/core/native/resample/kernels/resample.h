/* Kernels that make each output along one dimension from a few weighted inputs, and the adjoint. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* Output j is the sum of weight[j * width + k] * input[index[j * width + k]], k < count[j]. */
struct fl_taps {
    int64_t in, out, width;
    const int64_t *index;
    const int32_t *count;
    const void *weight;             /* of the kernel's type */
    int64_t repeats;                /* every input is so many outputs in a row; else 0 */
};

/* One block [in, inner] to [out, inner]. */
typedef void (*fl_resample_fn)(const void *x, void *y, const fl_taps *taps, int64_t inner);

struct fl_resample_kernels {
    fl_resample_fn gather[2];       /* y = taps(x) */
    fl_resample_fn scatter[2];      /* the adjoint, [out, inner] to [in, inner] */
};
extern "C" {
FL_LEVELS(fl_resample_kernels);
}
