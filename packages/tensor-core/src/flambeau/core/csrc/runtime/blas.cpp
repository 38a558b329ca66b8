/* Matrix products: choosing who computes them and cutting them into tasks. See blas.h.
 *
 * docs/design/products.md has the measurements behind the constants. */
#include "blas.h"

#include "alloc.h"
#include "error.h"
#include "kernels/gemm.h"
#include "openblas.h"
#include "pool.h"

#include <limits.h>

#include <algorithm>
#include <atomic>

FL_LEVELS(fl_gemm_kernels);

namespace {

enum { F32 = 11, F64 = 12, C64 = 13, C128 = 14 }; /* codes of abi.h */

/* Sums in vector lanes along k read B in place; packing B costs more than the product when it is
 * used for few rows only. Long sums make up for adding the lanes of each result. */
const int64_t DOT_MIN_K = 64;
const int64_t DOT_ROWS = 16;
const int64_t DOT_LONG_K = 1024;
const int64_t DOT_LONG_ROWS = 32;

/* Our kernels are level with OpenBLAS up to here, and behind it by some 5% beyond. */
#ifndef OBMIN
#define OBMIN 512
#endif
const int64_t OPENBLAS_MIN_DIM = OBMIN;
const int64_t OPENBLAS_TILE = 512;

/* Work per task. A task of 2 MFLOP takes 8 us on one core; waking the pool costs about 4. */
const double TWO_TASKS_FLOPS = 2e6;
const double TASK_FLOPS = 4e6;
const double BATCH_TASK_FLOPS = 1e6;
const double MOST_TASKS = 16;
const int64_t TALLEST_TILE = 378;
const int64_t WIDEST_TILE = 1024;

int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* How one product is cut: `rows` x `cols` tiles, of `tile_m` x `tile_n` elements. */
struct Grid {
    int64_t tile_m, tile_n, rows, cols;

    Grid(int64_t m, int64_t n, int64_t tall, int64_t wide)
        : tile_m(tall), tile_n(wide), rows(ceil_div(m, tall)), cols(ceil_div(n, wide)) {}

    int64_t count() const { return rows * cols; }
};

/* ---- our own kernels ---------------------------------------------------------------------- */

/* The whole product as a block with free strides. */
fl_gemm_block block_of(const fl_gemm_args &g) {
    fl_gemm_block block = {};
    block.m = g.m;
    block.n = g.n;
    block.k = g.alpha == 0 ? 0 : g.k;
    block.a = g.a;
    block.b = g.b;
    block.c = g.c;
    block.a_row = g.trans_a ? 1 : g.lda;
    block.a_col = g.trans_a ? g.lda : 1;
    block.b_row = g.trans_b ? 1 : g.ldb;
    block.b_col = g.trans_b ? g.ldb : 1;
    block.c_row = g.ldc;
    block.c_col = 1;
    block.alpha = g.alpha;
    block.beta = g.beta;
    block.bias = g.bias;
    block.bias_col = 1;
    block.relu = g.activation == FL_ACT_RELU;
    return block;
}

/* C^T = B^T A^T: the few columns become few rows, which is what the kernels are good at. */
void swap_sides(fl_gemm_block &g) {
    std::swap(g.m, g.n);
    std::swap(g.a, g.b);
    std::swap(g.a_row, g.b_col);
    std::swap(g.a_col, g.b_row);
    std::swap(g.c_row, g.c_col);
    std::swap(g.bias_row, g.bias_col);
}

/* The choices that bits depend on; both look at the shape and the layout only. Returns whether
 * the sides were swapped. */
bool choose_form(fl_gemm_block &g) {
    bool swapped = g.n <= DOT_ROWS && g.n < g.m;
    if (swapped)
        swap_sides(g);
    if (g.m == 1) /* one row has any stride */
        g.a_row = g.k;
    if (g.n == 1)
        g.b_col = g.k;
    int64_t most_rows = g.k >= DOT_LONG_K ? DOT_LONG_ROWS : DOT_ROWS;
    g.dot = g.b_row == 1 && g.k >= DOT_MIN_K && g.m <= most_rows;
    return swapped;
}

/* Halve the longer side until there are tasks enough, then keep tiles within the caches. */
Grid own_grid(const fl_gemm_block &g, const fl_gemm_dtype &kernels, int64_t wanted) {
    int64_t rows = 1, cols = 1;
    while (rows * cols * 2 <= wanted) {
        bool tall = g.m / rows >= 2 * kernels.rows && g.m / rows > g.n / cols && !g.dot;
        if (!tall && g.n / cols < 2 * kernels.cols)
            break;
        (tall ? rows : cols) *= 2;
    }
    int64_t tall = std::min(ceil_div(ceil_div(g.m, rows), kernels.rows) * kernels.rows,
                            TALLEST_TILE);
    int64_t wide = std::min(ceil_div(ceil_div(g.n, cols), kernels.cols) * kernels.cols,
                            WIDEST_TILE);
    return Grid(g.m, g.n, g.dot ? g.m : std::max<int64_t>(tall, 1), wide);
}

int64_t own_tasks_wanted(double flops, int64_t batch) {
    double tasks = std::max(std::min(flops / TWO_TASKS_FLOPS, 2.0),
                            std::min(flops / TASK_FLOPS, MOST_TASKS));
    return ceil_div(std::max<int64_t>(static_cast<int64_t>(tasks), 1), batch);
}

struct OwnJob {
    fl_gemm_block whole;
    const fl_gemm_dtype *kernels;
    int64_t itemsize;
    int64_t stride_a, stride_b, stride_c;
    Grid grid;
    size_t scratch_bytes;
    std::atomic<bool> out_of_memory{false};

