/* matmul: products of vectors, matrices and batches of them.
 *
 * Batches over a single matrix become one tall product, other batches run over the longest
 * batch dimension with a fixed stride. Transposed operands are read where they lie. */
#include "matmul/kernels/gemm.h"
#include "norm/kernels/norm.h"
#include "common/args.h"
#include "matmul/half_blocks.h"
#include "matmul/matrix.h"
#include "matmul/pairs.h"
#include "common/pool_error.h"
#include "matmul/product.h"
#include "matmul/integer.h"
#include "runtime/even.h"

namespace {

const int64_t MIN_THREADED_MULTIPLICATIONS = 1 << 21;  /* of one product that threads share */
const int64_t MULTIPLICATIONS_PER_CHUNK = 1 << 18;
const int64_t MAX_SERIAL_PRODUCTS = 16;            /* in a batch that is not worth threads */

fl_gemm_args gemm_args(const Product &p, char *c) {
    fl_gemm_args g = {};
    g.dtype = p.dtype;
    g.pairs = p.pairs;
    g.a_halves = p.a.halves;
    g.b_halves = p.b.halves;
    g.c_half = p.half_result;
    g.trans_a = (uint8_t)p.ma.trans;
    g.trans_b = (uint8_t)p.mb.trans;
    g.m = p.m;
    g.n = p.n;
    g.k = p.k;
    g.alpha = 1;
    g.a = p.a.data;
    g.b = p.b.data;
    g.c = c;
    g.lda = p.ma.ld;
    g.ldb = p.mb.ld;
    g.ldc = p.n;
    g.batch = 1;
    if (p.nbatch) {
        g.batch = p.batch[p.nbatch - 1];
        g.stride_a = p.a.batch[p.nbatch - 1];
        g.stride_b = p.b.batch[p.nbatch - 1];
        g.stride_c = p.m * p.n;
    }
    return g;
}

bool is_real_float(int dtype) { return dtype == FL_F32 || dtype == FL_F64; }

/* A small product, which needs no strides that BLAS knows. */
bool run_small(const Product &p, const char *a, const char *b, char *c) {
    fl_gemm_block g = {};
    g.m = p.m;
    g.n = p.n;
    g.k = p.k;
    g.a = a;
    g.b = b;
    g.c = c;
    g.a_row = p.a.row;
    g.a_col = p.a.col;
    g.b_row = p.b.row;
    g.b_col = p.b.col;
    g.c_row = p.n;
    g.c_col = 1;
    g.alpha = 1;
    return is_real_float(p.dtype) && fl_gemm_small(p.dtype == FL_F64, &g);
}

int run_outer(const Product &p, char *c, int64_t outer) {
    fl_gemm_args shared = gemm_args(p, c);
    const int64_t step = shared.batch * p.m * p.n * result_size(p);
    int64_t work = shared.batch * p.m * p.n * p.k;
    PoolError error;
    auto some = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end && !error.failed(); i++) {
            int64_t a, b;
            outer_offsets(p, i, &a, &b);
            fl_gemm_args g = shared;
            g.a = p.a.data + a * operand_size(p, p.a);
            g.b = p.b.data + b * operand_size(p, p.b);
            g.c = c + i * step;
            if (fl_gemm_run(&g) < 0)
                error.capture();
        }
    };
    if (work >= MIN_THREADED_MULTIPLICATIONS)
        some(0, outer);
    else
        fl_parallel(outer, MULTIPLICATIONS_PER_CHUNK / (work + 1) + 1, some);
    return error.result();
}

/* A small batch of small products. */
bool run_few_batched(const Product &p, char *c) {
    if (p.nbatch > 1 || (p.nbatch == 1 && p.batch[0] > MAX_SERIAL_PRODUCTS))
        return false;
    int64_t count = p.nbatch ? p.batch[0] : 1, size = fl_itemsize(p.dtype);
    for (int64_t i = 0; i < count; i++) {
        const char *a = p.a.data + (p.nbatch ? i * p.a.batch[0] * size : 0);
        const char *b = p.b.data + (p.nbatch ? i * p.b.batch[0] * size : 0);
        if (!run_small(p, a, b, c + i * p.m * p.n * size))
            return false;
    }
    return true;
}

int run_product(const Product &p, char *c) {
    if (p.nbatch < 2) {
        fl_gemm_args g = gemm_args(p, c);
        return fl_gemm_run(&g);
    }
    return run_outer(p, c, fl_numel_of(p.nbatch - 1, p.batch));
}

int run_float(const fl_tensor *a, const fl_tensor *b, char *c) {
    ProductInput ia(a), ib(b);
    if (!ia.ok() || !ib.ok())
        return -1;
    Product p;
    p.dtype = ia.dtype;
    view_both(a, ia, b, ib, &p);
    if (fl_run_tiny_products(p, c) || run_few_batched(p, c))
        return 0;
    bool a_fits = readable_a(&p), b_fits = readable_b(&p);
    if (!a_fits || !b_fits) {
        if ((!a_fits && !ia.copy()) || (!b_fits && !ib.copy()))
            return -1;
        view_both(a, ia, b, ib, &p);
        readable_a(&p);
        readable_b(&p);
    }
    return run_product(p, c);
}

