/* Dropout: products with random masks. */
#include "composites/compose.h"

static fl_tensor *blank_like(fl_tensor *x) {
    if (x->device_type == FL_CPU)
        return fl_compose(FL_OP_filled_like, fl_tensor_value(x), fl_none_value());
    return fl_compose(FL_OP_empty, fl_shape_value(x), fl_dtype_value(x->dtype),
                      fl_device_value(x));
}

/* 1 / (1 - p) with probability 1 - p, zero elsewhere. */
static fl_tensor *mask_like(fl_tensor *x, double p) {
    Made mask(blank_like(x));
    if (!mask || fl_compose_into(FL_OP_random_bernoulli, mask.get(), fl_float_value(1.0 - p)) < 0)
        return nullptr;
    if (p < 1.0 && fl_compose_into(FL_OP_mul, mask.get(), fl_float_value(1.0 / (1.0 - p))) < 0)
        return nullptr;
    return mask.give();
}

static fl_tensor *dropped(fl_tensor *x, double p, bool inplace) {
    Made mask(mask_like(x, p));
    if (!mask)
        return nullptr;
    if (!inplace)
        return fl_compose(FL_OP_mul, fl_tensor_value(x), fl_tensor_value(mask));
    if (fl_compose_into(FL_OP_mul, x, fl_tensor_value(mask)) < 0)
        return nullptr;
    Py_INCREF(x);
    return x;
}

int fl_call_dropout(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    fl_tensor *x = in[0].t;
    double p = in[1].d;
    if (!(p >= 0.0 && p <= 1.0)) {
        PyObject *given = PyFloat_FromDouble(p);
        if (given)
            PyErr_Format(PyExc_ValueError, "dropout probability has to be between 0 and 1, but "
                         "got %R", given);
        Py_XDECREF(given);
        return -1;
    }
    if (!in[2].i || p == 0.0) {
        Py_INCREF(x);
        return fl_compose_result(op, in, n, out, x);
    }
    return fl_compose_result(op, in, n, out, dropped(x, p, in[3].i));
}
