/* Arithmetic of half precision as it lies: every element is widened, computed and rounded once. */
#pragma once
#include "common/kernels/level.h"
#include "pointwise/kernels/narrow.h"

enum fl_half_op {
    FL_HALF_ADD, FL_HALF_SUB, FL_HALF_MUL, FL_HALF_DIV, FL_HALF_MAX, FL_HALF_MIN,
    FL_HALF_COPYSIGN, FL_HALF_OPS
};
enum fl_half_dtype { FL_HALF_F16, FL_HALF_BF16, FL_HALF_DTYPES };

typedef void (*fl_half_sum_fn)(const void *x, const void *a, const void *b, float number, void *out,
                               int64_t n);

/* As for narrow integers; an operand with step -1 is a number of float32. */
struct fl_half_kernels {
    fl_narrow_fn run[FL_HALF_OPS][FL_HALF_DTYPES];
    /* Between two numbers. */
    void (*clamp[FL_HALF_DTYPES])(const void *x, float low, float high, void *out, int64_t n);
    /* x + number * a * b, and x + number * (a - x), from the nearer of x and a. */
    fl_half_sum_fn product_sum[FL_HALF_DTYPES], lerp[FL_HALF_DTYPES];
    /* The bits of `keep` stay, then those of `flip` change: absolute values and negatives. */
    void (*bits)(const void *x, void *out, int64_t n, uint16_t keep, uint16_t flip);
};
extern "C" {
FL_LEVELS(fl_half_kernels);
}
