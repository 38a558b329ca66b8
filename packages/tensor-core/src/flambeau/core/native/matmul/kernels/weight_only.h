/* Products with weights of int8, int4, float16 or bfloat16, which become floats in registers. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

enum fl_narrow { FL_NARROW_I8, FL_NARROW_I4, FL_NARROW_F16, FL_NARROW_BF16, FL_NARROW_NOT };

/* c[i * n + j] = sum(x[i] * value(j)) + bias[j], where row j of the weight is worth
 * whole * scale + offset, group by group, or (whole - 8) * scale for int4 without offsets. */
struct fl_weight_only_product {
    int64_t m, n, k, group, groups; /* columns of a group: a multiple of 32, or at least k */
    int64_t padded;                 /* columns of x, with zeros past k: a multiple of 32 */
    int64_t row_bytes;              /* from row to row of the weight */
    const float *x;
    const char *weight;
    fl_narrow kind;                 /* int4: a block of 32 columns in 16 bytes, the first 16 of
                                       them in the low four bits */
    const char *scales, *offsets;   /* n rows of `groups` numbers, or NULL */
    fl_narrow scales_kind, offsets_kind;    /* float16, bfloat16, or FL_NARROW_NOT: float32 */
    const float *bias;              /* n numbers, or NULL */
    float *c;
};

struct fl_weight_only_kernels {
    /* Columns [begin, end) of every row of c. `room`: four rows of `padded` floats, in which the
       weight is spread where many rows use it, or NULL; results are the same. */
    void (*columns)(const fl_weight_only_product *p, int64_t begin, int64_t end, float *room);
    /* Rows [begin, end) of the weight as floats, `padded` to a row. */
    void (*rows)(const fl_weight_only_product *p, int64_t begin, int64_t end, float *to);
};
extern "C" {
FL_LEVELS(fl_weight_only_kernels);
}
