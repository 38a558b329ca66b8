/* Products of matrices of 64-bit integers, which wrap. */
#pragma once
#include "kernels/level.h"
#include <stdint.h>

struct fl_whole_product {
    int64_t n, k;
    const uint64_t *a, *b;      /* row-major: rows of k, k rows of n */
    uint64_t *c;
};
struct fl_whole_kernels {
    /* These rows of c. */
    void (*rows)(const fl_whole_product *, int64_t begin, int64_t end);
};
extern "C" {
FL_LEVELS(fl_whole_kernels);
}
