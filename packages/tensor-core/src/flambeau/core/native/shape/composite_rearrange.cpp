/* Elements in another order, or more than once. */
#include "common/compose.h"

/* ---- dimensions ------------------------------------------------------------------------------ */

/* The order of dimensions that moves some to other indices. */
static int moved_order(const fl_op *op, const fl_tensor *x, const fl_value *in, int64_t *order) {
    const fl_value &from = in[1], &to = in[2];
    bool taken[FL_MAX_DIMS] = {};
    if (from.len != to.len)
        return fl_error(FL_RUNTIME_ERROR, "movedim(): source %s and destination %s must name as "
                        "many dimensions", fl_shape_text(from.is, (int)from.len),
                        fl_shape_text(to.is, (int)to.len));
    for (int i = 0; i <= x->ndim && i < FL_MAX_DIMS; i++)
        order[i] = -1;
    for (uint32_t i = 0; i < from.len; i++) {
        int source, target;
        if (fl_wrap_dim(op, from.is[i], x->ndim, &source) < 0 ||
            fl_wrap_dim(op, to.is[i], x->ndim, &target) < 0)
            return -1;
        if (taken[source] || order[target] >= 0)
            return fl_error(FL_RUNTIME_ERROR, "movedim(): dimensions must not be named twice");
        taken[source] = true;
        order[target] = source;
    }
    for (int i = 0, next = 0; i < x->ndim; i++) {
        if (order[i] >= 0)
            continue;
        while (taken[next])
            next++;
        order[i] = next++;
    }
    return 0;
}

int fl_call_movedim(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int64_t order[FL_MAX_DIMS];
    if (moved_order(op, in[0].t, in, order) < 0)
        return fl_raise();
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_permute, in[0], fl_ints_value(order, in[0].t->ndim)));
}

/* The shape with a dimension split into sizes, of which one may be -1. */
static int split_shape(const fl_tensor *x, int dim, const fl_value &sizes, int64_t *shape) {
    int count = (int)sizes.len, at = 0;
    int64_t known = 1, total = 1;
    if (x->ndim == 0)
        return fl_error(FL_INDEX_ERROR, "unflatten(): a 0-d tensor has no dimension to split; "
                        "write x.reshape(shape)");
    if (count == 0 || x->ndim + count - 1 > FL_MAX_DIMS)
        return fl_error(FL_RUNTIME_ERROR, "unflatten(): sizes are %d; they must be 1 or more, and "
                        "the result can have %d dimensions at most", count, FL_MAX_DIMS);
    for (int i = 0; i < count; i++)
        known = fl_wrapping_mul(known, sizes.is[i] == -1 ? 1 : sizes.is[i]);
    for (int i = 0; i < dim; i++)
        shape[at++] = x->shape[i];
    for (int i = 0; i < count; i++, at++) {
        shape[at] = sizes.is[i] == -1 && known > 0 ? x->shape[dim] / known : sizes.is[i];
        total = fl_wrapping_mul(total, shape[at]);
    }
    for (int i = dim + 1; i < x->ndim; i++)
        shape[at++] = x->shape[i];
    if (total == x->shape[dim])
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "unflatten(): sizes %s don't multiply up to the size of dim "
                    "%d (%lld)", fl_shape_text(sizes.is, count), dim, (long long)x->shape[dim]);
}

int fl_call_unflatten(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    int64_t shape[FL_MAX_DIMS];
    int dim;
    if (fl_wrap_dim(op, in[1].i, x->ndim, &dim) < 0 || split_shape(x, dim, in[2], shape) < 0)
        return fl_raise();
    fl_value wanted = fl_ints_value(shape, x->ndim + (int)in[2].len - 1);
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_view, in[0], wanted));
}

/* ---- repeated and summed --------------------------------------------------------------------- */

int fl_call_broadcast_to(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_expand, in[0], in[1]));
}

/* Every dimension gets one before it, which is expanded; the copy of that has the right order. */
static fl_tensor *repeated(const fl_value &x, const int64_t *repeats, int count) {
    int64_t apart[2 * FL_MAX_DIMS], wide[2 * FL_MAX_DIMS], merged[FL_MAX_DIMS];
    int pad = count - x.t->ndim;
    for (int i = 0; i < count; i++) {
        int64_t size = i < pad ? 1 : x.t->shape[i - pad];
        apart[2 * i] = 1;
        wide[2 * i] = repeats[i];
        apart[2 * i + 1] = wide[2 * i + 1] = size;
        merged[i] = fl_wrapping_mul(repeats[i], size);
    }
    Made spread(fl_compose(FL_OP_reshape, x, fl_ints_value(apart, 2 * count)));
    Made all(spread ? fl_compose(FL_OP_expand, fl_tensor_value(spread),
                                 fl_ints_value(wide, 2 * count)) : nullptr);
    Made copy(all ? fl_compose(FL_OP_contiguous_copy, fl_tensor_value(all)) : nullptr);
    return copy ? fl_compose(FL_OP_view, fl_tensor_value(copy), fl_ints_value(merged, count))
                : nullptr;
}

