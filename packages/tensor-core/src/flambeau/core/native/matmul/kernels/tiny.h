/* Products of tiny matrices, as many at once as a register has lanes. */
#pragma once
#include "common/kernels/level.h"
#include <stdint.h>

/* c[r] = a[r] @ b[r] for r < count, matrices of m x k and k x n. Element e of matrix r, counted in
 * C order, is x[e * count + r]. Sums are taken in the order of k. */
typedef void (*fl_tiny_products_fn)(const void *a, const void *b, void *c, int64_t count, int64_t m,
                                    int64_t n, int64_t k);

struct fl_tiny_kernels {
    fl_tiny_products_fn products[2];    /* float32, float64 */
};
extern "C" {
FL_LEVELS(fl_tiny_kernels);
}
