/* Lists of views along a dimension, and the tensor that joins others along a new one. */
#include <vector>

#include "common/compose.h"

/* ---- views along a dimension ------------------------------------------------------------------- */

/* A tuple of count tensors that make(i) returns; NULL when one of them is NULL. */
template <class Make> static PyObject *tuple_of(int64_t count, Make make) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (int64_t i = 0; tuple && i < count; i++) {
        fl_tensor *piece = make(i);
        if (piece)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, (PyObject *)piece);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static fl_tensor *one_of_several(fl_tensor *view) {
    if (view && view->flags & FL_VIEW)
        view->flags |= FL_MULTI_VIEW;
    return view;
}

/* Pieces of unsafe_split() and the like may be written to, whatever the others show then. */
static bool may_be_written(const fl_op *op) {
    return !strncmp(op->name, "unsafe_", 7);
}

/* A piece; below the tape where all pieces are to have one node. */
static fl_tensor *narrowed(const fl_op *op, const fl_value &x, int dim, int64_t start,
                           int64_t length, bool one_node = false) {
    fl_value at = fl_int_value(dim), from = fl_int_value(start), size = fl_int_value(length);
    fl_tensor *piece = one_node ? fl_compose_unrecorded(FL_OP_narrow, x, at, from, size)
                             : fl_compose(FL_OP_narrow, x, at, from, size);
    return may_be_written(op) ? piece : one_of_several(piece);
}

static bool has_one_node(const fl_op *op, const fl_value &x) {
    return !may_be_written(op) && fl_is_recorded_as_one(x.t);
}

/* Give a tuple of views one node. Takes the reference; NULL stays NULL, and is an error. */
static PyObject *recorded(int number, const fl_value *in, int n, PyObject *views) {
    if (!views)
        return nullptr;
    Py_ssize_t count = PyTuple_GET_SIZE(views);
    std::vector<fl_value> out((size_t)count);
    for (Py_ssize_t i = 0; i < count; i++)
        out[(size_t)i] = fl_tensor_value((fl_tensor *)PyTuple_GET_ITEM(views, i));
    if (fl_record_as_one(number, in, n, out.data(), (int)count) < 0)
        Py_CLEAR(views);
    return views;
}

static int unbound_dim(const fl_op *op, const fl_value *in, int *dim) {
    const fl_tensor *x = in[0].t;
    if (x->ndim == 0) {
        PyErr_Format(PyExc_IndexError, "%s(): a 0-d tensor has no dimension to unbind", op->name);
        return -1;
    }
    return fl_wrap_dim(op, in[1].i, x->ndim, dim) < 0 ? fl_raise() : 0;
}

int fl_call_unbind(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int dim;
    if (unbound_dim(op, in, &dim) < 0)
        return -1;
    fl_value at = fl_int_value(dim);
    bool one_node = has_one_node(op, in[0]);
    PyObject *slices = tuple_of(in[0].t->shape[dim], [&](int64_t i) {
        fl_value index = fl_int_value(i);
        return one_of_several(one_node ? fl_compose_unrecorded(FL_OP_select, in[0], at, index)
                                    : fl_compose(FL_OP_select, in[0], at, index));
    });
    if (one_node)
        slices = recorded(FL_OP_unbind, in, n, slices);
    return fl_compose_result(op, in, n, out, slices);
}

int fl_call_unbind_copy(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int dim;
    if (unbound_dim(op, in, &dim) < 0)
        return -1;
    PyObject *slices = tuple_of(in[0].t->shape[dim], [&](int64_t i) -> fl_tensor * {
        Made slice(fl_compose(FL_OP_select, in[0], fl_int_value(dim), fl_int_value(i)));
        return slice ? fl_compose(FL_OP_contiguous_copy, fl_tensor_value(slice)) : nullptr;
    });
    return fl_compose_result(op, in, n, out, slices);
}