static int refuse_repeats(const fl_tensor *x, const fl_value &repeats) {
    if ((int)repeats.len > FL_MAX_DIMS)
        fl_error(FL_RUNTIME_ERROR, "repeat(): the result would have %d dimensions, at most %d can "
                 "be", (int)repeats.len, FL_MAX_DIMS);
    else
        fl_error(FL_RUNTIME_ERROR, "repeat(): Number of dimensions of repeat dims %s can not be "
                 "smaller than number of dimensions of tensor %s",
                 fl_shape_text(repeats.is, (int)repeats.len), fl_shape_text(x->shape, x->ndim));
    return fl_raise();
}

int fl_call_repeat(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const int count = (int)in[1].len;
    if (count < in[0].t->ndim || count > FL_MAX_DIMS)
        return refuse_repeats(in[0].t, in[1]);
    return fl_compose_result(op, in, n, out, repeated(in[0], in[1].is, count));
}

int fl_call_tile(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int64_t repeats[FL_MAX_DIMS];
    int given = (int)in[1].len, pad = in[0].t->ndim > given ? in[0].t->ndim - given : 0;
    if (given > FL_MAX_DIMS)
        return refuse_repeats(in[0].t, in[1]);
    for (int i = 0; i < pad + given; i++)
        repeats[i] = i < pad ? 1 : in[1].is[i - pad];
    return fl_compose_result(op, in, n, out, repeated(in[0], repeats, pad + given));
}

/* The dimensions that broadcasting from a size would repeat, or -1 where it does not broadcast. */
static int summed_dims(const fl_tensor *x, const fl_value &size, int64_t *dims) {
    int extra = x->ndim - (int)size.len, count = 0;
    bool fits = extra >= 0;
    for (int i = 0; fits && i < x->ndim; i++) {
        int64_t wanted = i < extra ? 1 : size.is[i - extra];
        fits = i < extra || wanted == 1 || wanted == x->shape[i];
        if (i < extra || (wanted == 1 && x->shape[i] != 1))
            dims[count++] = i;
    }
    if (fits)
        return count;
    return fl_error(FL_RUNTIME_ERROR, "sum_to_size(): size %s is not expandable to size %s",
                    fl_shape_text(size.is, (int)size.len), fl_shape_text(x->shape, x->ndim));
}

int fl_call_sum_to_size(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int64_t dims[FL_MAX_DIMS];
    int count = summed_dims(in[0].t, in[1], dims);
    if (count < 0)
        return fl_raise();
    if (in[1].len == 0)
        return fl_compose_result(op, in, n, out, fl_compose(FL_OP_sum, in[0]));
    if (count == 0)
        return fl_compose_result(op, in, n, out, Py_NewRef(in[0].o));
    Made sum(fl_compose(FL_OP_sum, in[0], fl_ints_value(dims, count), fl_bool_value(true)));
    return sum ? fl_compose_result(op, in, n, out,
                                   fl_compose(FL_OP_view, fl_tensor_value(sum), in[1])) : -1;
}

/* ---- roll ------------------------------------------------------------------------------------ */

/* x where nothing moves: a new reference to it. */
static fl_tensor *rolled(fl_tensor *x, int64_t shift, int dim) {
    int64_t size = x->shape[dim];
    shift = size ? shift % size : 0;
    shift += shift < 0 ? size : 0;
    if (shift == 0) {
        Py_INCREF(x);
        return x;
    }
    fl_value whole = fl_tensor_value(x), along = fl_int_value(dim);
    Made head(fl_compose(FL_OP_narrow, whole, along, fl_int_value(size - shift),
                         fl_int_value(shift)));
    Made tail(head ? fl_compose(FL_OP_narrow, whole, along, fl_int_value(0),
                                fl_int_value(size - shift)) : nullptr);
    if (!tail)
        return nullptr;
    fl_tensor *parts[] = {head.get(), tail.get()};
    return fl_compose(FL_OP_cat, fl_tensors_value(parts, 2), along);
}

static fl_tensor *rolled_along(const fl_value *in) {
    fl_tensor *result = in[0].t;
    Py_INCREF(result);
    for (uint32_t i = 0; i < in[1].len && result; i++) {
        Made before(result);
        int64_t dim = in[2].is[i] + (in[2].is[i] < 0 ? in[0].t->ndim : 0);
        result = rolled(before.get(), in[1].is[i], (int)dim);
    }
    if (result != in[0].t)
        return result;
    Py_DECREF(result);
    return fl_compose(FL_OP_clone, in[0]);
}

