/* Kernels that copy lines backwards. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* out[i] = x[n - 1 - i] for elements of 1, 2, 4, 8 and 16 bytes. */
typedef void (*fl_reverse_fn)(const void *x, void *out, int64_t n);
struct fl_reverse_kernels {
    fl_reverse_fn line[5];          /* by the logarithm of the size */
};
extern "C" {
FL_LEVELS(fl_reverse_kernels);
}
