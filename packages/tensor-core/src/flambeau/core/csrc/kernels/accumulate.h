/* Kernels that add one run of numbers to another. */
#pragma once
#include "kernels/level.h"
#include <stdint.h>

/* to[i] += scale * from[i]; bools are or-ed. */
typedef void (*fl_accumulate_fn)(void *to, const void *from, int64_t n, double scale);
struct fl_accumulate_kernels {
    fl_accumulate_fn run[6];        /* by compute kind */
};
extern "C" {
FL_LEVELS(fl_accumulate_kernels);
}
