/* Shared by the parts of blas.h's implementation. */
#ifndef FLAMBEAU_RUNTIME_BLAS_PRIVATE_H
#define FLAMBEAU_RUNTIME_BLAS_PRIVATE_H
#include "runtime/blas.h"

static inline int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* How one product is cut: `rows` x `cols` tiles of `tile_m` x `tile_n` elements. */
struct Grid {
    int64_t tile_m, tile_n, rows, cols;

    Grid(int64_t m, int64_t n, int64_t tall, int64_t wide)
        : tile_m(tall), tile_n(wide), rows(ceil_div(m, tall)), cols(ceil_div(n, wide)) {}

    int64_t count() const { return rows * cols; }
};

int fl_gemm_own(const fl_gemm_args &args);      /* float32 and float64 */
int fl_gemm_openblas(const fl_gemm_args &args); /* any of the four dtypes; no bias, activation */
#endif
