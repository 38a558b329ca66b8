/* Quotients of int64, rounded towards minus infinity, and remainders: with the sign of the divisor,
 * and with that of the dividend. */
#pragma once
#include "common/kernels/level.h"
#include "pointwise/kernels/narrow.h"

enum fl_division { FL_DIVISION_FLOOR, FL_DIVISION_REMAINDER, FL_DIVISION_FMOD };

/* No divisor is 0; one of the sides walks. */
struct fl_divide_kernels {
    fl_narrow_fn run[3];
};
extern "C" {
FL_LEVELS(fl_divide_kernels);
}
