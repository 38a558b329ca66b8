/* Arithmetic and comparisons of integers that are narrower than 64 bits, as they lie. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

enum fl_narrow_op {
    FL_NARROW_ADD, FL_NARROW_SUB, FL_NARROW_MUL, FL_NARROW_MAX, FL_NARROW_MIN, FL_NARROW_AND,
    FL_NARROW_OR, FL_NARROW_XOR, FL_NARROW_DISTANCE, FL_NARROW_ORDER, FL_NARROW_LEFT,
    FL_NARROW_RIGHT, FL_NARROW_FLOOR_DIVIDE, FL_NARROW_REMAINDER, FL_NARROW_FMOD,
    FL_NARROW_EQ, FL_NARROW_NE, FL_NARROW_LT, FL_NARROW_LE, FL_NARROW_GT, FL_NARROW_GE,
    FL_NARROW_BOTH, FL_NARROW_EITHER, FL_NARROW_ONE, FL_NARROW_COUNT
};
enum fl_narrow_dtype { FL_NARROW_U8, FL_NARROW_I8, FL_NARROW_I16, FL_NARROW_I32, FL_NARROW_DTYPES };

/* out[i] = a[i] op b[i]; an operand with step 0 is one element. DISTANCE is a - b or b - a, what is
 * not negative; ORDER is -1, 0 or 1, as b is less, equal or greater. LEFT and RIGHT shift bits.
 * Comparisons, and after them logical_and, logical_or and logical_xor, write bools. No divisor
 * is 0. */
typedef void (*fl_narrow_fn)(const void *a, int step_a, const void *b, int step_b, void *out,
                             int64_t n);

struct fl_narrow_kernels {
    fl_narrow_fn run[FL_NARROW_COUNT][FL_NARROW_DTYPES];
    /* Between two numbers: the greater of x and `low`, then the lesser of that and `high`. */
    void (*clamp[FL_NARROW_DTYPES])(const void *x, int64_t low, int64_t high, void *out, int64_t n);
};
extern "C" {
FL_LEVELS(fl_narrow_kernels);
}
