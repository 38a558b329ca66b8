/* Layers that are one kernel after a look at their shapes, and rms_norm. What the kernel does not
 * take, targets and errors in Python. */
#include "common/compose.h"

/* Whether a shape ends in these sizes. */
static bool ends_in(const fl_tensor *x, const fl_value &sizes) {
    int count = (int)sizes.len;
    return count > 0 && count <= x->ndim &&
           !memcmp(x->shape + x->ndim - count, sizes.is, sizeof(int64_t) * (size_t)count);
}

/* (input, normalized_shape, weight, bias, eps) */
int fl_call_layer_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_short(out, ends_in(in[0].t, in[1])))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out,
                             fl_compose_first(FL_OP_native_layer_norm, in[0],
                                              fl_int_value(in[1].len), in[2], in[3], in[4]));
}

/* (input, num_groups, weight, bias, eps) */
int fl_call_group_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_short(out, true))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out,
                             fl_compose_first(FL_OP_native_group_norm, in[0], in[2], in[3], in[1],
                                              in[4]));
}

/* (input, running_mean, running_var, weight, bias, training, momentum, eps) */
int fl_call_batch_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    bool plain = x->ndim >= 2 &&
                 !(in[5].i && (x->numel == x->shape[1] || !(in[7].d > 0)));
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
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
    if (!power)
        return nullptr;
    Made mean(fl_compose(FL_OP_mean, fl_tensor_value(power), fl_ints_value(dims, count),
                         fl_bool_value(true)));
    if (!mean)
        return nullptr;
    Made above(fl_compose(FL_OP_add, fl_tensor_value(mean), fl_float_value(eps)));
    if (!above)
        return nullptr;
    Made scale(fl_compose(FL_OP_rsqrt, fl_tensor_value(above)));
    return scale ? fl_compose(FL_OP_mul, x, fl_tensor_value(scale)) : nullptr;
}

/* (input, normalized_shape, weight, eps) */
int fl_call_rms_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t, *weight = fl_t(in[2]);
    bool plain = (x->dtype == FL_F32 || x->dtype == FL_F64) && ends_in(x, in[1]) &&
                 (!weight || (weight->dtype == x->dtype && weight->ndim == (int)in[1].len &&
                              ends_in(weight, in[1])));
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    double least = x->dtype == FL_F64 ? 0x1p-52 : 0x1p-23;
    Made scaled(over_root_mean_square(in[0], (int)in[1].len, fl_is_none(in[3]) ? least : in[3].d));
    if (!scaled)
        return -1;
    if (!weight)
        return fl_compose_result(op, in, n, out, scaled.give());
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_mul, fl_tensor_value(scaled), in[2]));
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
