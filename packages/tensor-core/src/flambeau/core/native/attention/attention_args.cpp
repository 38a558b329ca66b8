/* Arguments and operands of attention: see attention.h. */
#include "attention/attention.h"
#include <math.h>

/* ---- checks ---------------------------------------------------------------------------------- */

static int check_dtypes(const fl_op *op, const fl_tensor *q, const fl_tensor *k,
                        const fl_tensor *v) {
    if (q->dtype != k->dtype || q->dtype != v->dtype)
        return fl_error(FL_RUNTIME_ERROR, "%s: expected query, key and value to have the same "
                        "dtype, but they are %s, %s and %s; convert them with .to()",
                        fl_op_title(op), fl_dtype_name(q->dtype), fl_dtype_name(k->dtype),
                        fl_dtype_name(v->dtype));
    if (!fl_is_float(q->dtype))
        return fl_error(FL_RUNTIME_ERROR, "%s: query, key and value are %s; they must be floating",
                        fl_op_title(op), fl_dtype_name(q->dtype));
    return 0;
}

static int shape_error(const fl_op *op, const fl_tensor *q, const fl_tensor *k,
                       const fl_tensor *v, const char *rule) {
    return fl_error(FL_RUNTIME_ERROR, "%s: query is %s, key is %s and value is %s; %s",
                    fl_op_title(op), fl_shape_text(q->shape, q->ndim),
                    fl_shape_text(k->shape, k->ndim), fl_shape_text(v->shape, v->ndim), rule);
}

static int check_shapes(const fl_op *op, const fl_tensor *q, const fl_tensor *k,
                        const fl_tensor *v) {
    int nd = q->ndim;
    if (nd < 2 || k->ndim != nd || v->ndim != nd)
        return shape_error(op, q, k, v, "each must be [..., length, features], all with the same "
                           "number of dimensions");
    for (int i = 0; i < nd - 2; i++)
        if (q->shape[i] != k->shape[i] || q->shape[i] != v->shape[i])
            return shape_error(op, q, k, v, "the leading dimensions must be equal; use expand() "
                               "on the smaller ones");
    if (q->shape[nd - 1] != k->shape[nd - 1])
        return shape_error(op, q, k, v, "query and key must have the same last dimension");
    if (k->shape[nd - 2] != v->shape[nd - 2])
        return shape_error(op, q, k, v, "key and value must have the same length (second-last "
                           "dimension)");
    return 0;
}

static int check_mask(const fl_op *op, const fl_tensor *q, const fl_tensor *k,
                      const fl_tensor *mask) {
    if (mask->dtype != FL_BOOL && mask->dtype != q->dtype)
        return fl_error(FL_RUNTIME_ERROR, "%s: attn_mask is %s; it must be bool (True takes part) "
                        "or of the query's dtype, %s (added to the scores)", fl_op_title(op),
                        fl_dtype_name(mask->dtype), fl_dtype_name(q->dtype));
    int64_t scores[FL_MAX_DIMS];
    int nd = q->ndim;
    memcpy(scores, q->shape, sizeof(int64_t) * (size_t)(nd - 1));
    scores[nd - 1] = k->shape[nd - 2];
    bool fits = mask->ndim <= nd;
    for (int i = 1; fits && i <= mask->ndim; i++)
        fits = mask->shape[mask->ndim - i] == 1 || mask->shape[mask->ndim - i] == scores[nd - i];
    if (fits)
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: attn_mask has shape %s, which does not broadcast to the "
                    "scores' shape %s", fl_op_title(op), fl_shape_text(mask->shape, mask->ndim),
                    fl_shape_text(scores, nd));
}

int fl_attention_read(const fl_op *op, const fl_tensor *q, const fl_tensor *k, const fl_tensor *v,
                      const fl_value &mask, const fl_value &causal, const fl_value &scale,
                      fl_attention *a) {
    if (check_dtypes(op, q, k, v) < 0 || check_shapes(op, q, k, v) < 0)
        return -1;
    if (fl_t(mask) && check_mask(op, q, k, mask.t) < 0)
        return -1;
    if (fl_t(mask) && causal.i)
        return fl_error(FL_RUNTIME_ERROR, "%s: give either attn_mask or is_causal=True, not both; "
                        "combine them into one mask with tril()", fl_op_title(op));
    int nd = q->ndim;
    a->nlead = nd - 2;
    a->lead = q->shape;
    a->heads = fl_numel_of(nd - 2, q->shape);
    a->queries = q->shape[nd - 2];
    a->keys = k->shape[nd - 2];
    a->dim = q->shape[nd - 1];
    a->value_dim = v->shape[nd - 1];
    a->causal = causal.i != 0;
    a->scale = fl_is_none(scale) ? 1 / sqrt((double)(a->dim ? a->dim : 1)) : fl_as_double(scale);
    return 0;
}

/* ---- operands -------------------------------------------------------------------------------- */

fl_heads fl_heads_of(const fl_attention &a, const void *data, int dtype, const int64_t *strides) {
    fl_heads h = {};
    h.data = (char *)const_cast<void *>(data);
    h.size = fl_itemsize(dtype);
    memcpy(h.lead, strides, sizeof(int64_t) * (size_t)a.nlead);
    h.row = strides[a.nlead];
    h.col = strides[a.nlead + 1];
    return h;
}