/* bfloat16 by pairs along k. */
int run_pairs(const fl_tensor *a, const fl_tensor *b, char *c, bool rounded) {
    Product p;
    set_product(a, b, &p);
    const bool takes_halves = fl_gemm_takes_halves(p.m, p.n, p.k / 2);
    PairsIn ia(a, a->ndim - 1, takes_halves), ib(b, b->ndim - 2, takes_halves);
    if (!ia.ok() || !ib.ok())
        return -1;
    auto view = [&]() {
        set_product(a, b, &p);
        p.dtype = FL_F32;
        p.pairs = true;
        p.half_result = rounded;
        p.k /= 2;
        view_operand(a, ia, true, p, &p.a);
        view_operand(b, ib, false, p, &p.b);
        p.a.halves = ia.halves;
        p.b.halves = ib.halves;
        merge_batch(&p);
        fold_rows(&p);
        return readable_a(&p) && readable_b(&p);
    };
    if (!view()) {
        if (!ia.copy() || !ib.copy())
            return -1;
        view();
    }
    return run_product(p, c);
}

/* A tensor's own memory, whatever its dtype. */
struct OwnInput {
    const char *data;
    const int64_t *strides;
    explicit OwnInput(const fl_tensor *t) : data((const char *)t->data), strides(t->strides) {}
};

int run_integer(const fl_tensor *a, const fl_tensor *b, fl_tensor *c) {
    WholeOut out(c);
    if (!out.ok())
        return -1;
    Product p;
    p.dtype = c->dtype;
    view_both(a, OwnInput(a), b, OwnInput(b), &p);
    p.batch[p.nbatch++] = 1;    /* outer_offsets leaves the last dimension to its caller */
    int64_t count = fl_numel_of(p.nbatch, p.batch), size = fl_itemsize(p.dtype);
    int64_t step = p.m * p.n * fl_itemsize(fl_integer_dtype(p.dtype));
    for (int64_t i = 0; i < count; i++) {
        int64_t oa, ob;
        outer_offsets(p, i, &oa, &ob);
        fl_integer_matrix left = {p.a.data + oa * size, p.a.row, p.a.col};
        fl_integer_matrix right = {p.b.data + ob * size, p.b.row, p.b.col};
        if (fl_integer_multiply(p.dtype, p.m, p.n, p.k, left, right, nullptr,
                              out.data() + i * step) < 0)
            return -1;
    }
    out.commit();
    return 0;
}

/* A column times a row: every row of the result is the row times a number. Zero is added as a
 * product adds to its first sum, which makes -0 a 0. */
bool run_outer_product(const Product &p, char *c) {
    bool wide = p.dtype == FL_F64;
    if (p.k != 1 || (p.dtype != FL_F32 && !wide) || (p.n > 1 && p.b.col != 1))
        return false;
    auto scale = FL_PICK(fl_norm_kernels)->affine[wide];
    int64_t size = fl_itemsize(p.dtype);
    fl_parallel(p.m, fl_even_grain(p.m, fl_row_grain(p.n), 1), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) {
            const char *x = p.a.data + i * p.a.row * size;
            double factor = wide ? *(const double *)x : *(const float *)x;
            scale(p.b.data, c + i * p.n * size, p.n, factor, 0);
        }
    });
    return true;
}

/* Two matrices or vectors in the dtype they are computed in: no conversion, nothing to
 * broadcast. */
bool plain_pair(const fl_tensor *a, const fl_tensor *b, const fl_tensor *c, Product *p) {
    if (a->ndim > 2 || b->ndim > 2 || !fl_is_product_dtype(a->dtype) || !fl_is_contiguous(c))
        return false;
    p->dtype = a->dtype;
    p->pairs = p->half_result = p->a.halves = p->b.halves = false;
    p->m = a->ndim == 2 ? a->shape[0] : 1;
    p->k = inner_of_a(a);
    p->n = b->ndim == 2 ? b->shape[1] : 1;
    p->nbatch = 0;
    p->a.data = a->data;
    p->a.row = a->ndim == 2 ? a->strides[0] : p->k;
    p->a.col = a->strides[a->ndim - 1];
    p->b.data = b->data;
    p->b.row = b->strides[0];
    p->b.col = b->ndim == 2 ? b->strides[1] : 1;
    return true;
}

/* 1 where the product is done, 0 where its operands have to be copied first, -1 after an error. */
int run_plain(Product *p, char *c) {
    if (run_small(*p, p->a.data, p->b.data, c))
        return 1;
    if (!readable_a(p) || !readable_b(p))
        return 0;
    if (run_outer_product(*p, c))
        return 1;
    return run_product(*p, c) < 0 ? -1 : 1;
}

