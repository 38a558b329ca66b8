/* The entry points of matrix products: see blas.h. */
#include "runtime/blas_private.h"

#include "runtime/error.h"

namespace {

enum { F32 = 11, F64 = 12, C64 = 13, C128 = 14 }; /* codes of abi.h */

int complex_epilogue_error(const fl_gemm_args &g) {
    return fl_error(FL_TYPE_ERROR, "matrix product: bias and activation cannot be fused for %s",
                    fl_dtype_name(g.dtype));
}

} // namespace

int fl_gemm_run(const fl_gemm_args *g) {
    if (g->m < 0 || g->n < 0 || g->k < 0 || g->batch < 0)
        return fl_error(FL_VALUE_ERROR, "matrix product: negative size in m=%lld, n=%lld, k=%lld",
                        static_cast<long long>(g->m), static_cast<long long>(g->n),
                        static_cast<long long>(g->k));
    if (g->dtype < F32 || g->dtype > C128)
        return fl_error(FL_NOT_IMPLEMENTED,
                        "matrix product: no kernel for %s; convert to float32 first",
                        fl_dtype_name(g->dtype));
    if (g->m == 0 || g->n == 0 || g->batch == 0)
        return 0;
    if (g->dtype < C64)
        return fl_gemm_own(*g);
    return g->bias || g->activation ? complex_epilogue_error(*g) : fl_gemm_openblas(*g);
}

int fl_gemm(int dtype, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
            const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c,
            int64_t ldc) {
    return fl_gemm_batched(dtype, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                           1, 0, 0, 0);
}

int fl_gemm_batched(int dtype, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                    double alpha, const void *a, int64_t lda, const void *b, int64_t ldb,
                    double beta, void *c, int64_t ldc, int64_t batch, int64_t stride_a,
                    int64_t stride_b, int64_t stride_c) {
    fl_gemm_args g = {};
    g.dtype = dtype;
    g.trans_a = static_cast<uint8_t>(trans_a);
    g.trans_b = static_cast<uint8_t>(trans_b);
    g.m = m;
    g.n = n;
    g.k = k;
    g.alpha = alpha;
    g.beta = beta;
    g.a = a;
    g.b = b;
    g.c = c;
    g.lda = lda;
    g.ldb = ldb;
    g.ldc = ldc;
    g.batch = batch;
    g.stride_a = stride_a;
    g.stride_b = stride_b;
    g.stride_c = stride_c;
    return fl_gemm_run(&g);
}
