/* linear: input @ weight.T + bias in one pass over the result. */
#include "matmul/kernels/gemm.h"
#include "matmul/half_blocks.h"
#include "matmul/matrix.h"
#include "matmul/pairs.h"
#include "matmul/integer.h"

namespace {

/* A product input @ weight.T whose rows are all rows of a batched input. */
struct Rows {
    int64_t m, n, k;
    bool pairs;             /* of bfloat16; k counts them */
    bool half_input, half_weight, half_result;      /* of pairs: see fl_gemm_args */
    fl_matrix input, weight;
};

bool input_matrix(const fl_tensor *t, const int64_t *strides, Rows *r) {
    int64_t row;
    return fl_collapse(t->ndim - 1, t->shape, strides, r->k, &row) &&
           fl_as_matrix(r->m, r->k, row, strides[t->ndim - 1], &r->input);
}

bool weight_matrix(const fl_tensor *t, const int64_t *strides, Rows *r) {
    int64_t row = t->ndim > 1 ? strides[0] : r->k;
    return fl_as_matrix(r->k, r->n, strides[t->ndim - 1], row, &r->weight);
}

Rows sizes(const fl_tensor *input, const fl_tensor *weight) {
    Rows r = {};
    r.k = input->shape[input->ndim - 1];
    r.m = fl_numel_of(input->ndim - 1, input->shape);
    r.n = weight->ndim > 1 ? weight->shape[0] : 1;
    return r;
}

int product(const Rows &r, int dtype, const void *input, const void *weight, const void *bias,
            double beta, void *c) {
    fl_gemm_args g = {};
    g.dtype = dtype;
    g.pairs = r.pairs;
    g.a_halves = r.half_input;
    g.b_halves = r.half_weight;
    g.c_half = r.half_result;
    g.trans_a = (uint8_t)r.input.trans;
    g.trans_b = (uint8_t)r.weight.trans;
    g.m = r.m;
    g.n = r.n;
    g.k = r.k;
    g.alpha = 1;
    g.beta = beta;
    g.a = input;
    g.b = weight;
    g.c = c;
    g.lda = r.input.ld;
    g.ldb = r.weight.ld;
    g.ldc = r.n;
    g.bias = bias;
    g.batch = 1;
    return fl_gemm_run(&g);
}

/* The bias, broadcast to n elements, in the compute kind. */
void spread_bias(const fl_tensor *bias, int dtype, int64_t n, void *out) {
    int64_t from = bias->numel == 1 ? 0 : bias->strides[0], to = 1;
    fl_copy_strided(fl_strided{(char *)out, dtype, &to},
                    fl_strided{bias->data, bias->dtype, &from}, 1, &n);
}

/* Every row of c becomes the bias, or zero. */
void fill_rows(const Rows &r, const void *bias, int64_t size, char *c) {
    if (!bias)
        memset(c, 0, (size_t)(r.m * r.n * size));
    for (int64_t i = 0; bias && i < r.m; i++)
        memcpy(c + i * r.n * size, bias, (size_t)(r.n * size));
}

int run_float(Rows r, const fl_tensor *input, const fl_tensor *weight, const void *bias, char *c) {
    ProductInput x(input), w(weight);
    if (!x.ok() || !w.ok())
        return -1;
    if (!input_matrix(input, x.strides, &r) &&
        (!x.copy() || !input_matrix(input, x.strides, &r)))
        return -1;
    if (!weight_matrix(weight, w.strides, &r) &&
        (!w.copy() || !weight_matrix(weight, w.strides, &r)))
        return -1;
    if (!bias || !fl_is_complex(x.dtype))
        return product(r, x.dtype, x.data, w.data, bias, 0, c);
    fill_rows(r, bias, fl_itemsize(x.dtype), c);
    return product(r, x.dtype, x.data, w.data, nullptr, 1, c);
}

/* bfloat16 by pairs along k. */
int run_pairs(Rows r, const fl_tensor *input, const fl_tensor *weight, const void *bias, char *c) {
    r.pairs = true;
    r.k /= 2;
    const bool takes_halves = fl_gemm_takes_halves(r.m, r.n, r.k);
    PairsIn x(input, input->ndim - 1, takes_halves), w(weight, 1, takes_halves);
    if (!x.ok() || !w.ok())
        return -1;
    if (!input_matrix(input, x.strides, &r) && (!x.copy() || !input_matrix(input, x.strides, &r)))
        return -1;
    if (!weight_matrix(weight, w.strides, &r) &&
        (!w.copy() || !weight_matrix(weight, w.strides, &r)))
        return -1;
    r.half_input = x.halves;
    r.half_weight = w.halves;
    return product(r, FL_F32, x.data, w.data, bias, 0, c);
}

int run_integer(const Rows &r, const fl_tensor *input, const fl_tensor *weight,
                const fl_tensor *bias, fl_tensor *c) {
    int dtype = c->dtype, wide = fl_integer_dtype(dtype);
    fl_integer_matrix x = {(const char *)input->data, r.k, input->strides[input->ndim - 1]};
    bool even = fl_collapse(input->ndim - 1, input->shape, input->strides, r.k, &x.row);
    int64_t size = fl_itemsize(dtype), contiguous[FL_MAX_DIMS];
    Scratch tight(even ? 0 : fl_bytes(input->numel, (size_t)size));
    Scratch row(bias ? fl_bytes(r.n, (size_t)fl_itemsize(wide)) : 0);
    WholeOut out(c);
    if (!tight.ok() || !row.ok() || !out.ok())
        return -1;
    if (!even) {
        fl_contiguous_strides(input->ndim, input->shape, contiguous);
        fl_copy_strided(fl_strided{tight.as<char>(), dtype, contiguous},
                        fl_strided{(char *)input->data, dtype, input->strides}, input->ndim,
                        input->shape);
        x = fl_integer_matrix{tight.as<char>(), r.k, 1};
    }
    if (bias)
        spread_bias(bias, wide, r.n, row.as<char>());
    int64_t step = weight->ndim > 1 ? weight->strides[0] : r.k;
    fl_integer_matrix w = {(const char *)weight->data, weight->strides[weight->ndim - 1], step};
    if (fl_integer_multiply(dtype, r.m, r.n, r.k, x, w, bias ? row.as<char>() : nullptr,
                          out.data()) < 0)
        return -1;
    out.commit();
    return 0;
}

/* Everything contiguous in a dtype the product computes in. */
bool plain(const fl_tensor *input, const fl_tensor *weight, const fl_tensor *bias,
           const fl_tensor *out, Rows *r) {
    return (input->dtype == FL_F32 || input->dtype == FL_F64) && fl_is_contiguous(out) &&
           (!bias || (bias->numel == r->n && fl_is_contiguous(bias))) &&
           input_matrix(input, input->strides, r) && weight_matrix(weight, weight->strides, r);
}

/* A small product, in whatever order they lie. */
bool run_small(const Rows &r, const fl_tensor *input, const fl_tensor *weight,
               const fl_tensor *bias,
             const fl_tensor *out) {
    int dtype = input->dtype;
    fl_gemm_block g = {};
    if ((dtype != FL_F32 && dtype != FL_F64) || !fl_is_contiguous(out) ||
        !fl_collapse(input->ndim - 1, input->shape, input->strides, r.k, &g.a_row))
        return false;
    g.m = r.m;
    g.n = r.n;
    g.k = r.k;
    g.a = input->data;
    g.b = weight->data;
    g.c = out->data;
    g.a_col = input->strides[input->ndim - 1];
    g.b_row = weight->strides[weight->ndim - 1];
    g.b_col = weight->ndim > 1 ? weight->strides[0] : r.k;
    g.c_row = r.n;
    g.c_col = 1;
    g.alpha = 1;
    g.bias = bias ? bias->data : nullptr;
    g.bias_col = bias && bias->numel > 1 ? bias->strides[0] : 0;
    return fl_gemm_small(dtype == FL_F64, &g);
}

int check_dtypes(const fl_op *op, const fl_tensor *input, const fl_tensor *weight,
                 const fl_tensor *bias) {
    bool equal = weight->dtype == input->dtype && (!bias || bias->dtype == input->dtype);
    if (!equal)
        return fl_error(FL_RUNTIME_ERROR, "%s: input, weight and bias must have the same dtype, "
                        "but input is %s, weight %s%s%s; convert one, as in input.to(weight.dtype)",
                        fl_op_title(op), fl_dtype_name(input->dtype), fl_dtype_name(weight->dtype),
                        bias ? " and bias " : "", bias ? fl_dtype_name(bias->dtype) : "");
    if (!fl_has_product(input->dtype))
        return fl_error(FL_NOT_IMPLEMENTED, "%s: not defined for %s; convert to an integer or "
                        "floating dtype first", fl_op_title(op), fl_dtype_name(input->dtype));
    return 0;
}

int check_shapes(const fl_op *op, const fl_tensor *input, const fl_tensor *weight,
                 const fl_tensor *bias) {
    if (weight->ndim != 1 && weight->ndim != 2)
        return fl_error(FL_RUNTIME_ERROR, "%s: weight has shape %s; it must be [out_features, "
                        "in_features], or [in_features] for a single output", fl_op_title(op),
                        fl_shape_text(weight->shape, weight->ndim));
    if (input->ndim == 0 ||
        input->shape[input->ndim - 1] != weight->shape[weight->ndim - 1])
        return fl_error(FL_RUNTIME_ERROR, "%s: input is %s and weight is %s; the last dimension of "
                        "input must equal the last of weight (%lld)", fl_op_title(op),
                        fl_shape_text(input->shape, input->ndim),
                        fl_shape_text(weight->shape, weight->ndim),
                        (long long)weight->shape[weight->ndim - 1]);
    int64_t n = weight->ndim > 1 ? weight->shape[0] : 1;
    if (bias && (bias->ndim > 1 || (bias->numel != n && bias->numel != 1)))
        return fl_error(FL_RUNTIME_ERROR, "%s: bias has shape %s; for a weight of shape %s it must "
                        "be [%lld]", fl_op_title(op), fl_shape_text(bias->shape, bias->ndim),
                        fl_shape_text(weight->shape, weight->ndim), (long long)n);
    return 0;
}

}  // namespace