int check_operands(const fl_op *op, const fl_tensor *a, const fl_tensor *b) {
    if (a->ndim == 0 || b->ndim == 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: both arguments must be at least 1-D, but self has "
                        "shape %s and other %s; use * to multiply by a number", fl_op_title(op),
                        fl_shape_text(a->shape, a->ndim), fl_shape_text(b->shape, b->ndim));
    if (a->dtype != b->dtype)
        return fl_error(FL_RUNTIME_ERROR, "%s: expected both arguments to have the same dtype, but "
                        "self is %s and other %s; convert one, as in other.to(self.dtype)",
                        fl_op_title(op), fl_dtype_name(a->dtype), fl_dtype_name(b->dtype));
    if (!fl_has_product(a->dtype))
        return fl_error(FL_NOT_IMPLEMENTED, "%s: not defined for %s; convert to an integer or "
                        "floating dtype first", fl_op_title(op), fl_dtype_name(a->dtype));
    if (inner_of_a(a) != inner_of_b(b))
        return fl_error(FL_RUNTIME_ERROR, "%s: self is %s and other is %s; the last dimension of "
                        "self (%lld) must equal the %s of other (%lld)", fl_op_title(op),
                        fl_shape_text(a->shape, a->ndim), fl_shape_text(b->shape, b->ndim),
                        (long long)inner_of_a(a), b->ndim > 1 ? "second-last" : "only dimension",
                        (long long)inner_of_b(b));
    return 0;
}

}  // namespace

extern "C" int fl_infer_matmul(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *a = in[0].t, *b = in[1].t;
    if (check_operands(op, a, b) < 0 || fl_same_device(op, in, n) < 0)
        return -1;
    int64_t shape[FL_MAX_DIMS];
    int nd = 0;
    if ((a->ndim > 2 || b->ndim > 2) &&
        fl_broadcast_shape("matmul", a->ndim > 2 ? a->ndim - 2 : 0, a->shape,
                           b->ndim > 2 ? b->ndim - 2 : 0, b->shape, &nd, shape) < 0)
        return fl_error(FL_RUNTIME_ERROR, "%s: self is %s and other is %s; their batch dimensions, "
                        "all but the last two, must broadcast: sizes equal or one of them 1",
                        fl_op_title(op), fl_shape_text(a->shape, a->ndim),
                        fl_shape_text(b->shape, b->ndim));
    if (a->ndim > 1)
        shape[nd++] = a->shape[a->ndim - 2];
    if (b->ndim > 1)
        shape[nd++] = b->shape[b->ndim - 1];
    fl_spec_set(outs, a->dtype, fl_device_code(a), nd, shape);
    return 0;
}

/* The same with results of half precision as they are summed. */
extern "C" int fl_infer_wide_product(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    if (!fl_is_float(in[0].t->dtype))
        return fl_error(FL_NOT_IMPLEMENTED, "%s: only floating tensors are multiplied, got %s",
                        fl_op_title(op), fl_tensor_text(in[0].t));
    if (fl_infer_matmul(op, in, n, outs) < 0)
        return -1;
    outs->dtype = (uint8_t)fl_dtype_of_kind[fl_kind_of_dtype[outs->dtype]];
    return 0;
}

static int run_matmul(const fl_tensor *a, const fl_tensor *b, fl_tensor *c) {
    Product p;
    int status = 0;
    if (inner_of_a(a) > 0 && plain_pair(a, b, c, &p) && (status = run_plain(&p, c->data)) != 0)
        return status < 0 ? -1 : 0;
    int kind = fl_kind_of_dtype[c->dtype];
    if (kind == FL_K_I64 && inner_of_a(a) > 0)
        return run_integer(a, b, c);
    const bool pairs = inner_of_a(a) > 0 && fl_goes_by_pairs(a, b, inner_of_a(a));
    if (pairs && c->dtype == FL_BF16 && fl_is_contiguous(c))
        return run_pairs(a, b, c->data, true);
    Out out(c, kind);
    if (!out.ok())
        return -1;
    if (inner_of_a(a) == 0)
        memset(out.as<char>(), 0, (size_t)c->numel * fl_kind_size[kind]);
    else if (pairs)
        status = run_pairs(a, b, out.as<char>(), false);
    else
        status = run_float(a, b, out.as<char>());
    if (status == 0)
        out.commit();
    return status;
}

extern "C" int fl_run_matmul(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *a = in[0].t, *b = in[1].t;
    fl_tensor *c = outs[0];
    if (c->numel == 0)
        return 0;
    int status;
    if (b->ndim == 2 && !fl_goes_by_pairs(a, b, inner_of_a(a)) &&
        fl_in_row_blocks(a, c, b->shape[1], &status,
                         [=](fl_tensor *x, fl_tensor *y) { return run_matmul(x, b, y); }))
        return status;
    return run_matmul(a, b, c);
}

extern "C" int fl_run_wide_product(const fl_op *op, const fl_value *in, int n,
                                   fl_tensor *const *outs) {
    return fl_run_matmul(op, in, n, outs);
}
