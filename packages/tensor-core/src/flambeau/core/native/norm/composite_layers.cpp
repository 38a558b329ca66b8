/* Layers that are one kernel after a look at their shapes, and rms_norm. Rare embeddings and
 * attention with dropout in Python. */
#include "common/one_operator.h"

/* Whether a shape ends in these sizes. */
static bool ends_in(const fl_tensor *x, const fl_value &sizes) {
    int count = (int)sizes.len;
    return count > 0 && count <= x->ndim &&
           !memcmp(x->shape + x->ndim - count, sizes.is, sizeof(int64_t) * (size_t)count);
}

static int check_normalized(const fl_op *op, const fl_tensor *x, const fl_value &sizes) {
    if (FL_LIKELY(ends_in(x, sizes)))
        return 0;
    const char *shape = fl_shape_text(sizes.is, (int)sizes.len);
    fl_error(FL_RUNTIME_ERROR, "%s(): Given normalized_shape=%s, expected input with shape [*, %s, "
             "but got input of size %s", op->name, shape, shape + 1,
             fl_shape_text(x->shape, x->ndim));
    return fl_raise();
}

/* (input, normalized_shape, weight, bias, eps) */
int fl_call_layer_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (check_normalized(op, in[0].t, in[1]) < 0)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_compose_first(FL_OP_native_layer_norm, in[0],
                                              fl_int_value(in[1].len), in[2], in[3], in[4]));
}

/* (input, num_groups, weight, bias, eps) */
int fl_call_group_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    if (x->ndim >= 2 && x->numel > 0 && x->numel == in[1].i) {
        fl_error(FL_VALUE_ERROR, "group_norm(): Expected more than 1 value per channel when "
                 "training, got input size %s in %lld groups: a value alone is its own mean",
                 fl_shape_text(x->shape, x->ndim), (long long)in[1].i);
        return fl_raise();
    }
    return fl_compose_result(op, in, n, out,
                             fl_compose_first(FL_OP_native_group_norm, in[0], in[2], in[3], in[1],
                                              in[4]));
}

static int check_training(const fl_op *op, const fl_tensor *x, double eps) {
    if (x->ndim >= 2 && x->shape[1] > 0 && x->numel == x->shape[1])
        fl_error(FL_VALUE_ERROR, "Expected more than 1 value per channel when training, got input "
                 "size %s", fl_shape_text(x->shape, x->ndim));
    else if (!(eps > 0))
        fl_error(FL_VALUE_ERROR, "%s(): eps must be positive during training, got %g: it keeps a "
                 "channel whose values are all equal from being divided by 0", op->name, eps);
    else
        return 0;
    return fl_raise();
}

/* (input, running_mean, running_var, weight, bias, training, momentum, eps) */
int fl_call_batch_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    if (x->ndim == 1 && x->numel == 0)
        return fl_compose_result(op, in, n, out, fl_compose(FL_OP_clone, in[0]));
    if (in[5].i && check_training(op, x, in[7].d) < 0)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_compose_first(FL_OP_native_batch_norm, in[0], in[3], in[4], in[1],
                                              in[2], in[5], in[6], in[7]));
}

/* x / sqrt(mean(x^2) + eps) over the last dimensions. */
static fl_tensor *over_root_mean_square(const fl_value &x, int count, double eps) {
    int64_t dims[FL_MAX_DIMS];
    for (int i = 0; i < count; i++)
        dims[i] = i - count;
    Made power(fl_compose(FL_OP_mul, x, x));
    Made mean(power ? fl_compose(FL_OP_mean, fl_tensor_value(power), fl_ints_value(dims, count),
                                 fl_bool_value(true)) : nullptr);
    Made above(mean ? fl_compose(FL_OP_add, fl_tensor_value(mean), fl_float_value(eps)) : nullptr);
    Made scale(above ? fl_compose(FL_OP_rsqrt, fl_tensor_value(above)) : nullptr);
    return scale ? fl_compose(FL_OP_mul, x, fl_tensor_value(scale)) : nullptr;
}

