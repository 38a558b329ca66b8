/* int64 divided by one number, rounded towards minus infinity. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* The divisor is not 0. */
struct fl_divide_kernels {
    void (*floors)(const int64_t *in, int64_t divisor, int64_t *out, int64_t n);
};
extern "C" {
FL_LEVELS(fl_divide_kernels);
}
