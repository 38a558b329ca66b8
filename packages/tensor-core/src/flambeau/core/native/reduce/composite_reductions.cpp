/* Reductions made of one or two others, and orders of which only a part is wanted. */
#include "common/compose.h"

/* Hand two results over; takes the references, NULL is an error that was raised. */
static int give_pair(const fl_op *op, const fl_value *in, int n, fl_value *out, fl_tensor *first,
                     fl_tensor *second) {
    if (!first || !second) {
        Py_XDECREF(first);
        Py_XDECREF(second);
        return -1;
    }
    if (fl_compose_result(op, in, n, &out[0], first) < 0) {
        Py_DECREF(second);
        return -1;
    }
    if (fl_compose_result(op, in, n, &out[1], second) == 0)
        return 0;
    Py_CLEAR(out[0].o);
    return -1;
}

/* The same of two results without history; `number` is the operator that the tape knows. */
static int give_as_one(int number, const fl_value *in, int n, fl_value *out, fl_tensor *first,
                      fl_tensor *second) {
    if (first && second) {
        out[0] = fl_tensor_value(first);
        out[1] = fl_tensor_value(second);
        if (fl_record_as_one(number, in, n, out, 2) == 0)
            return 0;
        out[0].tag = out[1].tag = FL_NONE;
    }
    Py_XDECREF(first);
    Py_XDECREF(second);
    return -1;
}

static int moments(const fl_op *op, const fl_value *in, int n, fl_value *out, int as_one,
                   int spread) {
    if (out[0].tag != FL_TENSOR && fl_is_recorded_as_one(in[0].t)) {
        fl_tensor *first = fl_compose_unrecorded(spread, in[0], in[1], in[2], in[3]);
        return give_as_one(as_one, in, n, out, first,
                          first ? fl_compose_unrecorded(FL_OP_mean, in[0], in[1], in[3]) : nullptr);
    }
    fl_tensor *first = fl_compose(spread, in[0], in[1], in[2], in[3]);
    return give_pair(op, in, n, out, first,
                     first ? fl_compose(FL_OP_mean, in[0], in[1], in[3]) : nullptr);
}

int fl_call_var_mean(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return moments(op, in, n, out, FL_OP_var_mean, FL_OP_var);
}

int fl_call_std_mean(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return moments(op, in, n, out, FL_OP_std_mean, FL_OP_std);
}

int fl_call_aminmax(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    if (x->numel == 0 && fl_is_none(in[1])) {
        fl_error(FL_RUNTIME_ERROR, "aminmax(): cannot compute aminmax over an empty dimension as "
                 "the operation has no identity (shape %s)", fl_shape_text(x->shape, x->ndim));
        return fl_raise();
    }
    fl_value dims = fl_is_none(in[1]) ? in[1] : fl_ints_value(&in[1].i, 1);
    if (out[0].tag != FL_TENSOR && fl_is_recorded_as_one(in[0].t)) {
        fl_tensor *first = fl_compose_unrecorded(FL_OP_amin, in[0], dims, in[2]);
        return give_as_one(FL_OP_aminmax, in, n, out, first,
                          first ? fl_compose_unrecorded(FL_OP_amax, in[0], dims, in[2]) : nullptr);
    }
    fl_tensor *least = fl_compose(FL_OP_amin, in[0], dims, in[2]);
    return give_pair(op, in, n, out, least,
                     least ? fl_compose(FL_OP_amax, in[0], dims, in[2]) : nullptr);
}

int fl_call_count_nonzero(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    Made counted(fl_compose(FL_OP_ne, in[0], fl_int_value(0)));
    if (!counted)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_sum, fl_tensor_value(counted), in[1]));
}

int fl_call_trace(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    if (x->ndim != 2) {
        fl_error(FL_RUNTIME_ERROR, "trace(): expected a matrix, but got tensor with dim %d (shape "
                 "%s)", x->ndim, fl_shape_text(x->shape, x->ndim));
        return fl_raise();
    }
    Made diagonal(fl_compose(FL_OP_diagonal, in[0]));
    if (!diagonal)
        return -1;
    return fl_compose_result(op, in, n, out, fl_compose(FL_OP_sum, fl_tensor_value(diagonal)));
}

/* ---- order ------------------------------------------------------------------------------------- */

/* One output of sort: 0 for the values, 1 for the positions. */
static fl_tensor *sorted(const fl_value *in, int n, int which) {
    fl_value pair[2];
    pair[0].tag = pair[1].tag = FL_NONE;
    if (fl_dispatch(&fl_builtin_ops[FL_OP_sort], in, n, pair) < 0)
        return nullptr;
    Py_DECREF(pair[1 - which].t);
    return pair[which].t;
}

int fl_call_argsort(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out, sorted(in, n, 1));
}

int fl_call_msort(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    fl_value values[2] = {in[0], fl_int_value(0)};
    return fl_compose_result(op, in, n, out, sorted(values, 2, 0));
}
