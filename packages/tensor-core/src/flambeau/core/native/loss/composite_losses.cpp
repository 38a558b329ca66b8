/* Losses without weights, of the names of reduction that PyTorch has today. Weights, older
 * arguments, targets for the result and errors in Python. */
#include "common/one_operator.h"
#include "loss/composite_reduction.h"

/* ---- terms of two tensors of one shape ------------------------------------------------------- */

static fl_tensor *of_difference(int row, const fl_value *in) {
    Made gap(fl_compose(FL_OP_sub, in[0], in[1]));
    return gap ? fl_compose(row, fl_tensor_value(gap)) : nullptr;
}

/* (input, target, size_average, reduce, reduction, weight) */
static int loss_of_difference(const fl_op *op, const fl_value *in, int n, fl_value *out, int row) {
    Reduction reduction = read_reduction(in[4]);
    bool plain = are_none(in[2], in[3], in[5]) && reduction != UNKNOWN &&
                 fl_same_shape(in[0].t, in[1].t);
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, reduced(of_difference(row, in), reduction));
}

int fl_call_mse_loss(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return loss_of_difference(op, in, n, out, FL_OP_square);
}

int fl_call_l1_loss(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return loss_of_difference(op, in, n, out, FL_OP_abs);
}

/* (input, target, size_average, reduce, reduction, beta) */
int fl_call_smooth_l1_loss(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    Reduction reduction = read_reduction(in[4]);
    bool plain = fl_is_none(in[2]) && fl_is_none(in[3]) && reduction != UNKNOWN && in[5].d > 0 &&
                 fl_same_shape(in[0].t, in[1].t);
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    Made terms(fl_compose(FL_OP_huber_terms, in[0], in[1], in[5]));
    if (!terms)
        return -1;
    if (in[5].d == 1)
        return fl_compose_result(op, in, n, out, reduced(terms.give(), reduction));
    return fl_compose_result(op, in, n, out,
                             reduced(fl_compose(FL_OP_div, fl_tensor_value(terms), in[5]),
                                     reduction));
}

/* (input, target, reduction, delta, weight) */
int fl_call_huber_loss(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    Reduction reduction = read_reduction(in[2]);
    bool plain = fl_is_none(in[4]) && reduction != UNKNOWN && in[3].d > 0 &&
                 fl_same_shape(in[0].t, in[1].t);
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out,
                             reduced(fl_compose(FL_OP_huber_terms, in[0], in[1], in[3]),
                                     reduction));
}

/* (1 - target) * input - logsigmoid(input) */
static fl_tensor *terms_of_scores(const fl_value *in) {
    Made against(fl_compose(FL_OP_sub, fl_int_value(1), in[1]));
    if (!against)
        return nullptr;
    Made product(fl_compose(FL_OP_mul, fl_tensor_value(against), in[0]));
    if (!product)
        return nullptr;
    Made log_sigmoid(fl_compose(FL_OP_logsigmoid, in[0]));
    return log_sigmoid ? fl_compose(FL_OP_sub, fl_tensor_value(product),
                                    fl_tensor_value(log_sigmoid)) : nullptr;
}

/* (input, target, weight, size_average, reduce, reduction, pos_weight) */
int fl_call_binary_cross_entropy_with_logits(const fl_op *op, const fl_value *in, int n,
                                             fl_value *out) {
    Reduction reduction = read_reduction(in[5]);
    bool plain = are_none(in[2], in[3], in[4]) && fl_is_none(in[6]) && reduction != UNKNOWN &&
                 fl_same_shape(in[0].t, in[1].t);
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, reduced(terms_of_scores(in), reduction));
}

/* ---- classes --------------------------------------------------------------------------------- */

static fl_tensor *of_rows(const fl_value &scores, const fl_value *in, Reduction reduction) {
    return fl_compose_first(FL_OP_nll_loss_rows, scores, in[1], in[2], fl_int_value(reduction),
                            in[4]);
}

/* (input, target, weight, size_average, ignore_index, reduce, reduction, ...) */
static bool has_numbers(const fl_value *in) {
    int dtype = in[1].t->dtype;
    return fl_is_none(in[3]) && fl_is_none(in[5]) && read_reduction(in[6]) != UNKNOWN &&
           (dtype == FL_I64 || dtype == FL_I32) && in[0].t->ndim >= 1;
}

/* One row per class number. */
static bool has_rows(const fl_value *in) { return has_numbers(in) && in[0].t->ndim <= 2; }

