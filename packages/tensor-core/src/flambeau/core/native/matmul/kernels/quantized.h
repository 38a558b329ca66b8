/* Products of rows of int8, as layers with quantized weights compute them. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* c[i * n + j] = sum(x[i] * weight[j]) * (steps[i] * scales[j]) + bias[j]; sums are exact. */
struct fl_quantized_product {
    int64_t m, n, k;
    const int8_t *x, *weight;       /* m rows and n rows of k numbers */
    int64_t x_row;                  /* from a row of x to the next; zeros follow its numbers */
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
/* The same by AMX, for k a multiple of four, rows of x that are a multiple of FL_QUANTIZED_ROW
 * bytes long, and memory for a multiple of FL_QUANTIZED_BLOCK_ROWS of them. `strip` has room for as
 * many rows of weight. */
const int64_t FL_QUANTIZED_ROW = 64, FL_QUANTIZED_BLOCK_ROWS = 32;
struct fl_quantized_products_by_tiles {
    void (*columns)(const fl_quantized_product *p, int64_t begin, int64_t end, void *strip);
};
extern "C" {
FL_LEVELS(fl_quantized_kernels);
FL_LEVELS(fl_quantized_products_by_tiles);
}