    const char *at(const void *base, int64_t elements) const {
        return static_cast<const char *>(base) + elements * itemsize;
    }

    /* Task number `task`: a tile of one product of the batch. */
    void run(int64_t task, void *scratch) const {
        int64_t which = task / grid.count();
        int64_t i = task % grid.count() / grid.cols * grid.tile_m;
        int64_t j = task % grid.cols * grid.tile_n;
        fl_gemm_block tile = whole;
        tile.m = std::min(grid.tile_m, whole.m - i);
        tile.n = std::min(grid.tile_n, whole.n - j);
        tile.a = at(whole.a, which * stride_a + i * whole.a_row);
        tile.b = at(whole.b, which * stride_b + j * whole.b_col);
        tile.c = const_cast<char *>(
            at(whole.c, which * stride_c + i * whole.c_row + j * whole.c_col));
        if (tile.bias)
            tile.bias = at(whole.bias, i * whole.bias_row + j * whole.bias_col);
        tile.scratch = scratch;
        kernels->block(&tile);
    }

    void run_range(int64_t begin, int64_t end) {
        void *scratch = fl_alloc(scratch_bytes);
        if (!scratch) {
            out_of_memory = true;
            return;
        }
        for (int64_t task = begin; task < end; task++)
            run(task, scratch);
        fl_free(scratch, scratch_bytes);
    }
};

int out_of_scratch(size_t bytes) {
    return fl_error(FL_MEMORY_ERROR, "matrix product: cannot allocate %zu bytes of work space",
                    bytes);
}

int run_own(const fl_gemm_args &g) {
    const fl_gemm_kernels *level = FL_PICK(fl_gemm_kernels);
    const fl_gemm_dtype &kernels = g.dtype == F32 ? level->f32 : level->f64;
    fl_gemm_block whole = block_of(g);
    bool swapped = choose_form(whole);
    double flops = 2.0 * static_cast<double>(g.m) * static_cast<double>(g.n) *
                   static_cast<double>(std::max<int64_t>(g.k, 1));
    double all = flops * static_cast<double>(g.batch);
    Grid grid = own_grid(whole, kernels, own_tasks_wanted(all, g.batch));
    fl_gemm_block tile = whole;
    tile.m = std::min(whole.m, grid.tile_m);
    OwnJob job{whole,
               &kernels,
               fl_itemsize(g.dtype),
               swapped ? g.stride_b : g.stride_a,
               swapped ? g.stride_a : g.stride_b,
               g.stride_c,
               grid,
               static_cast<size_t>(kernels.scratch_bytes(&tile))};
    int64_t tasks = g.batch * grid.count();
    double task_flops = all / static_cast<double>(tasks);
    int64_t grain = tasks;
    if (all >= TWO_TASKS_FLOPS)
        grain = std::max<int64_t>(static_cast<int64_t>(BATCH_TASK_FLOPS / task_flops), 1);
    fl_parallel(tasks, grain, [&](int64_t begin, int64_t end) { job.run_range(begin, end); });
    return job.out_of_memory ? out_of_scratch(job.scratch_bytes) : 0;
}

/* ---- OpenBLAS ---------------------------------------------------------------------------- */

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
          grid(args.m, args.n, OPENBLAS_TILE, OPENBLAS_TILE) {}

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
        if (g->bias || g->activation)
            epilogue(call, j);
    }

    /* Bias and activation in a second look at the tile: a product without terms, beta = 1. */
    void epilogue(const fl_cblas_gemm &call, int64_t j) const {
        const fl_gemm_kernels *level = FL_PICK(fl_gemm_kernels);
        fl_gemm_block tile = block_of(*g);
        tile.m = call.m;
        tile.n = call.n;
        tile.k = 0;
        tile.beta = 1;
        tile.c = call.c;
        tile.bias = g->bias ? at(g->bias, j) : nullptr;
        (g->dtype == F32 ? level->f32 : level->f64).block(&tile);
    }
};

int run_openblas(const BlasJob &job) {
    double flops = 2.0 * static_cast<double>(job.g->k + 1) *
                   static_cast<double>(std::min(job.g->m, OPENBLAS_TILE)) *
                   static_cast<double>(std::min(job.g->n, OPENBLAS_TILE));
    int64_t grain = std::max<int64_t>(static_cast<int64_t>(BATCH_TASK_FLOPS / flops), 1);
    fl_parallel(job.g->batch * job.grid.count(), grain, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; task++)
            job.run(task);
    });
    return 0;
}

int run_complex(const fl_gemm_args &g) {
    if (g.bias || g.activation)
        return fl_error(FL_TYPE_ERROR, "matrix product: bias and activation cannot be fused for %s",
                        fl_dtype_name(g.dtype));
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
    return run_openblas(job);
}

bool big_enough_for_openblas(const fl_gemm_args &g) {
    return g.m >= OPENBLAS_MIN_DIM && g.n >= OPENBLAS_MIN_DIM && g.k >= OPENBLAS_MIN_DIM &&
           g.alpha != 0;
}

/* Real products can always be had from our own kernels: nothing here is an error. */
int run_real(const fl_gemm_args &g) {
    if (big_enough_for_openblas(g)) {
        const fl_openblas *blas = fl_openblas_get();
        if (blas) {
            BlasJob job(g, blas);
            if (job.callable())
                return run_openblas(job);
        }
        fl_error_clear();
    }
    return run_own(g);
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
    return g->dtype >= C64 ? run_complex(*g) : run_real(*g);
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
