/* Norms, means without NaN, and numbers in the place of those that are not finite. */
#include "common/compose.h"
#include <float.h>
#include <math.h>

/* The power that a norm names: true for a number, 'fro' and None. */
static bool read_power(const fl_value &v, double *p) {
    *p = 2;
    if (v.tag == FL_NONE)
        return true;
    if (v.tag == FL_STRING)     /* the default */
        return v.len == 3 && !memcmp(v.s, "fro", 3);
    if (v.tag != FL_OBJECT)
        return false;
    if (PyFloat_Check(v.o) || PyLong_Check(v.o)) {
        *p = PyFloat_AsDouble(v.o);
        return !(*p == -1.0 && PyErr_Occurred());
    }
    return PyUnicode_Check(v.o) && PyUnicode_CompareWithASCIIString(v.o, "fro") == 0;
}

/* Norms of one kernel here; the nuclear one, other dtypes and errors in Python. */
int fl_call_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    double p;
    bool plain = (fl_is_float(x->dtype) || fl_is_complex(x->dtype)) && in[4].tag == FL_NONE &&
                 read_power(in[1], &p);
    if (!plain)
        return PyErr_Occurred() ? -1 : fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_norm_of, in[0], fl_float_value(p), in[2], in[3]));
}

int fl_call_normalize(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    fl_value dims = fl_ints_value(&in[2].i, 1), keep = fl_int_value(1);
    keep.tag = FL_BOOLEAN;
    Made length(fl_compose(FL_OP_norm_of, in[0], in[1], dims, keep));
    if (!length)
        return -1;
    Made divisor(fl_compose(FL_OP_clamp_min, fl_tensor_value(length), in[3]));
    if (!divisor)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_div, in[0], fl_tensor_value(divisor)));
}

/* Floating numbers here; complex ones and errors in Python. */
int fl_call_nanmean(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_is_float(in[0].t->dtype))
        return fl_call_composite(op, in, n, out);
    Made numbers(fl_compose(FL_OP_eq, in[0], in[0]));
    if (!numbers)
        return -1;
    Made count(fl_compose(FL_OP_sum, fl_tensor_value(numbers), in[1], in[2]));
    if (!count)
        return -1;
    Made total(fl_compose(FL_OP_nansum, in[0], in[1], in[2], in[3]));
    if (!total)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_div, fl_tensor_value(total), fl_tensor_value(count)));
}

static double greatest(int dtype) {
    switch (dtype) {
    case FL_F16: return 65504;
    case FL_BF16: return 0x1.fep127;
    case FL_F32: return FLT_MAX;
    default: return DBL_MAX;
    }
}

/* Floating numbers here; complex ones and whole ones in Python. */
int fl_call_nan_to_num(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int dtype = in[0].t->dtype;
    if (!fl_is_float(dtype))
        return fl_call_composite(op, in, n, out);
    fl_value values[4] = {in[0], in[1], in[2], in[3]};
    if (fl_is_none(in[1]))
        values[1] = fl_float_value(0);
    if (fl_is_none(in[2]))
        values[2] = fl_float_value(greatest(dtype));
    if (fl_is_none(in[3]))
        values[3] = fl_float_value(-greatest(dtype));
    return fl_dispatch(&fl_builtin_ops[FL_OP_replace_nonfinite], values, 4, out);
}

int fl_call_isreal(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (fl_is_complex(in[0].t->dtype))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_ones_like, in[0], fl_dtype_value(FL_BOOL)));
}