int fl_call_nll_loss(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_short(out, has_numbers(in)))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, of_rows(in[0], in, read_reduction(in[6])));
}

/* Whether no gradient is asked for, and nobody watches: then of the log-probabilities only those of
 * the targets are computed. */
static bool needs_targets_alone(const fl_value *in) {
    const fl_tensor *x = in[0].t, *target = in[1].t, *all[] = {x, target, fl_t(in[2])};
    const fl_thread_state &T = fl_thread;
    if (x->ndim != 2 || x->numel == 0 || !fl_is_float(x->dtype) || target->ndim != 1 ||
        target->numel != x->shape[0] || T.level < T.watchers)
        return false;
    for (const fl_tensor *t : all)
        if (t && (t->device_type != FL_CPU || t->flags >> FL_LEVEL_SHIFT ||
                  ((T.mode & FL_M_GRAD) && fl_requires_grad(t))))
            return false;
    return true;
}

static fl_tensor *of_targets(const fl_value *in) {
    const fl_tensor *x = in[0].t;
    Made picked(fl_compose(FL_OP_log_softmax_at, in[0], fl_int_value(1), in[1]));
    Made all(picked ? fl_compose(FL_OP_expand, fl_tensor_value(picked), fl_ints_value(x->shape, 2))
                    : nullptr);
    return all ? of_rows(fl_tensor_value(all), in, read_reduction(in[6])) : nullptr;
}

int fl_call_cross_entropy(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (fl_is_one_operator(in, 3, out) && has_numbers(in) && in[7].d >= 0 && in[7].d <= 1)
        return fl_compose_result(op, in, n, out,
                                 fl_compose_first(FL_OP_cross_entropy_rows, in[0], in[1], in[2],
                                                  fl_int_value(read_reduction(in[6])), in[4],
                                                  in[7]));
    if (!fl_is_short(out, has_rows(in) && in[7].d == 0))
        return fl_call_composite(op, in, n, out);
    if (needs_targets_alone(in))
        return fl_compose_result(op, in, n, out, of_targets(in));
    Made scores(fl_compose(FL_OP_log_softmax, in[0], fl_int_value(in[0].t->ndim - 1)));
    if (!scores)
        return -1;
    return fl_compose_result(op, in, n, out,
                             of_rows(fl_tensor_value(scores), in, read_reduction(in[6])));
}

/* ---- scores of classes ----------------------------------------------------------------------- */

/* max(0, margin - x[target] + x)^p of all classes but the target's, by row. */
static fl_tensor *margin_terms(const fl_value *in) {
    const fl_tensor *x = in[0].t;
    const int64_t column[] = {x->shape[0], 1}, classes = 1;
    const fl_value dim = fl_int_value(1);
    Made index(fl_compose(FL_OP_reshape, in[1], fl_ints_value(column, 2)));
    Made own(index ? fl_compose(FL_OP_gather, in[0], dim, fl_tensor_value(index)) : nullptr);
    Made wider(own ? fl_compose(FL_OP_add, in[0], in[3]) : nullptr);
    Made excess(wider ? fl_compose(FL_OP_sub, fl_tensor_value(wider), fl_tensor_value(own))
                      : nullptr);
    Made hinge(excess ? fl_compose(FL_OP_relu, fl_tensor_value(excess)) : nullptr);
    Made power(hinge && in[2].i == 2 ? fl_compose(FL_OP_square, fl_tensor_value(hinge)) : nullptr);
    if (!hinge || (in[2].i == 2 && !power))
        return nullptr;
    Made others(fl_compose(FL_OP_scatter__value, fl_tensor_value(in[2].i == 2 ? power : hinge), dim,
                           fl_tensor_value(index), fl_int_value(0)));
    return others ? fl_compose(FL_OP_mean, fl_tensor_value(others), fl_ints_value(&classes, 1))
                  : nullptr;
}

/* (input, target, p, margin, weight, size_average, reduce, reduction) */
int fl_call_multi_margin_loss(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t, *target = in[1].t;
    Reduction reduction = read_reduction(in[7]);
    bool plain = are_none(in[4], in[5], in[6]) && reduction != UNKNOWN &&
                 (in[2].i == 1 || in[2].i == 2) && fl_is_float(x->dtype) && x->ndim == 2 &&
                 x->numel > 0 && target->dtype == FL_I64 && target->ndim == 1 &&
                 target->numel == x->shape[0];
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, reduced(margin_terms(in), reduction));
}
