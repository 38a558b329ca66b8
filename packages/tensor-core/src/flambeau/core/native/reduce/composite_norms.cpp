/* Norms under their older names. */
#include "common/compose.h"

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
    fl_value keep = fl_int_value(1);
    keep.tag = FL_BOOLEAN;
    Made length(fl_compose(FL_OP_norm_of, in[0], in[1], in[2], keep));
    if (!length)
        return -1;
    Made divisor(fl_compose(FL_OP_clamp_min, fl_tensor_value(length), in[3]));
    if (!divisor)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_div, in[0], fl_tensor_value(divisor)));
}
