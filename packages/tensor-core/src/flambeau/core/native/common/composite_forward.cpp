/* Composites that are another operator with other arguments: its results, targets and history are
 * theirs. */
#include "common/compose.h"
#include "common/args.h"
#include <math.h>

template <class... Values>
static int forward(int number, fl_value *out, const Values &...values) {
    fl_value in[] = {values...};
    return fl_dispatch(&fl_builtin_ops[number], in, (int)sizeof...(values), out);
}

/* ---- extremes ---------------------------------------------------------------------------------- */
int fl_call_max(const fl_op *, const fl_value *in, int, fl_value *out) {
    return forward(FL_OP_amax, out, in[0]);
}
int fl_call_min(const fl_op *, const fl_value *in, int, fl_value *out) {
    return forward(FL_OP_amin, out, in[0]);
}
int fl_call_max_other(const fl_op *, const fl_value *in, int, fl_value *out) {
    return forward(FL_OP_maximum, out, in[0], in[1]);
}
int fl_call_min_other(const fl_op *, const fl_value *in, int, fl_value *out) {
    return forward(FL_OP_minimum, out, in[0], in[1]);
}

int fl_call_clamp(const fl_op *, const fl_value *in, int, fl_value *out) {
    if (fl_is_none(in[1]) && fl_is_none(in[2])) {
        PyErr_SetString(PyExc_RuntimeError,
                        "clamp(): at least one of 'min' or 'max' must not be None");
        return -1;
    }
    if (fl_is_none(in[2]))
        return forward(FL_OP_clamp_min, out, in[0], in[1]);
    if (fl_is_none(in[1]))
        return forward(FL_OP_clamp_max, out, in[0], in[2]);
    return forward(FL_OP_clamp_both, out, in[0], in[1], in[2]);
}

/* ---- activations ------------------------------------------------------------------------------- */

/* A number as a tensor of this dtype holds it: an integer for integers. */
static fl_value limit(const fl_tensor *x, const fl_value &number) {
    bool is_integral = fl_is_int(x->dtype) || x->dtype == FL_BOOL;
    return is_integral && number.tag != FL_INT ? fl_int_value(fl_as_int(number)) : number;
}

int fl_call_hardtanh(const fl_op *, const fl_value *in, int, fl_value *out) {
    const fl_tensor *x = in[0].t;
    double low = fl_as_double(in[1]), high = fl_as_double(in[2]);
    if (low > high) {
        fl_error(FL_VALUE_ERROR, "hardtanh(): min_val cannot be greater than max_val, got %g and "
                 "%g; exchange them", low, high);
        return fl_raise();
    }
    return forward(FL_OP_hardtanh_between, out, in[0], limit(x, in[1]), limit(x, in[2]));
}

int fl_call_relu6(const fl_op *, const fl_value *in, int, fl_value *out) {
    return forward(FL_OP_hardtanh_between, out, in[0], fl_int_value(0), fl_int_value(6));
}

int fl_call_celu(const fl_op *, const fl_value *in, int, fl_value *out) {
    double alpha = fl_as_double(in[1]);
    if (alpha == 0) {
        PyErr_SetString(PyExc_RuntimeError,
                        "celu(): ZeroDivisionError: alpha cannot be 0 for CELU");
        return -1;
    }
    return forward(FL_OP_elu_scaled, out, in[0], in[1], fl_float_value(1),
                   fl_float_value(1 / alpha));
}

int fl_call_selu(const fl_op *, const fl_value *in, int, fl_value *out) {
    return forward(FL_OP_elu_scaled, out, in[0], fl_float_value(1.6732632423543772848),
                   fl_float_value(1.0507009873554804934), fl_float_value(1));
}

int fl_call_gelu(const fl_op *, const fl_value *in, int, fl_value *out) {
    if (!strcmp(in[1].s, "none"))
        return forward(FL_OP_gelu_exact, out, in[0]);
    if (!strcmp(in[1].s, "tanh"))
        return forward(FL_OP_gelu_tanh, out, in[0]);
    PyErr_Format(PyExc_RuntimeError, "gelu(): approximate argument must be either none or tanh, "
                 "got '%s'", in[1].s);
    return -1;
}

/* ---- numbers ----------------------------------------------------------------------------------- */
static int refuse_complex(const fl_op *op, const fl_value *in) {
    if (!fl_is_complex(in[0].t->dtype))
        return 0;
    PyErr_Format(PyExc_RuntimeError, "%s() does not support complex inputs; use x.real or x.imag",
                 op->name);
    return -1;
}

int fl_call_deg2rad(const fl_op *op, const fl_value *in, int, fl_value *out) {
    return refuse_complex(op, in) < 0
               ? -1 : forward(FL_OP_mul, out, in[0], fl_float_value(M_PI / 180));
}
int fl_call_rad2deg(const fl_op *op, const fl_value *in, int, fl_value *out) {
    return refuse_complex(op, in) < 0
               ? -1 : forward(FL_OP_mul, out, in[0], fl_float_value(180 / M_PI));
}
int fl_call_isposinf(const fl_op *op, const fl_value *in, int, fl_value *out) {
    return refuse_complex(op, in) < 0
               ? -1 : forward(FL_OP_eq, out, in[0], fl_float_value(INFINITY));
}
int fl_call_isneginf(const fl_op *op, const fl_value *in, int, fl_value *out) {
    return refuse_complex(op, in) < 0
               ? -1 : forward(FL_OP_eq, out, in[0], fl_float_value(-INFINITY));
}

/* ---- choices ----------------------------------------------------------------------------------- */

/* Whether the value leaves the dtype of what it is written into as it is. */
static bool keeps_dtype(const fl_value &v, int dtype) {
    switch (v.tag) {
    case FL_TENSOR: return v.t->ndim == 0 && v.t->dtype == dtype;
    case FL_BOOLEAN: return true;
    case FL_INT: return dtype != FL_BOOL;
    case FL_FLOAT: return fl_is_float(dtype) || fl_is_complex(dtype);
    default: return fl_is_complex(dtype);
    }
}

/* Values of the tensor's own dtype here; others, and errors, in Python. */
int fl_call_masked_fill(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (in[2].tag != FL_TENSOR &&
        fl_check_number(fl_op_title(op), "value", in[2], in[0].t->dtype) < 0)
        return fl_raise();
    if (in[1].t->dtype != FL_BOOL || !keeps_dtype(in[2], in[0].t->dtype))
        return fl_call_composite(op, in, n, out);
    return forward(FL_OP_where, out, in[1], in[2], in[0]);
}