AttentionMask::AttentionMask(const fl_attention &a, const fl_tensor *mask, int kind) {
    if (!mask)
        return;
    kind_ = mask->dtype == FL_BOOL ? FL_MASK_BOOL : FL_MASK_ADD;
    int stored = kind_ == FL_MASK_BOOL ? FL_K_BOOL : kind;
    input_.emplace(mask, stored);
    int64_t own[FL_MAX_DIMS], strides[FL_MAX_DIMS];
    fl_contiguous_strides(mask->ndim, mask->shape, own);
    int nd = a.nlead + 2, pad = nd - mask->ndim;
    for (int i = 0; i < nd; i++)
        strides[i] = i >= pad && mask->shape[i - pad] != 1 ? own[i - pad] : 0;
    heads_ = fl_heads_of(a, input_->as<char>(), fl_dtype_of_kind[stored], strides);
}

fl_mask AttentionMask::part(const fl_attention &a, int64_t head, int64_t query,
                            int64_t key) const {
    if (kind_ == FL_MASK_NONE)
        return fl_mask{nullptr, 0, 0, FL_MASK_NONE};
    return fl_mask{heads_.at(a, head, query) + key * heads_.col * heads_.size, heads_.row,
                   heads_.col, kind_};
}

AttentionOut::AttentionOut(const fl_attention &a, fl_tensor *t, int kind)
    : t_(t), dtype_(fl_dtype_of_kind[kind]) {
    if (t->dtype == dtype_) {
        heads = fl_heads_of(a, t->data, dtype_, t->strides);
        return;
    }
    scratch_.emplace(fl_bytes(t->numel, fl_kind_size[kind]));
    fl_contiguous_strides(t->ndim, t->shape, strides_);
    heads = fl_heads_of(a, scratch_->as<char>(), dtype_, strides_);
}

void AttentionOut::commit() {
    if (scratch_)
        fl_copy_strided(fl_strided{t_->data, t_->dtype, t_->strides},
                        fl_strided{heads.data, dtype_, strides_}, t_->ndim, t_->shape);
}

void fl_attention_layout(const fl_tensor *like, int ndim, const int64_t *shape, fl_spec *out) {
    fl_spec_set(out, like->dtype, fl_device_code(like), ndim, shape);
    int order[FL_MAX_DIMS];
    bool sorted = true, repeats = false;
    for (int i = 0; i < ndim - 1; i++) {
        int j = i;
        repeats |= like->strides[i] == 0 && like->shape[i] > 1;
        for (; j > 0 && like->strides[order[j - 1]] < like->strides[i]; j--) {
            order[j] = order[j - 1];
            sorted = false;
        }
        order[j] = i;
    }
    if (sorted || repeats || like->strides[ndim - 1] != 1 || fl_numel_of(ndim, shape) == 0)
        return;
    out->layout = FL_L_STRIDED;
    out->strides[ndim - 1] = 1;
    int64_t step = shape[ndim - 1];
    for (int i = ndim - 2; i >= 0; i--) {
        out->strides[order[i]] = step;
        step *= shape[order[i]];
    }
}

/* ---- tools ----------------------------------------------------------------------------------- */

extern "C" {
FL_LEVELS(fl_gemm_kernels);
}

fl_attention_tools::fl_attention_tools(int kind)
    : size(fl_kind_size[kind]), is_double(kind == FL_K_F64) {
    const fl_attention_kernels *own = FL_PICK(fl_attention_kernels);
    const fl_gemm_kernels *gemm = FL_PICK(fl_gemm_kernels);
    block = is_double ? &own->f64 : &own->f32;
    product = is_double ? &gemm->f64 : &gemm->f32;
}

int64_t fl_attention_tools::product_bytes(int64_t rows) const {
    fl_gemm_block g = {};
    g.m = rows;
    return product->scratch_bytes(&g);
}

void fl_attention_tools::pack(void *out, int64_t out_row, const fl_heads &from, const void *data,
                              int64_t rows, int64_t cols) const {
    const fl_transpose_kernels *kernels = FL_PICK(fl_transpose_kernels);
    if (is_double)
        kernels->f64((double *)out, out_row, (const double *)data, from.col, from.row, cols, rows);
    else
        kernels->f32((float *)out, out_row, (const float *)data, from.col, from.row, cols, rows);
}

void fl_attention_product(const fl_attention_tools &tools, int64_t m, int64_t n, int64_t k,
                          fl_attention_matrix a, fl_attention_matrix b, fl_attention_matrix c,
                          double beta, void *scratch, bool dot) {
    fl_gemm_block g = {};
    g.m = m;
    g.n = n;
    g.k = k;
    g.a = a.data;
    g.b = b.data;
    g.c = const_cast<void *>(c.data);
    g.a_row = a.row;
    g.a_col = a.col;
    g.b_row = b.row;
    g.b_col = b.col;
    g.c_row = c.row;
    g.c_col = c.col;
    g.alpha = 1;
    g.beta = beta;
    g.dot = dot;
    g.scratch = scratch;
    tools.product->block(&g);
}
