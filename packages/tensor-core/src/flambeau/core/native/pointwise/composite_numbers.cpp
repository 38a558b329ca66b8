/* Numbers taken apart and put together; integers, narrow dtypes and errors in Python. */
#include "common/compose.h"

/* x times powers of two, which whole exponents leave exact. */
int fl_call_ldexp(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t, *exponent = fl_t(in[1]);
    bool plain = (x->dtype == FL_F32 || x->dtype == FL_F64) && exponent &&
                 !fl_is_complex(exponent->dtype);
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    const fl_value two = fl_float_value(2);
    bool whole = !fl_is_float(exponent->dtype);
    Made same(whole ? fl_compose(FL_OP_cast, in[1], fl_dtype_value(x->dtype)) : nullptr);
    if (whole && !same)
        return -1;
    Made factor(fl_compose(FL_OP_pow, two, whole ? fl_tensor_value(same) : in[1]));
    if (!factor)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_mul, in[0], fl_tensor_value(factor)));
}
