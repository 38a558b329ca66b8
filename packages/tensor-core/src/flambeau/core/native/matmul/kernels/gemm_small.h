/* Small products, which would be over before panels are laid out: a strip of B is packed
 * on the stack, A is read where it lies. Every sum is taken in the order of the larger products. */
#pragma once
#include "matmul/kernels/gemm.h"

#include "matmul/kernels/gemm_finish.h"
#include "matmul/kernels/gemm_pack.h"

namespace {

/* One row of C, as wide as a vector. */
template <class T>
inline Vector<T> few_sums(const T *a, int64_t a_col, const T *strip, int64_t k) {
    Vector<T> sum = {};
    for (int64_t p = 0; p < k; p++)
        sum = add_product(splat(a[p * a_col]), load(strip + p * Lanes<T>::COUNT), sum);
    return sum;
}

template <class T> void small(const fl_gemm_block *g) {
    const int L = Lanes<T>::COUNT;
    const Finish<T> finish(*g, true, true);
    T strip[FL_GEMM_SMALL_TERMS * L], sums[L];
    for (int64_t j = 0; j < g->n; j += L) {
        int64_t cols = g->n - j < L ? g->n - j : L;
        pack(strip, L, static_cast<const T *>(g->b) + j * g->b_col, g->b_row, g->b_col, g->k, cols);
        for (int64_t i = 0; i < g->m; i++) {
            const T *a = static_cast<const T *>(g->a) + i * g->a_row;
            T *c = static_cast<T *>(g->c) + i * g->c_row + j * g->c_col;
            Vector<T> sum = few_sums(a, g->a_col, strip, g->k);
            if (finish.plain() && !finish.read_c) {
                store_part(c, sum, cols);
                continue;
            }
            store(sums, sum);
            finish.tile(c, sums, L, i, 1, j, cols);
        }
    }
}

} // namespace
