/* Matrices of diagonals, and matrices turned. */
#include "common/compose.h"
#include <stdlib.h>

/* ---- diagonals --------------------------------------------------------------------------------- */

static fl_tensor *zeros(const fl_tensor *x, const fl_value &shape) {
    fl_value dtype = fl_dtype_value(x->dtype), device = fl_device_value(x);
    if (!(x->flags >> FL_LEVEL_SHIFT))
        return fl_compose(FL_OP_full_of, shape, fl_int_value(0), dtype, device);
    Made whole(fl_compose_blank(x, shape, fl_none_value(), dtype, device));
    if (!whole || fl_compose_into(FL_OP_fill, whole.get(), fl_int_value(0)) < 0)
        return nullptr;
    return whole.give();
}

static fl_tensor *embedded(const fl_value &x, int64_t offset, int a, int b) {
    const fl_tensor *t = x.t;
    int64_t shape[FL_MAX_DIMS + 1], length;
    int from = 0;
    if (__builtin_add_overflow(t->shape[t->ndim - 1], offset < 0 ? -(uint64_t)offset : offset,
                               &length)) {
        PyErr_Format(PyExc_RuntimeError, "diag_embed(): offset %lld is too large",
                     (long long)offset);
        return nullptr;
    }
    for (int d = 0; d <= t->ndim; d++)
        shape[d] = d == a || d == b ? length : t->shape[from++];
    Made whole(zeros(t, fl_ints_value(shape, t->ndim + 1)));
    if (!whole)
        return nullptr;
    Made target(fl_compose(FL_OP_diagonal, fl_tensor_value(whole), fl_int_value(offset),
                          fl_int_value(a), fl_int_value(b)));
    if (!target || fl_compose_into(FL_OP_copy, target.get(), x) < 0)
        return nullptr;
    return whole.give();
}

int fl_call_diag_embed(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int a, b;
    if (in[0].t->ndim == 0 || in[0].t->ndim == FL_MAX_DIMS) {
        PyErr_Format(PyExc_RuntimeError, "diag_embed(): expects a tensor of 1 to %d dimensions, "
                     "got %d", FL_MAX_DIMS - 1, in[0].t->ndim);
        return -1;
    }
    int ndim = in[0].t->ndim + 1;
    if (fl_wrap_dim(op, in[2].i, ndim, &a) < 0 || fl_wrap_dim(op, in[3].i, ndim, &b) < 0)
        return fl_raise();
    if (a == b) {
        PyErr_Format(PyExc_RuntimeError, "diag_embed(): diagonal dimensions cannot be identical "
                     "%d, %d", a, b);
        return -1;
    }
    return fl_compose_result(op, in, n, out, embedded(in[0], in[1].i, a, b));
}

int fl_call_diag(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    if (x->ndim == 1)
        return fl_compose_result(op, in, n, out, embedded(in[0], in[1].i, 0, 1));
    if (x->ndim != 2) {
        fl_error(FL_RUNTIME_ERROR, "diag(): supports 1-d and 2-d tensors, got shape %s; use "
                 "diagonal() or diag_embed() for stacks", fl_shape_text(x->shape, x->ndim));
        return fl_raise();
    }
    Made diagonal(fl_compose(FL_OP_diagonal, in[0], in[1]));
    if (!diagonal)
        return -1;
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_contiguous_copy, fl_tensor_value(diagonal)));
}

int fl_call_diagflat(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    static const int64_t line[] = {-1};
    Made flat(fl_compose(FL_OP_reshape, in[0], fl_ints_value(line, 1)));
    if (!flat)
        return -1;
    return fl_compose_result(op, in, n, out, embedded(fl_tensor_value(flat), in[1].i, 0, 1));
}

/* ---- turns ------------------------------------------------------------------------------------- */

static fl_tensor *turned(const fl_value &x, int turns, int a, int b) {
    int64_t both[2] = {a, b}, one = turns == 1 ? b : a;
    if (turns == 0)
        return fl_compose(FL_OP_clone, x);
    if (turns == 2)
        return fl_compose(FL_OP_flip, x, fl_ints_value(both, 2));
    Made flipped(fl_compose(FL_OP_flip, x, fl_ints_value(&one, 1)));
    if (!flipped)
        return nullptr;
    return fl_compose(FL_OP_transpose, fl_tensor_value(flipped), fl_int_value(a), fl_int_value(b));
}

int fl_call_rot90(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    const fl_value &dims = in[2];
    int a, b;
    if (dims.len != 2 || x->ndim < 2) {
        fl_error(FL_RUNTIME_ERROR, "rot90(): expected two dims of a tensor of two dimensions or "
                 "more, but got dims = %s and shape %s", fl_shape_text(dims.is, (int)dims.len),
                 fl_shape_text(x->shape, x->ndim));
        return fl_raise();
    }
    if (fl_wrap_dim(op, dims.is[0], x->ndim, &a) < 0 || fl_wrap_dim(op, dims.is[1], x->ndim, &b) < 0)
        return fl_raise();
    if (a == b) {
        fl_error(FL_RUNTIME_ERROR, "rot90(): expected rotation dims to be different, but got dims "
                 "= %s", fl_shape_text(dims.is, 2));
        return fl_raise();
    }
    int turns = (int)((in[1].i % 4 + 4) % 4);
    return fl_compose_result(op, in, n, out, turned(in[0], turns, a, b));
}
