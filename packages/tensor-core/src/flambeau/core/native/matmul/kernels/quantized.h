/* Products of rows of int8, as layers with quantized weights compute them. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* c[i * n + j] = sum(x[i] * weight[j]) * (steps[i] * scales[j]) + bias[j]; sums are exact. */
struct fl_quantized_product {
    int64_t m, n, k;
    const int8_t *x, *weight;       /* m rows and n rows of k numbers */
    const float *steps, *scales;    /* what one is worth in a row of x, and of weight */
    const float *bias;              /* n numbers, or NULL */
    float *c;
};

struct fl_quantized_kernels {
    /* Round a row to whole multiples of its greatest magnitude / 127, and return that step: NaN
       when an element is not finite. */
    float (*round_row)(const float *x, int64_t k, int8_t *to);
    /* columns [begin, end) of every row */
    void (*columns)(const fl_quantized_product *p, int64_t begin, int64_t end);
    /* the same by dot products of four bytes in one instruction; NULL at levels without */
    void (*columns_vnni)(const fl_quantized_product *p, int64_t begin, int64_t end);
};
extern "C" {
FL_LEVELS(fl_quantized_kernels);
}
