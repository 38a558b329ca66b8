/* Other shapes of the same elements: views where they can be, else copies. */
#include "common/compose.h"

static fl_tensor *same(fl_tensor *t) {
    Py_INCREF(t);
    return t;
}

/* ---- reshape ----------------------------------------------------------------------------------- */

/* A wanted shape with its -1 filled in, where the view will not refuse it. */
static void complete(const fl_tensor *x, const fl_value &wanted, int64_t *shape) {
    int64_t known = 1;
    int hole = -1;
    for (int i = 0; i < (int)wanted.len; i++) {
        shape[i] = wanted.is[i];
        if (shape[i] == -1)
            hole = i;
        else
            known = fl_wrapping_mul(known, shape[i]);
    }
    if (hole >= 0 && known > 0 && x->numel % known == 0)
        shape[hole] = x->numel / known;
}

static fl_tensor *reshaped(fl_tensor *x, fl_value wanted) {
    int64_t shape[FL_MAX_DIMS];
    if ((x->flags & FL_CONTIGUOUS) || wanted.len > FL_MAX_DIMS)
        return fl_compose(FL_OP_view, fl_tensor_value(x), wanted);
    complete(x, wanted, shape);
    if (fl_view_possible(x, (int)wanted.len, shape))
        return fl_compose(FL_OP_view, fl_tensor_value(x), wanted);
    Made dense(fl_compose(FL_OP_contiguous_copy, fl_tensor_value(x)));
    return dense ? fl_compose(FL_OP_view, fl_tensor_value(dense), wanted) : nullptr;
}

int fl_call_reshape(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out, reshaped(in[0].t, in[1]));
}

int fl_call_reshape_as(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out, reshaped(in[0].t, fl_shape_value(in[1].t)));
}

static fl_tensor *raveled(const fl_value &x) {
    static const int64_t line[] = {-1};
    if (x.t->flags & FL_CONTIGUOUS)
        return reshaped(x.t, fl_ints_value(line, 1));
    Made dense(fl_compose(FL_OP_contiguous_copy, x));
    return dense ? reshaped(dense.get(), fl_ints_value(line, 1)) : nullptr;
}

int fl_call_ravel(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out, raveled(in[0]));
}

int fl_call_view_as(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_view, in[0], fl_shape_value(in[1].t)));
}

int fl_call_expand_as(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_expand, in[0], fl_shape_value(in[1].t)));
}

static fl_tensor *flattened(const fl_op *op, fl_tensor *x, int64_t first, int64_t last) {
    static const int64_t one[] = {1};
    int start, end;
    if (x->ndim == 0)
        return fl_compose(FL_OP_view, fl_tensor_value(x), fl_ints_value(one, 1));
    if (fl_wrap_dim(op, first, x->ndim, &start) < 0 || fl_wrap_dim(op, last, x->ndim, &end) < 0) {
        fl_raise();
        return nullptr;
    }
    if (start > end) {
        fl_error(FL_RUNTIME_ERROR, "flatten(): start_dim %lld must not come after end_dim %lld "
                 "(shape %s)", (long long)first, (long long)last,
                 fl_shape_text(x->shape, x->ndim));
        fl_raise();
        return nullptr;
    }
    if (start == end)
        return same(x);
    int64_t shape[FL_MAX_DIMS];
    int nd = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (d <= start || d > end)
            shape[nd++] = x->shape[d];
        else
            shape[start] = fl_wrapping_mul(shape[start], x->shape[d]);
    }
    return reshaped(x, fl_ints_value(shape, nd));
}

int fl_call_flatten(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out, flattened(op, in[0].t, in[1].i, in[2].i));
}

/* ---- copies ------------------------------------------------------------------------------------ */

const char *fl_format_name(const fl_value &v) {
    if (v.tag == FL_STRING)
        return v.s;
    if (v.tag != FL_OBJECT)
        return nullptr;
    if (!PyUnicode_Check(v.o)) {
        PyErr_Format(PyExc_TypeError, "memory_format must be one such as "
                     "flambeau.channels_last, not %.100s", Py_TYPE(v.o)->tp_name);
        return nullptr;
    }
    return PyUnicode_AsUTF8(v.o);
}

static fl_tensor *contiguous(fl_tensor *x, const fl_value &format) {
    const char *name = fl_format_name(format);
    if (!name && PyErr_Occurred())
        return nullptr;
    if (!name || !strcmp(name, "contiguous_format"))
        return x->flags & FL_CONTIGUOUS ? same(x)
                                        : fl_compose(FL_OP_contiguous_copy, fl_tensor_value(x));
    if (!strcmp(name, "preserve_format") && !fl_has_format(x, name)) {
        PyErr_SetString(PyExc_RuntimeError, "contiguous(): preserve memory format is unsupported "
                        "by the contiguous operator; name the format that is wanted");
        return nullptr;
    }
    fl_value wanted = fl_none_value();
    wanted.tag = FL_STRING;
    wanted.s = name;
    wanted.len = (uint32_t)strlen(name);
    bool has_it = !(x->flags >> FL_LEVEL_SHIFT) && fl_has_format(x, name);  /* clone() knows levels */
    return has_it ? same(x) : fl_compose(FL_OP_clone, fl_tensor_value(x), wanted);
}

fl_tensor *fl_in_format_of(const fl_tensor *input, fl_tensor *result) {
    const char *name = result ? fl_suggested_format(input) : nullptr;
    if (!name || result->flags >> FL_LEVEL_SHIFT)   /* samples have no memory of their own */
        return result;
    Made made(result);
    fl_value format = fl_none_value();
    format.tag = FL_STRING;
    format.s = name;
    format.len = (uint32_t)strlen(name);
    return contiguous(result, format);
}

int fl_call_contiguous(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return fl_compose_result(op, in, n, out, contiguous(in[0].t, in[1]));
}

/* The row that "narrow_copy" copies the view of. */
static const fl_op *viewer(const fl_op *op) {
    static const size_t suffix = sizeof "_copy" - 1;
    if (!op->reserved[1]) {
        char name[64];
        size_t length = strlen(op->name) - suffix;
        memcpy(name, op->name, length);
        name[length] = 0;
        const_cast<fl_op *>(op)->reserved[1] = (uint64_t)(uintptr_t)fl_find_op(name);
    }
    return (const fl_op *)(uintptr_t)op->reserved[1];
}

int fl_call_copy_of_view(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_op *view = viewer(op);
    fl_value seen[1];
    seen[0].tag = FL_NONE;
    if (!view || fl_dispatch(view, in, view->nparams, seen) < 0)
        return -1;
    Made shown(seen[0].t);
    return fl_compose_result(op, in, n, out,
                             fl_compose(FL_OP_contiguous_copy, fl_tensor_value(shown)));
}
