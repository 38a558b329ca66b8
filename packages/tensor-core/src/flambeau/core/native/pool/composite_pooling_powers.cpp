/* Power means over windows, times the count of their elements; errors in Python. */
#include "pool/composite_pooling.h"

namespace {

bool read_count(const fl_tensor *x, const fl_value &size, int n, double *count) {
    if (!fl_is_float(x->dtype) || (x->ndim != n + 1 && x->ndim != n + 2) || size.tag != FL_INTS ||
        (size.len != 1 && (int)size.len != n))
        return false;
    *count = 1;
    for (int i = 0; i < n; i++) {
        int64_t one = size.is[size.len == 1 ? 0 : i];
        if (one < 1 || one > x->shape[x->ndim - n + i])
            return false;
        *count *= (double)one;
    }
    return true;
}

/* The root of sums of powers, zero where they are negative. */
fl_tensor *root(const fl_value &means, double count, double power) {
    Made sign(fl_compose(FL_OP_sign, means));
    Made size(sign ? fl_compose(FL_OP_abs, means) : nullptr);
    Made above(size ? fl_compose(FL_OP_relu, fl_tensor_value(size)) : nullptr);
    Made positive(above ? fl_compose(FL_OP_mul, fl_tensor_value(sign), fl_tensor_value(above))
                        : nullptr);
    Made sums(positive ? fl_compose(FL_OP_mul, fl_tensor_value(positive), fl_float_value(count))
                       : nullptr);
    return sums ? fl_compose(FL_OP_pow, fl_tensor_value(sums), fl_float_value(1 / power)) : nullptr;
}

/* (input, norm_type, kernel_size, stride, ceil_mode) */
int power_means(const fl_op *op, const fl_value *in, int n, fl_value *out, int dims) {
    static const int OPERATORS[] = {FL_OP_avg_pool1d, FL_OP_avg_pool2d, FL_OP_avg_pool3d};
    static const int64_t NO_PADDING[] = {0};
    double count;
    bool plain = (in[1].tag == FL_FLOAT || in[1].tag == FL_INT) && fl_as_double(in[1]) != 0 &&
                 read_count(in[0].t, in[2], dims, &count);
    if (!fl_is_short(out, plain))
        return fl_call_composite(op, in, n, out);
    Made powers(fl_compose(FL_OP_pow, in[0], in[1]));
    Made means(powers ? fl_compose(OPERATORS[dims - 1], fl_tensor_value(powers), in[2], in[3],
                                   fl_ints_value(NO_PADDING, 1), in[4])
                      : nullptr);
    if (!means)
        return -1;
    return fl_compose_result(op, in, n, out,
                             root(fl_tensor_value(means), count, fl_as_double(in[1])));
}

}  // namespace

int fl_call_lp_pool1d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return power_means(op, in, n, out, 1);
}

int fl_call_lp_pool2d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return power_means(op, in, n, out, 2);
}

int fl_call_lp_pool3d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return power_means(op, in, n, out, 3);
}
