/* Arithmetic of float32 and float64 where an operand is one number for a whole row, and limits
 * between two numbers: what stays the same stays in a register. */
#pragma once
#include "common/kernels/level.h"
#include "pointwise/kernels/narrow.h"

enum fl_wide_op {
    FL_WIDE_ADD, FL_WIDE_SUB, FL_WIDE_MUL, FL_WIDE_DIV, FL_WIDE_MAX, FL_WIDE_MIN, FL_WIDE_OPS
};

struct fl_wide_kernels {
    fl_narrow_fn run[FL_WIDE_OPS][2];   /* float32, float64 */
    /* float32, float64, int64, as the kinds; the bounds are elements. */
    void (*clamp[3])(const void *x, const void *low, const void *high, void *out, int64_t n);
};
extern "C" {
FL_LEVELS(fl_wide_kernels);
}