/* Pieces of one length, the last of what remains. */
static PyObject *equal_pieces(const fl_op *op, const fl_value &x, int dim, int64_t step) {
    int64_t size = x.t->shape[dim];
    int64_t count = size == 0 ? 1 : (size - 1) / step + 1;
    bool one_node = has_one_node(op, x);
    PyObject *pieces = tuple_of(count, [&](int64_t i) {
        int64_t start = i * step;
        return narrowed(op, x, dim, start, size - start < step ? size - start : step, one_node);
    });
    if (!one_node)
        return pieces;
    fl_value in[3] = {x, fl_object_value(PyLong_FromLongLong(step)), fl_int_value(dim)};
    pieces = recorded(FL_OP_split, in, 3, pieces);
    Py_XDECREF(in[1].o);
    return pieces;
}

static int read_lengths(PyObject *given, int64_t *lengths, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; i++) {
        lengths[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(given, i));
        if (lengths[i] == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* Whether lengths are at least 0 and add up to the size. */
static bool fill(const int64_t *lengths, Py_ssize_t count, int64_t size) {
    for (Py_ssize_t i = 0; i < count; i++) {
        if (lengths[i] < 0 || lengths[i] > size)
            return false;
        size -= lengths[i];
    }
    return size == 0;
}

static PyObject *pieces_of_lengths(const fl_op *op, const fl_value &x, int dim,
                                   const int64_t *lengths, Py_ssize_t count) {
    int64_t start = 0;
    bool one_node = has_one_node(op, x);
    PyObject *pieces = tuple_of(count, [&](int64_t i) {
        start += lengths[i];
        return narrowed(op, x, dim, start - lengths[i], lengths[i], one_node);
    });
    fl_value in[3] = {x, fl_ints_value(lengths, (int)count), fl_int_value(dim)};
    return one_node ? recorded(FL_OP_split_with_sizes, in, 3, pieces) : pieces;
}

static PyObject *sections(const fl_op *op, const fl_value &x, int dim, PyObject *wanted) {
    PyObject *given = PySequence_Tuple(wanted);
    if (!given)
        return nullptr;
    Py_ssize_t count = PyTuple_GET_SIZE(given);
    fl_arena arena;
    int64_t *lengths = arena.words(count), size = x.t->shape[dim];
    PyObject *pieces = nullptr;
    if (!lengths || read_lengths(given, lengths, count) < 0)
        ;   /* the error is set */
    else if (fill(lengths, count, size))
        pieces = pieces_of_lengths(op, x, dim, lengths, count);
    else
        PyErr_Format(PyExc_RuntimeError, "%s(): split_with_sizes expects split_sizes to sum "
                     "exactly to %lld (input tensor's size at dimension %d), but got %S", op->name,
                     (long long)size, dim, wanted);
    Py_DECREF(given);
    return pieces;
}

int fl_call_split(const fl_op *op, const fl_value *in, int n, fl_value *out);

/* An int in a tensor, of whatever dtype, is the length of a section, too. */
static int split_by_tensor(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    PyObject *length = PyNumber_Long(in[1].o);
    if (!length)
        return -1;
    fl_value args[3] = {in[0], in[1], in[2]};
    args[1].o = length;
    int status = fl_call_split(op, args, n, out);
    Py_DECREF(length);
    return status;
}

int fl_call_split(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int dim;
    if (in[0].t->ndim == 0) {
        PyErr_SetString(PyExc_RuntimeError, "split(): expects at least a 1-dimensional tensor");
        return -1;
    }
    if (fl_wrap_dim(op, in[2].i, in[0].t->ndim, &dim) < 0)
        return fl_raise();
    PyObject *wanted = in[1].tag == FL_OBJECT ? in[1].o : Py_None;
    if (FL_UNLIKELY(fl_tensor_check(wanted)) && ((fl_tensor *)wanted)->numel == 1)
        return split_by_tensor(op, in, n, out);
    if (PyBool_Check(wanted)) {
        PyErr_SetString(PyExc_TypeError, "split(): argument 'split_size' must be int or list of "
                        "ints, not bool");
        return -1;
    }
    if (!PyLong_Check(wanted))
        return fl_compose_result(op, in, n, out, sections(op, in[0], dim, wanted));
    int64_t step = PyLong_AsLongLong(wanted);
    if (step == -1 && PyErr_Occurred())
        return -1;
    if (step < 0 || (step == 0 && in[0].t->shape[dim] > 0)) {
        PyErr_Format(PyExc_RuntimeError, "split(): split_size must be positive, got %lld",
                     (long long)step);
        return -1;
    }
    return fl_compose_result(op, in, n, out, equal_pieces(op, in[0], dim, step));
}

static const int64_t MAX_EMPTY_CHUNKS = 1 << 20;

int fl_call_chunk(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int dim;
    int64_t chunks = in[1].i;
    if (chunks <= 0) {
        PyErr_Format(PyExc_RuntimeError, "chunk(): expects chunks to be greater than 0, got %lld",
                     (long long)chunks);
        return -1;
    }
    if (in[0].t->ndim == 0) {
        PyErr_SetString(PyExc_RuntimeError, "chunk(): expects at least a 1-dimensional tensor");
        return -1;
    }
    if (fl_wrap_dim(op, in[2].i, in[0].t->ndim, &dim) < 0)
        return fl_raise();
    int64_t size = in[0].t->shape[dim];
    if (size)
        return fl_compose_result(op, in, n, out,
                                 equal_pieces(op, in[0], dim, (size - 1) / chunks + 1));
    if (chunks > MAX_EMPTY_CHUNKS) {
        PyErr_Format(PyExc_RuntimeError, "chunk(): %lld chunks of a dimension of size 0 would all "
                     "be empty; at most %lld are made", (long long)chunks,
                     (long long)MAX_EMPTY_CHUNKS);
        return -1;
    }
    PyObject *empty = tuple_of(chunks, [&](int64_t) { return narrowed(op, in[0], dim, 0, 0); });
    return fl_compose_result(op, in, n, out, empty);
}

/* ---- joining ----------------------------------------------------------------------------------- */

static int check_shapes(const fl_value &tensors) {
    if (tensors.len == 0) {
        PyErr_SetString(PyExc_RuntimeError, "stack(): expected a non-empty list of tensors");
        return -1;
    }
    const fl_tensor *first = tensors.ts[0];
    for (uint32_t i = 0; i < tensors.len; i++) {
        const fl_tensor *t = tensors.ts[i];
        if (!t) {
            PyErr_Format(PyExc_TypeError, "stack(): entry %u is None, not a tensor", i);
            return -1;
        }
        if (t->ndim == first->ndim &&
            !memcmp(t->shape, first->shape, sizeof(int64_t) * (size_t)t->ndim))
            continue;
        fl_error(FL_RUNTIME_ERROR, "stack(): stack expects each tensor to be equal size, but got "
                 "%s at entry 0 and %s at entry %u", fl_shape_text(first->shape, first->ndim),
                 fl_shape_text(t->shape, t->ndim), i);
        return fl_raise();
    }
    return 0;
}

int fl_call_stack(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int dim;
    if (check_shapes(in[0]) < 0)
        return -1;
    if (fl_wrap_dim(op, in[1].i, in[0].ts[0]->ndim + 1, &dim) < 0)
        return fl_raise();
    fl_value dimension = fl_int_value(dim);
    PyObject *slices = tuple_of(in[0].len, [&](int64_t i) {
        return fl_compose(FL_OP_unsqueeze, fl_tensor_value(in[0].ts[i]), dimension);
    });
    if (!slices)
        return -1;
    fl_value list = fl_tensors_value((fl_tensor **)((PyTupleObject *)slices)->ob_item, in[0].len);
    fl_value values[2] = {list, dimension};
    int status;
    if (out[0].tag == FL_TENSOR)        /* no copy after it: cat writes where it should */
        status = fl_dispatch(&fl_builtin_ops[FL_OP_cat], values, 2, out);
    else
        status = fl_compose_result(op, in, n, out, fl_compose(FL_OP_cat, list, dimension));
    Py_DECREF(slices);
    return status;
}
