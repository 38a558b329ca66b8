/* Elements in another order, or more than once. */
#include "common/compose.h"

/* ---- dimensions ------------------------------------------------------------------------------ */

static bool wrap(int64_t dim, int ndim, int *wrapped) {
    *wrapped = (int)(dim < 0 ? dim + ndim : dim);
    return *wrapped >= 0 && *wrapped < ndim;
}

/* The order of dimensions that moves some to other places; false where it is an error. */
static bool moved_order(const fl_tensor *x, const fl_value *in, int64_t *order) {
    const fl_value &from = in[1], &to = in[2];
    bool taken[FL_MAX_DIMS] = {};
    if (from.len != to.len)
        return false;
    for (int i = 0; i < x->ndim; i++)
        order[i] = -1;
    for (uint32_t i = 0; i < from.len; i++) {
        int source, place;
        if (!wrap(from.is[i], x->ndim, &source) || !wrap(to.is[i], x->ndim, &place) ||
            taken[source] || order[place] >= 0)
            return false;
        taken[source] = true;
        order[place] = source;
    }
    for (int i = 0, next = 0; i < x->ndim; i++) {
        if (order[i] >= 0)
            continue;
        while (taken[next])
            next++;
        order[i] = next++;
    }
    return true;
}

int fl_call_movedim(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int64_t order[FL_MAX_DIMS];
    if (!fl_is_short(out, moved_order(in[0].t, in, order)))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_permute, in[0], fl_ints_value(order, in[0].t->ndim)));
}

/* The shape with a dimension split into sizes, of which one may be -1. */
static bool split_shape(const fl_tensor *x, int dim, const fl_value &sizes, int64_t *shape) {
    int count = (int)sizes.len, at = 0;
    int64_t known = 1, total = 1;
    if (x->ndim + count - 1 > FL_MAX_DIMS)
        return false;
    for (int i = 0; i < count; i++)
        known = fl_wrapping_mul(known, sizes.is[i] == -1 ? 1 : sizes.is[i]);
    for (int i = 0; i < dim; i++)
        shape[at++] = x->shape[i];
    for (int i = 0; i < count; i++, at++) {
        shape[at] = sizes.is[i] == -1 && known > 0 ? x->shape[dim] / known : sizes.is[i];
        total = fl_wrapping_mul(total, shape[at]);
        if (shape[at] < 0)
            return false;
    }
    for (int i = dim + 1; i < x->ndim; i++)
        shape[at++] = x->shape[i];
    return count > 0 && total == x->shape[dim];
}

int fl_call_unflatten(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    int64_t shape[FL_MAX_DIMS];
    int dim;
    if (!fl_is_short(out, wrap(in[1].i, x->ndim, &dim) && split_shape(x, dim, in[2], shape)))
        return fl_call_composite(op, in, n, out);
    fl_value wanted = fl_ints_value(shape, x->ndim + (int)in[2].len - 1);
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_view, in[0], wanted));
}

/* ---- repeated and summed --------------------------------------------------------------------- */

int fl_call_broadcast_to(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_expand, in[0], in[1]));
}

/* Every dimension gets one before it, which is expanded; the copy of that has the right order. */
static fl_tensor *repeated(const fl_value &x, const int64_t *repeats, int count) {
    int64_t apart[FL_MAX_DIMS], wide[FL_MAX_DIMS], merged[FL_MAX_DIMS];
    int pad = count - x.t->ndim;
    for (int i = 0; i < count; i++) {
        int64_t size = i < pad ? 1 : x.t->shape[i - pad];
        apart[2 * i] = 1;
        wide[2 * i] = repeats[i];
        apart[2 * i + 1] = wide[2 * i + 1] = size;
        merged[i] = fl_wrapping_mul(repeats[i], size);
    }
    Made spread(fl_compose(FL_OP_reshape, x, fl_ints_value(apart, 2 * count)));
    if (!spread)
        return nullptr;
    Made all(fl_compose(FL_OP_expand, fl_tensor_value(spread), fl_ints_value(wide, 2 * count)));
    if (!all)
        return nullptr;
    Made copy(fl_compose(FL_OP_contiguous_copy, fl_tensor_value(all)));
    return copy ? fl_compose(FL_OP_view, fl_tensor_value(copy), fl_ints_value(merged, count))
                : nullptr;
}

