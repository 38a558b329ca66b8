/* Products of matrices of integers, which wrap. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* Bytes of the columns that a tile is wide. */
#define FL_INTEGER_TILE 128

/* c = a b + bias: `b` lies in panels of a tile's columns, each k rows of that width; for `dots`,
 * it lies column by column. */
struct fl_integer_product {
    int64_t n, k;
    const void *a;
    int64_t lda;
    const void *b;
    void *c;                    /* rows of n */
    const void *bias;           /* of n elements, or NULL */
    int64_t m, ldb;             /* for `sums`: rows of c, and from row to row of b */
};
enum fl_integer_width { FL_INTEGER_16, FL_INTEGER_32, FL_INTEGER_64, FL_INTEGER_WIDTHS };
/* These rows of c. */
typedef void (*fl_integer_fn)(const fl_integer_product *, int64_t begin, int64_t end);
struct fl_integer_kernels {
    fl_integer_fn tiles[FL_INTEGER_WIDTHS], dots[FL_INTEGER_WIDTHS];
    fl_integer_fn sums[FL_INTEGER_WIDTHS];      /* these columns of c; b lies row by row */
    void (*widen)(const uint8_t *, uint16_t *, int64_t n);
};
extern "C" {
FL_LEVELS(fl_integer_kernels);
}