extern "C" int fl_infer_linear(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *input = in[0].t, *weight = in[1].t, *bias = fl_t(in[2]);
    if (check_dtypes(op, input, weight, bias) < 0 || check_shapes(op, input, weight, bias) < 0 ||
        fl_same_device(op, in, n) < 0)
        return -1;
    int64_t shape[FL_MAX_DIMS];
    int nd = input->ndim - 1;
    memcpy(shape, input->shape, sizeof(int64_t) * (size_t)nd);
    if (weight->ndim > 1)
        shape[nd++] = weight->shape[0];
    fl_spec_set(outs, input->dtype, fl_device_code(input), nd, shape);
    return 0;
}

static int run_linear(const fl_tensor *input, const fl_tensor *weight, const fl_tensor *bias,
                      fl_tensor *c) {
    Rows r = sizes(input, weight);
    if (r.k > 0 && run_small(r, input, weight, bias, c))
        return 0;
    if (r.k > 0 && plain(input, weight, bias, c, &r))
        return product(r, input->dtype, input->data, weight->data, bias ? bias->data : nullptr, 0,
                       c->data);
    int kind = fl_kind_of_dtype[c->dtype];
    if (kind == FL_K_I64 && r.k > 0)
        return run_integer(r, input, weight, bias, c);
    int64_t size = fl_kind_size[kind];
    Scratch row(bias ? (size_t)(r.n * size) : 0);
    if (!row.ok())
        return -1;
    if (bias)
        spread_bias(bias, fl_dtype_of_kind[kind], r.n, row.as<char>());
    const void *b = bias ? row.as<char>() : nullptr;
    const bool pairs = r.k > 0 && fl_goes_by_pairs(input, weight, r.k);
    r.half_result = pairs && c->dtype == FL_BF16 && fl_is_contiguous(c);
    if (r.half_result)
        return run_pairs(r, input, weight, b, c->data);
    Out out(c, kind);
    if (!out.ok())
        return -1;
    int status = 0;
    if (r.k == 0)
        fill_rows(r, b, size, out.as<char>());
    else if (pairs)
        status = run_pairs(r, input, weight, b, out.as<char>());
    else
        status = run_float(r, input, weight, b, out.as<char>());
    if (status == 0)
        out.commit();
    return status;
}

extern "C" int fl_run_linear(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *input = in[0].t, *weight = in[1].t, *bias = fl_t(in[2]);
    fl_tensor *c = outs[0];
    if (c->numel == 0)
        return 0;
    int status;
    if (weight->ndim > 1 && !fl_goes_by_pairs(input, weight, input->shape[input->ndim - 1]) &&
        fl_in_row_blocks(input, c, weight->shape[0], &status, [=](fl_tensor *x, fl_tensor *y) {
            return run_linear(x, weight, bias, y);
        }))
        return status;
    return run_linear(input, weight, bias, c);
}