static bool can_repeat(const fl_value &repeats) {
    for (uint32_t i = 0; i < repeats.len; i++)
        if (repeats.is[i] < 0)
            return false;
    return 2 * repeats.len <= FL_MAX_DIMS;
}

int fl_call_repeat(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    bool plain = can_repeat(in[1]) && (int)in[1].len >= in[0].t->ndim;
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, repeated(in[0], in[1].is, (int)in[1].len));
}

int fl_call_tile(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int64_t repeats[FL_MAX_DIMS];
    int given = (int)in[1].len, pad = in[0].t->ndim > given ? in[0].t->ndim - given : 0;
    if (!fl_is_short(out, can_repeat(in[1]) && 2 * (pad + given) <= FL_MAX_DIMS))
        return fl_call_composite(op, in, n, out);
    for (int i = 0; i < pad + given; i++)
        repeats[i] = i < pad ? 1 : in[1].is[i - pad];
    return fl_compose_result(op, in, n, out, repeated(in[0], repeats, pad + given));
}

/* The dimensions that broadcasting from a size would repeat, or -1 where it does not broadcast. */
static int summed_dims(const fl_tensor *x, const fl_value &size, int64_t *dims) {
    int extra = x->ndim - (int)size.len, count = 0;
    if (extra < 0)
        return -1;
    for (int i = 0; i < x->ndim; i++) {
        int64_t wanted = i < extra ? 1 : size.is[i - extra];
        if (wanted != 1 && wanted != x->shape[i])
            return -1;
        if (i < extra || (wanted == 1 && x->shape[i] != 1))
            dims[count++] = i;
    }
    return count;
}

int fl_call_sum_to_size(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int64_t dims[FL_MAX_DIMS];
    int count = summed_dims(in[0].t, in[1], dims);
    if (!fl_is_short(out, count > 0 && in[1].len > 0))
        return fl_call_composite(op, in, n, out);
    Made sum(fl_compose(FL_OP_sum, in[0], fl_ints_value(dims, count), fl_bool_value(true)));
    if (!sum)
        return -1;
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_view, fl_tensor_value(sum), in[1]));
}

/* ---- complex numbers ------------------------------------------------------------------------- */

static bool are_parts(const fl_tensor *a, const fl_tensor *b) {
    return a->dtype == b->dtype && (a->dtype == FL_F32 || a->dtype == FL_F64) &&
           fl_same_shape(a, b);
}

static fl_tensor *joined(fl_tensor *real, fl_tensor *imag) {
    fl_tensor *parts[] = {real, imag};
    Made pairs(fl_compose(FL_OP_stack, fl_tensors_value(parts, 2), fl_int_value(-1)));
    return pairs ? fl_compose(FL_OP_view_as_complex, fl_tensor_value(pairs)) : nullptr;
}

int fl_call_complex(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_short(out, are_parts(in[0].t, in[1].t)))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, joined(in[0].t, in[1].t));
}

static fl_tensor *turned(const fl_value *in, int row) {
    Made part(fl_compose(row, in[1]));
    return part ? fl_compose(FL_OP_mul, in[0], fl_tensor_value(part)) : nullptr;
}

int fl_call_polar(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_short(out, are_parts(in[0].t, in[1].t)))
        return fl_call_composite(op, in, n, out);
    Made real(turned(in, FL_OP_cos));
    if (!real)
        return -1;
    Made imag(turned(in, FL_OP_sin));
    return imag ? fl_compose_result(op, in, n, out, joined(real.get(), imag.get())) : -1;
}
