/* Differences of neighbours, and sums of their areas. */
#include "common/compose.h"

static fl_tensor *part(const fl_value &x, int dim, int64_t start, int64_t length) {
    return fl_compose(FL_OP_narrow, x, fl_int_value(dim), fl_int_value(start),
                      fl_int_value(length));
}

/* A row of two operands: every element with a neighbour before it, and that neighbour. */
static fl_tensor *neighbours(int row, const fl_value &x, int dim) {
    int64_t size = x.t->shape[dim], count = size > 0 ? size - 1 : 0;
    Made high(part(x, dim, size > 0, count));
    if (!high)
        return nullptr;
    Made low(part(x, dim, 0, count));
    return low ? fl_compose(row, fl_tensor_value(high), fl_tensor_value(low)) : nullptr;
}

/* ---- diff ----------------------------------------------------------------------------------- */

static fl_tensor *extended(const fl_value *in, int dim) {
    static const int order[] = {3, 0, 4};
    fl_tensor *parts[3];
    Py_ssize_t count = 0;
    for (int i : order)
        if (in[i].tag == FL_TENSOR)
            parts[count++] = in[i].t;
    if (count > 1)
        return fl_compose(FL_OP_cat, fl_tensors_value(parts, count), fl_int_value(dim));
    Py_INCREF(in[0].t);
    return in[0].t;
}

static fl_tensor *differences(const fl_value *in, int dim) {
    Made x(extended(in, dim));
    if (!x)
        return nullptr;
    int64_t times = in[1].i < x.get()->shape[dim] ? in[1].i : x.get()->shape[dim];
    int less = x.get()->dtype == FL_BOOL ? (int)FL_OP_logical_xor : (int)FL_OP_sub;
    fl_tensor *result = x.give();
    for (int64_t i = 0; i < times && result; i++) {
        Made before(result);
        result = neighbours(less, fl_tensor_value(before), dim);
    }
    return result;
}

int fl_call_diff(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    int dim;
    if (x->ndim == 0) {
        PyErr_SetString(PyExc_RuntimeError, "diff(): expects input to be at least one-dimensional");
        return -1;
    }
    if (in[1].i < 0) {
        PyErr_Format(PyExc_RuntimeError, "diff(): order must be non-negative but got %lld",
                     (long long)in[1].i);
        return -1;
    }
    if (fl_wrap_dim(op, in[2].i, x->ndim, &dim) < 0)
        return fl_raise();
    return fl_compose_result(op, in, n, out, differences(in, dim));
}

/* ---- the trapezoidal rule over even steps ---------------------------------------------------- */

static int check_areas(const fl_op *op, const fl_value *in, int *dim) {
    const fl_tensor *y = in[0].t;
    if (y->ndim == 0 || y->dtype == FL_BOOL) {
        PyErr_Format(PyExc_RuntimeError, y->ndim == 0
                         ? "%s(): expects at least one dimension, got a 0-d tensor"
                         : "%s(): received a bool input; write y.int() first", op->name);
        return -1;
    }
    return fl_wrap_dim(op, in[2].i, y->ndim, dim) < 0 ? fl_raise() : 0;
}

/* Half the step, as a number. */
static fl_value half(const fl_value &step) {
    if (step.tag != FL_COMPLEX)
        return fl_float_value(fl_as_double(step) / 2);
    fl_value v = step;
    v.c[0] /= 2;
    v.c[1] /= 2;
    return v;
}

static int trapezoids(const fl_op *op, const fl_value *in, int n, fl_value *out, int reduce,
                      const fl_value &dims, int dim) {
    Made areas(neighbours(FL_OP_add, in[0], dim));
    if (!areas)
        return -1;
    Made total(fl_compose(reduce, fl_tensor_value(areas), dims));
    if (!total)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_mul, fl_tensor_value(total), half(in[1])));
}

/* All points between the ends in one sum, and half of the two ends. */
static fl_tensor *sum_of_areas(const fl_value &y, const fl_value &dims, int dim) {
    fl_value along = fl_int_value(dim);
    int64_t size = y.t->shape[dim];
    Made inside(fl_compose(FL_OP_narrow, y, along, fl_int_value(1), fl_int_value(size - 2)));
    Made first(fl_compose(FL_OP_select, y, along, fl_int_value(0)));
    Made last(fl_compose(FL_OP_select, y, along, fl_int_value(size - 1)));
    if (!inside || !first || !last)
        return nullptr;
    Made sum(fl_compose(FL_OP_sum, fl_tensor_value(inside), dims));
    Made ends(fl_compose(FL_OP_add, fl_tensor_value(first), fl_tensor_value(last)));
    if (!sum || !ends)
        return nullptr;
    Made share(fl_compose(FL_OP_mul, fl_tensor_value(ends), fl_float_value(0.5)));
    return share ? fl_compose(FL_OP_add, fl_tensor_value(sum), fl_tensor_value(share)) : nullptr;
}

int fl_call_trapezoid(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int dim;
    if (check_areas(op, in, &dim) < 0)
        return -1;
    int64_t along = dim;
    fl_value dims = fl_ints_value(&along, 1);
    if (in[0].t->shape[dim] == 0)
        return fl_compose_result(op, in, n, out, fl_compose(FL_OP_sum, in[0], dims));
    if (in[0].t->shape[dim] == 1)
        return trapezoids(op, in, n, out, FL_OP_sum, dims, dim);
    Made areas(sum_of_areas(in[0], dims, dim));
    if (!areas)
        return -1;
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_mul, fl_tensor_value(areas), in[1]));
}

int fl_call_cumulative_trapezoid(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int dim;
    if (check_areas(op, in, &dim) < 0)
        return -1;
    return trapezoids(op, in, n, out, FL_OP_cumsum, fl_int_value(dim), dim);
}