/* The elements as a line. */
static fl_tensor *rolled_flat(const fl_value *in) {
    static const int64_t line[] = {-1};
    Made flat(fl_compose(FL_OP_reshape, in[0], fl_ints_value(line, 1)));
    if (!flat)
        return nullptr;
    Made turned(rolled(flat.get(), in[1].is[0], 0));
    if (!turned)
        return nullptr;
    if (turned.get() == flat.get())
        return fl_compose(FL_OP_clone, in[0]);
    return fl_compose(FL_OP_view, fl_tensor_value(turned), fl_shape_value(in[0].t));
}

static int check_roll(const fl_op *op, const fl_tensor *x, const fl_value &shifts,
                      const fl_value &dims) {
    const uint32_t count = fl_is_none(dims) ? 0 : dims.len;
    int dim;
    if (shifts.len == 0)
        return fl_error(FL_RUNTIME_ERROR, "roll(): `shifts` required");
    if (shifts.len != count && !(count == 0 && shifts.len == 1))
        return fl_error(FL_RUNTIME_ERROR, "roll(): shifts and dimensions must align. shifts: %d, "
                        "dims: %d", (int)shifts.len, (int)count);
    for (uint32_t i = 0; i < count; i++) {
        if (x->ndim == 0)
            return fl_error(FL_INDEX_ERROR, "roll(): Dimension specified as %lld but the tensor has "
                            "no dimensions; leave out dims", (long long)dims.is[0]);
        if (fl_wrap_dim(op, dims.is[i], x->ndim, &dim) < 0)
            return -1;
    }
    return 0;
}

int fl_call_roll(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (check_roll(op, in[0].t, in[1], in[2]) < 0)
        return fl_raise();
    bool flat = fl_is_none(in[2]) || in[2].len == 0;
    return fl_compose_result(op, in, n, out, flat ? rolled_flat(in) : rolled_along(in));
}

/* ---- complex numbers ------------------------------------------------------------------------- */

/* Both parts must be float32 or both float64. */
static int check_parts(const fl_op *op, const fl_tensor *a, const fl_tensor *b) {
    if (a->dtype == b->dtype && (a->dtype == FL_F32 || a->dtype == FL_F64))
        return 0;
    if (a->dtype != b->dtype)
        fl_error(FL_RUNTIME_ERROR, "%s(): '%s' is %s and '%s' is %s; both must have the same dtype: "
                 "convert one with .to()", op->name, op->params[0].name, fl_dtype_name(a->dtype),
                 op->params[1].name, fl_dtype_name(b->dtype));
    else
        fl_error(FL_RUNTIME_ERROR, "%s(): complex numbers are made of two float32 or two float64 "
                 "tensors, not of %s; convert both with .float()", op->name,
                 fl_dtype_name(a->dtype));
    return fl_raise();
}

/* x in the shape that it broadcasts to with y; sizes that do not meet are refused by expand. */
static fl_tensor *broadcast_with(fl_tensor *x, const fl_tensor *y) {
    int64_t shape[FL_MAX_DIMS];
    int nd = x->ndim > y->ndim ? x->ndim : y->ndim;
    if (fl_same_shape(x, y))
        return (fl_tensor *)Py_NewRef((PyObject *)x);
    for (int i = 0; i < nd; i++) {
        int of_x = i - nd + x->ndim, of_y = i - nd + y->ndim;
        int64_t own = of_x < 0 ? 1 : x->shape[of_x], other = of_y < 0 ? 1 : y->shape[of_y];
        shape[i] = other == 1 ? own : other;
    }
    return fl_compose(FL_OP_expand, fl_tensor_value(x), fl_ints_value(shape, nd));
}

static fl_tensor *joined(fl_tensor *real, fl_tensor *imag) {
    Made a(broadcast_with(real, imag)), b(a ? broadcast_with(imag, real) : nullptr);
    fl_tensor *parts[] = {a.get(), b.get()};
    Made pairs(b ? fl_compose(FL_OP_stack, fl_tensors_value(parts, 2), fl_int_value(-1)) : nullptr);
    return pairs ? fl_compose(FL_OP_view_as_complex, fl_tensor_value(pairs)) : nullptr;
}

int fl_call_complex(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (check_parts(op, in[0].t, in[1].t) < 0)
        return -1;
    return fl_compose_result(op, in, n, out, joined(in[0].t, in[1].t));
}

static fl_tensor *turned(const fl_value *in, int number) {
    Made part(fl_compose(number, in[1]));
    return part ? fl_compose(FL_OP_mul, in[0], fl_tensor_value(part)) : nullptr;
}

int fl_call_polar(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (check_parts(op, in[0].t, in[1].t) < 0)
        return -1;
    Made real(turned(in, FL_OP_cos)), imag(real ? turned(in, FL_OP_sin) : nullptr);
    return imag ? fl_compose_result(op, in, n, out, joined(real.get(), imag.get())) : -1;
}
