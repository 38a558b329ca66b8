/* Tensors joined after they got as many dimensions as the join needs, and equal sections. Errors,
 * and targets for the result, in Python. */
#include "common/compose.h"

static const int MOST = 32;     /* tensors of the short way */

/* x with dimensions of size 1 added: as a vector, a matrix, a stack of one column per element. */
static fl_tensor *at_least(fl_tensor *x, int ndim) {
    fl_value v = fl_tensor_value(x);
    int64_t shape[3] = {1, 1, 1};
    if (x->ndim >= ndim) {
        Py_INCREF(x);
        return x;
    }
    if (x->ndim == 1)
        shape[1] = x->shape[0];
    if (x->ndim == 2) {
        shape[0] = x->shape[0];
        shape[1] = x->shape[1];
    }
    return fl_compose(FL_OP_reshape, v, fl_ints_value(shape, ndim));
}

static bool are_few(const fl_value &tensors) {
    for (uint32_t i = 0; i < tensors.len; i++)
        if (!tensors.ts[i])
            return false;
    return tensors.len > 0 && tensors.len <= MOST;
}

/* The join along a dimension; -1 for the first of vectors and the second of others. */
static fl_tensor *join(const fl_value &tensors, int ndim, int dim, bool columns) {
    fl_tensor *parts[MOST];
    int made = 0, count = (int)tensors.len;
    for (; made < count; made++) {
        fl_tensor *x = tensors.ts[made];
        int64_t column[] = {x->numel, 1};
        parts[made] = columns && x->ndim < 2
                          ? fl_compose(FL_OP_reshape, fl_tensor_value(x), fl_ints_value(column, 2))
                          : at_least(x, ndim);
        if (!parts[made])
            break;
    }
    fl_tensor *result = nullptr;
    if (made == count) {
        int along = dim >= 0 ? dim : parts[0]->ndim == 1 ? 0 : 1;
        result = fl_compose(FL_OP_cat, fl_tensors_value(parts, count), fl_int_value(along));
    }
    for (int i = 0; i < made; i++)
        Py_DECREF(parts[i]);
    return result;
}

static int stacked(const fl_op *op, const fl_value *in, int n, fl_value *out, int ndim, int dim,
                   bool columns = false) {
    if (!fl_is_short(out, are_few(in[0])))
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, join(in[0], ndim, dim, columns));
}

int fl_call_hstack(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return stacked(op, in, n, out, 1, -1);
}

int fl_call_vstack(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return stacked(op, in, n, out, 2, 0);
}

int fl_call_dstack(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return stacked(op, in, n, out, 3, 2);
}

int fl_call_column_stack(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return stacked(op, in, n, out, 1, -1, true);
}

/* ---- sections -------------------------------------------------------------------------------- */

static const int64_t MOST_SECTIONS = 1 << 10;

/* The number of sections where it is a plain int, else 0. */
static int64_t count_sections(const fl_value &v) {
    if (v.tag != FL_OBJECT || !PyLong_CheckExact(v.o))
        return 0;
    int overflow;
    int64_t count = PyLong_AsLongLongAndOverflow(v.o, &overflow);
    return overflow || count < 0 || count > MOST_SECTIONS ? 0 : count;
}

/* The first size % count sections have one element more. */
static PyObject *sections(const fl_value &x, int dim, int64_t count) {
    int64_t size = x.t->shape[dim], start = 0;
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (int64_t i = 0; tuple && i < count; i++) {
        int64_t length = size / count + (i < size % count);
        fl_tensor *piece = fl_compose(FL_OP_narrow, x, fl_int_value(dim), fl_int_value(start),
                                      fl_int_value(length));
        start += length;
        if (piece)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, (PyObject *)piece);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static int cut(const fl_op *op, const fl_value *in, int n, fl_value *out, int64_t dim, bool equal) {
    const fl_tensor *x = in[0].t;
    int64_t count = count_sections(in[1]);
    dim += dim < 0 ? x->ndim : 0;
    bool plain = count > 0 && dim >= 0 && dim < x->ndim && (!equal || x->shape[dim] % count == 0);
    if (!plain)
        return fl_call_composite(op, in, n, out);
    return fl_compose_result(op, in, n, out, sections(in[0], (int)dim, count));
}

int fl_call_tensor_split(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return cut(op, in, n, out, in[2].i, false);
}

int fl_call_hsplit(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return cut(op, in, n, out, in[0].t->ndim > 1, true);
}

int fl_call_vsplit(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return in[0].t->ndim < 2 ? fl_call_composite(op, in, n, out)
                             : cut(op, in, n, out, 0, true);
}

int fl_call_dsplit(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return in[0].t->ndim < 3 ? fl_call_composite(op, in, n, out)
                             : cut(op, in, n, out, 2, true);
}
