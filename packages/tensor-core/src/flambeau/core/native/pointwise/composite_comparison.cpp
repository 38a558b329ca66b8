/* Whole tensors compared, elements looked up. */
#include "common/compose.h"

/* Whether all are true, as a Python bool; takes the reference. */
static PyObject *all_true(fl_tensor *indices) {
    Made made(indices);
    Made all(made ? fl_compose(FL_OP_all, fl_tensor_value(made)) : nullptr);
    if (!all)
        return nullptr;
    int truth = PyObject_IsTrue((PyObject *)all.get());
    return truth < 0 ? nullptr : PyBool_FromLong(truth);
}

int fl_call_equal(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!fl_same_shape(in[0].t, in[1].t))
        return fl_compose_result(op, in, n, out, Py_NewRef(Py_False));
    return fl_compose_result(op, in, n, out, all_true(fl_compose(FL_OP_eq, in[0], in[1])));
}

/* ---- elements looked up ---------------------------------------------------------------------- */

/* Indices from the end counted from the start. */
static fl_tensor *from_start(const fl_value &indices, int64_t size) {
    Made from_end(fl_compose(FL_OP_lt, indices, fl_int_value(0)));
    Made shifted(from_end ? fl_compose(FL_OP_add, indices, fl_int_value(size)) : nullptr);
    return shifted ? fl_compose(FL_OP_where, fl_tensor_value(from_end), fl_tensor_value(shifted),
                                indices) : nullptr;
}

/* x in the shape that it broadcasts to with y, but for one dimension. Takes the reference. */
static fl_tensor *broadcast_but(fl_tensor *t, const fl_tensor *y, int dim) {
    int64_t shape[FL_MAX_DIMS];
    Made x(t);
    bool same = true;
    for (int i = 0; i < t->ndim; i++) {
        shape[i] = i == dim || y->shape[i] == 1 ? t->shape[i] : y->shape[i];
        same = same && shape[i] == t->shape[i];
    }
    return same ? x.give()
                : fl_compose(FL_OP_expand, fl_tensor_value(x), fl_ints_value(shape, t->ndim));
}

static fl_tensor *taken_along(const fl_value &x, const fl_value &indices, int dim) {
    Made positions(from_start(indices, x.t->ndim ? x.t->shape[dim] : 1));
    Made source((fl_tensor *)Py_NewRef(x.o));
    if (positions && x.t->ndim) {
        Made wide(broadcast_but((fl_tensor *)Py_NewRef(x.o), indices.t, dim));
        Made all(wide ? broadcast_but(positions.give(), x.t, dim) : nullptr);
        source.swap(wide);
        positions.swap(all);
    }
    return positions ? fl_compose(FL_OP_gather, fl_tensor_value(source), fl_int_value(dim),
                               fl_tensor_value(positions)) : nullptr;
}

static fl_tensor *flattened(const fl_value &x) {
    static const int64_t line[] = {-1};
    return fl_compose(FL_OP_reshape, x, fl_ints_value(line, 1));
}

static int check_indices(const fl_op *op, const fl_value *in, int *dim) {
    const fl_tensor *x = in[0].t, *indices = in[1].t;
    if (indices->dtype != FL_I64)
        return fl_error(FL_RUNTIME_ERROR, "%s(): dtype of indices should be int64, but got %s; "
                        "convert it with indices.long()", op->name, fl_dtype_name(indices->dtype));
    *dim = 0;
    if (fl_is_none(in[2]))
        return 0;
    if (x->ndim != indices->ndim)
        return fl_error(FL_RUNTIME_ERROR, "%s(): input and indices should have the same number of "
                        "dimensions, but got %s and %s", op->name,
                        fl_shape_text(x->shape, x->ndim),
                        fl_shape_text(indices->shape, indices->ndim));
    return fl_wrap_dim(op, in[2].i, x->ndim, dim);
}

/* (self, indices, dim); without a dimension both are flattened. */
int fl_call_take_along_dim(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int dim;
    if (check_indices(op, in, &dim) < 0)
        return fl_raise();
    if (!fl_is_none(in[2]))
        return fl_compose_result(op, in, n, out, taken_along(in[0], in[1], dim));
    Made x(flattened(in[0])), indices(x ? flattened(in[1]) : nullptr);
    return indices ? fl_compose_result(op, in, n, out, taken_along(fl_tensor_value(x),
                                                                   fl_tensor_value(indices), 0))
                   : -1;
}

/* Masks of bytes are older than those of bools. */
int fl_choose_by_bytes(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (PyErr_WarnEx(PyExc_UserWarning, "where received a uint8 condition tensor. This behavior is "
                     "deprecated. Use a boolean condition instead: write x != 0", 1) < 0)
        return -1;
    Made mask(fl_compose(FL_OP_ne, in[0], fl_int_value(0)));
    if (!mask)
        return -1;
    const fl_value chosen[] = {fl_tensor_value(mask), in[1], in[2]};
    return fl_call_pointwise(op, chosen, n, out);
}
