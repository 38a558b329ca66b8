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

static int trapezoids(const fl_op *op, const fl_value *in, int n, fl_value *out, int fold,
                      const fl_value &dims, int dim) {
    Made areas(neighbours(FL_OP_add, in[0], dim));
    if (!areas)
        return -1;
    Made total(fl_compose(fold, fl_tensor_value(areas), dims));
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

/* ---- gradient over even steps ---------------------------------------------------------------- */

/* (x[first + gap ...] - x[first ...]) / (gap * step), `count` of them */
static fl_tensor *slopes(const fl_value &x, int dim, int64_t first, int64_t count, int gap,
                         double step) {
    Made high(part(x, dim, first + gap, count));
    if (!high)
        return nullptr;
    Made low(part(x, dim, first, count));
    if (!low)
        return nullptr;
    Made rise(fl_compose(FL_OP_sub, fl_tensor_value(high), fl_tensor_value(low)));
    return rise ? fl_compose(FL_OP_div, fl_tensor_value(rise), fl_float_value(gap * step))
                : nullptr;
}

/* From both neighbours inside, from one at the ends. */
static fl_tensor *slopes_along(const fl_value &x, int dim, double step) {
    int64_t size = x.t->shape[dim];
    Made first(slopes(x, dim, 0, 1, 1, step));
    if (!first)
        return nullptr;
    Made inside(size > 2 ? slopes(x, dim, 0, size - 2, 2, step) : nullptr);
    if (!inside && size > 2)
        return nullptr;
    Made last(slopes(x, dim, size - 2, 1, 1, step));
    if (!last)
        return nullptr;
    fl_tensor *parts[3] = {first.get(), inside.get(), last.get()};
    if (size == 2)
        parts[1] = last.get();
    return fl_compose(FL_OP_cat, fl_tensors_value(parts, size > 2 ? 3 : 2), fl_int_value(dim));
}

/* The step where it is one number for all dimensions; false for others. */
static bool read_step(const fl_value &v, double *step) {
    *step = 1;
    if (fl_is_none(v))
        return true;
    if (v.tag != FL_OBJECT || !(PyFloat_CheckExact(v.o) || PyLong_CheckExact(v.o)))
        return false;
    *step = PyFloat_AsDouble(v.o);
    if (*step == -1 && PyErr_Occurred())
        PyErr_Clear();
    return *step != 0 && *step != -1;
}

/* The dimensions asked for, all of them for None; how many, or -1 where one is wrong, named twice
 * or too short. */
static int gradient_dims(const fl_tensor *x, const fl_value &wanted, int *dims) {
    uint32_t seen = 0;
    int count = fl_is_none(wanted) ? x->ndim : (int)wanted.len;
    if (count > x->ndim)
        return -1;
    for (int i = 0; i < count; i++) {
        int64_t dim = fl_is_none(wanted) ? i : wanted.is[i];
        dim += dim < 0 ? x->ndim : 0;
        if (dim < 0 || dim >= x->ndim || (seen >> dim & 1) || x->shape[dim] < 2)
            return -1;
        seen |= 1u << dim;
        dims[i] = (int)dim;
    }
    return count;
}

/* (self, spacing, dim, edge_order): real numbers in even steps here, the rest in Python. */
int fl_call_gradient(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    double step;
    int dims[FL_MAX_DIMS];
    bool plain = (x->dtype == FL_F32 || x->dtype == FL_F64) && in[3].i == 1 &&
                 read_step(in[1], &step);
    int count = plain ? gradient_dims(x, in[2], dims) : -1;
    if (!fl_is_short(out, count >= 0))
        return fl_call_composite(op, in, n, out);
    PyObject *tuple = PyTuple_New(count);
    for (int i = 0; tuple && i < count; i++) {
        fl_tensor *result = slopes_along(in[0], dims[i], step);
        if (result)
            PyTuple_SET_ITEM(tuple, i, (PyObject *)result);
        else
            Py_CLEAR(tuple);
    }
    return fl_compose_result(op, in, n, out, tuple);
}
