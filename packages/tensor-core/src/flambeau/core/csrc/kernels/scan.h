/* Kernels for running sums. */
#pragma once
#include "kernels/level.h"
#include <stdint.h>

/* `lines` contiguous lines of n elements; in and out may be the same memory. */
typedef void (*fl_scan_fn)(const void *x, void *out, int64_t lines, int64_t n);

struct fl_scan_kernels {
    fl_scan_fn sums[6];         /* by compute kind; none for bool */
};
extern "C" {
FL_LEVELS(fl_scan_kernels);
}
