/* Integers divided by one number, rounded towards minus infinity. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* The divisor is not 0 and a number of the elements' dtype: uint8, int8, int16, int32, int64. */
struct fl_divide_kernels {
    void (*floors[5])(const void *in, int64_t divisor, void *out, int64_t n);
};
extern "C" {
FL_LEVELS(fl_divide_kernels);
}
