/* Norms of vectors and matrices of floating numbers; what is rarer, and errors, in Python. */
#include "common/compose.h"
#include <math.h>

/* Dimensions from 0 on, each named once. */
struct NormDims {
    int64_t dim[FL_MAX_DIMS];
    int count = 0;
    int64_t reduced = 1;     /* elements behind each result */
};

static bool read_norm_dims(const fl_tensor *x, const fl_value &v, NormDims *d) {
    uint64_t seen = 0;
    if (v.tag != FL_INTS || v.len > (uint32_t)x->ndim)
        return false;
    for (uint32_t i = 0; i < v.len; i++) {
        int64_t dim = v.is[i] + (v.is[i] < 0 ? x->ndim : 0);
        if (dim < 0 || dim >= x->ndim || seen >> dim & 1)
            return false;
        seen |= 1ull << dim;
        d->dim[d->count++] = dim;
        d->reduced *= x->shape[dim];
    }
    return d->count > 0;
}

static bool is_plain(const fl_tensor *x, const fl_value &dtype) {
    return fl_is_float(x->dtype) && x->numel > 0 && x->ndim > 0 && fl_is_none(dtype);
}

/* The Euclidean norm of more than one number; that of one is its magnitude, without a square. */
static int euclidean(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    NormDims d;
    bool all = fl_is_none(in[2]) || (in[2].tag == FL_INTS && in[2].len == 0);
    if (!fl_is_short(out, is_plain(x, in[4]) && (all || read_norm_dims(x, in[2], &d)) &&
                              (all ? x->numel : d.reduced) > 1))
        return fl_call_composite(op, in, n, out);
    fl_value dims = all ? fl_none_value() : fl_ints_value(d.dim, d.count);
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_norm_of, in[0], fl_float_value(2), dims, in[3]));
}

/* (x, ord, dim, keepdim, dtype) */
int fl_call_linalg_vector_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return in[1].d == 2 ? euclidean(op, in, n, out) : fl_call_composite(op, in, n, out);
}

/* Without an order the elements are one vector. */
int fl_call_linalg_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    bool named = fl_is_none(in[2]) || in[2].len == 1 || in[2].len == 2;
    return fl_is_none(in[1]) && named ? euclidean(op, in, n, out)
                                      : fl_call_composite(op, in, n, out);
}

/* ---- matrices -------------------------------------------------------------------------------- */

static bool is_frobenius(const fl_value &order) {
    if (order.tag == FL_STRING)     /* the default */
        return order.len == 3 && !memcmp(order.s, "fro", 3);
    return order.tag == FL_OBJECT && PyUnicode_Check(order.o) &&
           PyUnicode_CompareWithASCIIString(order.o, "fro") == 0;
}

/* 1, -1 or an infinity: the order of a norm by sums of rows or columns; 0 for others. */
static double order_of_sums(const fl_value &order) {
    if (order.tag != FL_OBJECT || !(PyFloat_CheckExact(order.o) || PyLong_CheckExact(order.o)))
        return 0;
    double p = PyFloat_AsDouble(order.o);
    if (p == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return fabs(p) == 1 || isinf(p) ? p : 0;
}

static fl_tensor *norm_of_sums(const fl_value &x, double p, const NormDims &d, bool keep) {
    const int64_t summed = d.dim[fabs(p) == 1 ? 0 : 1], compared = d.dim[fabs(p) == 1 ? 1 : 0];
    const fl_value kept = fl_bool_value(true);
    Made size(fl_compose(FL_OP_abs, x));
    Made sums(size ? fl_compose(FL_OP_sum, fl_tensor_value(size), fl_ints_value(&summed, 1), kept)
                   : nullptr);
    Made best(sums ? fl_compose(p > 0 ? (int)FL_OP_amax : (int)FL_OP_amin, fl_tensor_value(sums),
                                fl_ints_value(&compared, 1), kept)
                   : nullptr);
    if (!best || keep)
        return best.give();
    return fl_compose(FL_OP_squeeze, fl_tensor_value(best), fl_ints_value(d.dim, 2));
}

/* (A, ord, dim, keepdim, dtype) */
int fl_call_linalg_matrix_norm(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    NormDims d;
    double p = order_of_sums(in[1]);
    bool plain = is_plain(in[0].t, in[4]) && read_norm_dims(in[0].t, in[2], &d) && d.count == 2;
    if (plain && is_frobenius(in[1]))
        return euclidean(op, in, n, out);
    if (!fl_is_short(out, plain && p != 0))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, norm_of_sums(in[0], p, d, in[3].i));
}
