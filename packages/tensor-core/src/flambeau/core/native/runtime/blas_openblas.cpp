/* Products by OpenBLAS, which runs on one thread: the cut into tiles is ours. See blas.h. */
#include "runtime/blas_private.h"

#include "runtime/error.h"
#include "runtime/openblas.h"
#include "runtime/pool.h"

#include <limits.h>

#include <algorithm>

namespace {

/* Complex products reach full speed on tiles of this size. */
const int64_t TILE_SIZE = 256;
const double TASK_FLOPS = 1e6;

int cblas_trans(int trans) {
    return trans == FL_NO_TRANS ? CBLAS_NO_TRANS
           : trans == FL_TRANS  ? CBLAS_TRANS
                                : CBLAS_CONJ_TRANS;
}

/* CBLAS insists on row distances of at least a row, also where there is one row only. */
int64_t cblas_stride(int64_t stride, int64_t rows, int64_t cols) {
    return std::max<int64_t>(rows <= 1 ? std::max(stride, cols) : stride, 1);
}

struct BlasJob {
    const fl_gemm_args *g;
    const fl_openblas *blas;
    int64_t itemsize;
    int64_t lda, ldb, ldc;
    Grid grid;

    BlasJob(const fl_gemm_args &args, const fl_openblas *library)
        : g(&args), blas(library), itemsize(fl_itemsize(args.dtype)),
          lda(args.trans_a ? cblas_stride(args.lda, args.k, args.m)
                           : cblas_stride(args.lda, args.m, args.k)),
          ldb(args.trans_b ? cblas_stride(args.ldb, args.n, args.k)
                           : cblas_stride(args.ldb, args.k, args.n)),
          ldc(cblas_stride(args.ldc, args.m, args.n)),
          grid(args.m, args.n, TILE_SIZE, TILE_SIZE) {}

    bool callable() const {
        const int64_t most = INT_MAX;
        return g->k <= most && lda <= most && ldb <= most && ldc <= most &&
               lda >= (g->trans_a ? g->m : g->k) && ldb >= (g->trans_b ? g->k : g->n) &&
               ldc >= g->n;
    }

    const char *at(const void *base, int64_t elements) const {
        return static_cast<const char *>(base) + elements * itemsize;
    }

    void run(int64_t task) const {
        int64_t which = task / grid.count();
        int64_t i = task % grid.count() / grid.cols * grid.tile_m;
        int64_t j = task % grid.cols * grid.tile_n;
        fl_cblas_gemm call = {};
        call.trans_a = cblas_trans(g->trans_a);
        call.trans_b = cblas_trans(g->trans_b);
        call.m = static_cast<int>(std::min(grid.tile_m, g->m - i));
        call.n = static_cast<int>(std::min(grid.tile_n, g->n - j));
        call.k = static_cast<int>(g->k);
        call.alpha = g->alpha;
        call.beta = g->beta;
        call.a = at(g->a, which * g->stride_a + i * (g->trans_a ? 1 : lda));
        call.b = at(g->b, which * g->stride_b + j * (g->trans_b ? ldb : 1));
        call.c = const_cast<char *>(at(g->c, which * g->stride_c + i * ldc + j));
        call.lda = static_cast<int>(lda);
        call.ldb = static_cast<int>(ldb);
        call.ldc = static_cast<int>(ldc);
        fl_openblas_gemm(blas, g->dtype, &call);
    }
};

double tile_flops(const fl_gemm_args &g) {
    return 8.0 * static_cast<double>(g.k + 1) * static_cast<double>(std::min(g.m, TILE_SIZE)) *
           static_cast<double>(std::min(g.n, TILE_SIZE));
}

} // namespace

int fl_gemm_openblas(const fl_gemm_args &g) {
    const fl_openblas *blas = fl_openblas_get();
    if (!blas)
        return -1;
    BlasJob job(g, blas);
    if (!job.callable())
        return fl_error(FL_VALUE_ERROR,
                        "matrix product of %s: rows lie %lld, %lld and %lld elements apart, which "
                        "OpenBLAS cannot address; copy the operands first",
                        fl_dtype_name(g.dtype), static_cast<long long>(g.lda),
                        static_cast<long long>(g.ldb), static_cast<long long>(g.ldc));
    int64_t grain = std::max<int64_t>(static_cast<int64_t>(TASK_FLOPS / tile_flops(g)), 1);
    fl_parallel(g.batch * job.grid.count(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; task++)
            job.run(task);
    });
    return 0;
}