static int check_weight(const fl_op *op, const fl_tensor *weight, const fl_value &sizes) {
    if (!weight || (weight->ndim == (int)sizes.len && ends_in(weight, sizes)))
        return 0;
    fl_error(FL_RUNTIME_ERROR, "%s(): Expected weight to be of same shape as normalized_shape, but "
             "got weight of shape %s and normalized_shape=%s", op->name,
             fl_shape_text(weight->shape, weight->ndim),
             fl_shape_text(sizes.is, (int)sizes.len));
    return fl_raise();
}

/* Weights of more precision than the input make the product more precise. */
static bool has_narrow_weight(const fl_tensor *x, const fl_tensor *weight) {
    return !weight || (fl_is_float(weight->dtype) &&
                       (weight->dtype != FL_F64 || x->dtype == FL_F64));
}

/* (input, normalized_shape, weight, eps); half precision is rounded once, at the end. */
int fl_call_rms_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const int dtype = in[0].t->dtype;
    const bool narrow = fl_is_float(dtype) && fl_itemsize(dtype) == 2;
    if (check_normalized(op, in[0].t, in[1]) < 0 || check_weight(op, fl_t(in[2]), in[1]) < 0)
        return -1;
    const double eps = !fl_is_none(in[3])                          ? in[3].d
                       : dtype == FL_F64 || dtype == FL_C128 ? 0x1p-52
                                                             : 0x1p-23;
    if (fl_is_one_operator(in, 3, out) && has_narrow_weight(in[0].t, fl_t(in[2])))
        return fl_compose_result(op, in, n, out,
                                 fl_compose_first(FL_OP_native_rms_norm, in[0],
                                                  fl_int_value(in[1].len), in[2],
                                                  fl_float_value(eps)));
    Made x(narrow ? fl_compose(FL_OP_cast, in[0], fl_dtype_value(FL_F32))
                  : (fl_tensor *)Py_NewRef(in[0].o));
    Made scaled(x ? over_root_mean_square(fl_tensor_value(x), (int)in[1].len, eps)
                  : nullptr);
    if (scaled && fl_t(in[2])) {
        Made weighted(fl_compose(FL_OP_mul, fl_tensor_value(scaled), in[2]));
        scaled.swap(weighted);
    }
    if (!scaled || scaled.get()->dtype == dtype)
        return fl_compose_result(op, in, n, out, scaled.give());
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_cast, fl_tensor_value(scaled), fl_dtype_value(dtype)));
}

/* (input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse) */
int fl_call_embedding(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *weight = in[1].t;
    int64_t rows = weight->ndim ? weight->shape[0] : 0, padding = fl_is_none(in[2]) ? -1 : in[2].i;
    bool plain = fl_is_none(in[3]) && !in[6].i &&
                 (fl_is_none(in[2]) || (padding >= -rows && padding < rows));
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    padding += !fl_is_none(in[2]) && padding < 0 ? rows : 0;
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_embedding_lookup, in[1], in[0], fl_int_value(padding),
                                        in[5]));
}

static bool same_lead(const fl_tensor *a, const fl_tensor *b) {
    return a->ndim == b->ndim && a->ndim >= 2 &&
           !memcmp(a->shape, b->shape, sizeof(int64_t) * (size_t)(a->ndim - 2));
}

/* (query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa) */
int fl_call_scaled_dot_product_attention(const fl_op *op, const fl_value *in, int n,
                                         fl_value *out) {
    bool plain = in[4].d == 0 && !in[7].i && !(in[5].i && !fl_is_none(in[3])) &&
                 same_lead(in[0].t, in[1].t) && same_lead(in[0].t, in[2].t);
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out,
                             fl_compose_first(FL_OP_attention, in[0], in[1], in[2], in[3], in[5],
                                              in[6]));
}
