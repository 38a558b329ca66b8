/* Distances and angles between vectors, and losses of them. Norms other than those of one kernel,
 * targets for the result and errors in Python. */
#include "loss/composite_reduction.h"

static bool are_alike(const fl_tensor *a, const fl_tensor *b) {
    return a->dtype == b->dtype && (a->dtype == FL_F32 || a->dtype == FL_F64) && a->ndim > 0 &&
           fl_same_shape(a, b);
}

/* |a - b + eps|_p along the last dimension, which has more than one element. */
static fl_tensor *distance(const fl_value &a, const fl_value &b, double p, double eps, bool keep) {
    static const int64_t last[] = {-1};
    Made gap(fl_compose(FL_OP_sub, a, b));
    if (!gap)
        return nullptr;
    Made shifted(fl_compose(FL_OP_add, fl_tensor_value(gap), fl_float_value(eps)));
    return shifted ? fl_compose(FL_OP_norm_of, fl_tensor_value(shifted), fl_float_value(p),
                                fl_ints_value(last, 1), fl_bool_value(keep)) : nullptr;
}

static bool has_vectors(const fl_tensor *x) {
    return x->shape[x->ndim - 1] > 1;
}

/* (x1, x2, p, eps, keepdim) */
int fl_call_pairwise_distance(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    bool plain = are_alike(in[0].t, in[1].t) && has_vectors(in[0].t) && in[2].d == 2;
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, distance(in[0], in[1], 2, in[3].d, in[4].i));
}

/* Of length 1, or shorter where the length is less than eps. */
static fl_tensor *unit_vectors(const fl_value &x, const int64_t *dim, const fl_value &eps) {
    Made length(fl_compose(FL_OP_norm_of, x, fl_float_value(2), fl_ints_value(dim, 1),
                           fl_bool_value(true)));
    if (!length)
        return nullptr;
    Made divisor(fl_compose(FL_OP_clamp_min, fl_tensor_value(length), eps));
    return divisor ? fl_compose(FL_OP_div, x, fl_tensor_value(divisor)) : nullptr;
}

static fl_tensor *cosines(const fl_value *in) {
    Made first(unit_vectors(in[0], &in[2].i, in[3]));
    if (!first)
        return nullptr;
    Made second(unit_vectors(in[1], &in[2].i, in[3]));
    if (!second)
        return nullptr;
    Made products(fl_compose(FL_OP_mul, fl_tensor_value(first), fl_tensor_value(second)));
    return products ? fl_compose(FL_OP_sum, fl_tensor_value(products), fl_ints_value(&in[2].i, 1))
                    : nullptr;
}

/* (x1, x2, dim, eps) */
int fl_call_cosine_similarity(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_short(out, are_alike(in[0].t, in[1].t)))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, cosines(in));
}

/* ---- margins --------------------------------------------------------------------------------- */

/* max(0, x) */
static fl_tensor *hinge(fl_tensor *x) {
    Made made(x);
    return made ? fl_compose(FL_OP_clamp_min, fl_tensor_value(made), fl_int_value(0)) : nullptr;
}

static fl_tensor *triplets(const fl_value *in) {
    Made near(distance(in[0], in[1], in[4].d, in[5].d, false));
    if (!near)
        return nullptr;
    Made far(distance(in[0], in[2], in[4].d, in[5].d, false));
    if (!far)
        return nullptr;
    Made wide(fl_compose(FL_OP_add, fl_tensor_value(near), in[3]));
    return wide ? hinge(fl_compose(FL_OP_sub, fl_tensor_value(wide), fl_tensor_value(far)))
                : nullptr;
}

/* (anchor, positive, negative, margin, p, eps, swap, size_average, reduce, reduction) */
int fl_call_triplet_margin_loss(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    Reduction reduction = read_reduction(in[9]);
    bool plain = are_alike(in[0].t, in[1].t) && are_alike(in[0].t, in[2].t) && in[3].d > 0 &&
                 !in[6].i && fl_is_none(in[7]) && fl_is_none(in[8]) && reduction != UNKNOWN;
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, reduced(triplets(in), reduction));
}

static fl_tensor *rankings(const fl_value *in) {
    Made gap(fl_compose(FL_OP_sub, in[1], in[0]));
    if (!gap)
        return nullptr;
    Made signed_gap(fl_compose(FL_OP_mul, in[2], fl_tensor_value(gap)));
    return signed_gap ? hinge(fl_compose(FL_OP_add, fl_tensor_value(signed_gap), in[3])) : nullptr;
}

/* (input1, input2, target, margin, size_average, reduce, reduction) */
int fl_call_margin_ranking_loss(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    Reduction reduction = read_reduction(in[6]);
    bool plain = are_alike(in[0].t, in[1].t) && are_alike(in[0].t, in[2].t) &&
                 fl_is_none(in[4]) && fl_is_none(in[5]) && reduction != UNKNOWN;
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, reduced(rankings(in), reduction));
}

static fl_tensor *soft_margins(const fl_value *in) {
    Made score(fl_compose(FL_OP_mul, in[1], in[0]));
    if (!score)
        return nullptr;
    Made log(fl_compose(FL_OP_logsigmoid, fl_tensor_value(score)));
    return log ? fl_compose(FL_OP_neg, fl_tensor_value(log)) : nullptr;
}

/* (input, target, size_average, reduce, reduction) */
int fl_call_soft_margin_loss(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    Reduction reduction = read_reduction(in[4]);
    bool plain = fl_same_shape(in[0].t, in[1].t) && fl_is_none(in[2]) && fl_is_none(in[3]) &&
                 reduction != UNKNOWN;
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, reduced(soft_margins(in), reduction));
}

/* value where the target is not `other`, else 0 */
static fl_tensor *unless(const fl_value &target, int other, const fl_value &value) {
    Made counts(fl_compose(FL_OP_ne, target, fl_int_value(other)));
    return counts ? fl_compose(FL_OP_where, fl_tensor_value(counts), value, fl_int_value(0))
                  : nullptr;
}

static fl_tensor *hinges(const fl_value *in) {
    Made open(hinge(fl_compose(FL_OP_sub, in[2], in[0])));
    if (!open)
        return nullptr;
    Made apart(unless(in[1], 1, fl_tensor_value(open)));
    if (!apart)
        return nullptr;
    Made close(unless(in[1], -1, in[0]));
    return close ? fl_compose(FL_OP_add, fl_tensor_value(apart), fl_tensor_value(close)) : nullptr;
}

/* (input, target, margin, size_average, reduce, reduction) */
int fl_call_hinge_embedding_loss(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    Reduction reduction = read_reduction(in[5]);
    bool plain = fl_same_shape(in[0].t, in[1].t) && fl_is_none(in[3]) && fl_is_none(in[4]) &&
                 reduction != UNKNOWN;
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, reduced(hinges(in), reduction));
}
