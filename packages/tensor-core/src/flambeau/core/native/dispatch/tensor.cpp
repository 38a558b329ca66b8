/* Making tensors: geometry and memory for blank objects. */
#include "dispatch/history.h"
#include "dispatch/python.h"
#include "overrides/subclass.h"

PyTypeObject *fl_tensor_type = nullptr;

static int room_for_geometry(fl_tensor *t, int ndim) {
    int64_t *inlined = ((fl_tensor_full *)t)->inline_geometry;
    if (FL_LIKELY(ndim <= 8)) {
        t->shape = inlined;
        t->strides = inlined + 8;
        return 0;
    }
    if (ndim > FL_MAX_DIMS) {
        PyErr_Format(fl_python.argument_error, "a tensor may have at most %d dimensions; this one would "
                     "have %d", FL_MAX_DIMS, ndim);
        return -1;
    }
    t->shape = (int64_t *)PyMem_Malloc(2 * FL_MAX_DIMS * sizeof(int64_t));
    if (!t->shape) {
        PyErr_NoMemory();
        return -1;
    }
    t->strides = t->shape + FL_MAX_DIMS;
    return 0;
}

int fl_tensor_geometry(fl_tensor *t, int ndim, const int64_t *shape, const int64_t *strides) {
    if (room_for_geometry(t, ndim) < 0)
        return -1;
    if (FL_UNLIKELY(!fl_count_elements(ndim, shape, &t->numel))) {
        fl_count_error("", ndim, shape);
        return fl_raise();
    }
    t->ndim = ndim;
    for (int i = 0; i < ndim; i++)
        t->shape[i] = shape[i];
    if (strides) {
        for (int i = 0; i < ndim; i++)
            t->strides[i] = strides[i];
        if (fl_geometry_contiguous(ndim, shape, strides))
            t->flags |= FL_CONTIGUOUS;
        else
            t->flags &= ~(uint32_t)FL_CONTIGUOUS;
    } else {
        fl_contiguous_strides(ndim, shape, t->strides);
        t->flags |= FL_CONTIGUOUS;
    }
    return 0;
}

static int checked_bytes(int dtype, int ndim, const int64_t *shape, size_t *bytes) {
    for (int i = 0; i < ndim; i++)
        if (FL_UNLIKELY(shape[i] < 0)) {
            PyErr_Format(fl_python.argument_error, "a tensor of shape %s: sizes must not be negative",
                         fl_shape_text(shape, ndim));
            return -1;
        }
    int64_t n;
    if (FL_UNLIKELY(!fl_count_elements(ndim, shape, &n) ||
                    __builtin_mul_overflow(n, fl_itemsize(dtype), &n))) {
        fl_bytes_error(dtype, ndim, shape);
        fl_raise();
        return -1;
    }
    *bytes = (size_t)n;
    return 0;
}

/* Bytes between the first element and the end of the last, with any strides. */
static int spanned_bytes(int dtype, int ndim, const int64_t *shape, const int64_t *strides,
                         size_t *bytes) {
    int64_t last = 0, step;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] == 0)
            return checked_bytes(dtype, ndim, shape, bytes);
        if (shape[i] < 0 || strides[i] < 0 ||
            __builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
            __builtin_add_overflow(last, step, &last)) {
            PyErr_Format(fl_python.argument_error, "a tensor of shape %s and stride %s: sizes and strides "
                         "must not be negative and their span must be countable",
                         fl_shape_text(shape, ndim), fl_shape_text(strides, ndim));
            return -1;
        }
    }
    last += 1;
    return checked_bytes(dtype, 1, &last, bytes);
}

static void own(fl_tensor *t, fl_storage *s, int dtype, int64_t offset) {
    t->storage = (PyObject *)s;
    t->data = s->ptr + offset;
    t->version = &s->version;
    t->dtype = (uint8_t)dtype;
    t->device_type = s->device_type;
    t->device_index = s->device_index;
    if (s->readonly)
        t->flags |= FL_READONLY;
    if (FL_UNLIKELY(fl_thread.mode & FL_M_INFERENCE))
        t->flags |= FL_INFERENCE;
}

fl_tensor *fl_tensor_empty(int dtype, int device, int ndim, const int64_t *shape) {
    return fl_tensor_strided(dtype, device, ndim, shape, nullptr);
}

fl_tensor *fl_tensor_strided(int dtype, int device, int ndim, const int64_t *shape,
                             const int64_t *strides) {
    size_t bytes;
    int status = strides ? spanned_bytes(dtype, ndim, shape, strides, &bytes)
                         : checked_bytes(dtype, ndim, shape, &bytes);
    if (status < 0)
        return nullptr;
    fl_storage *s = fl_storage_new(bytes, device);
    if (!s)
        return nullptr;
    fl_tensor *t = fl_tensor_blank();
    if (!t || fl_tensor_geometry(t, ndim, shape, strides) < 0) {
        Py_DECREF(s);
        Py_XDECREF(t);
        return nullptr;
    }
    own(t, s, dtype, 0);
    return t;
}

fl_tensor *fl_tensor_on(fl_storage *storage, int dtype, int ndim, const int64_t *shape,
                        const int64_t *strides, int64_t offset_bytes) {
    fl_tensor *t = fl_tensor_blank();
    if (!t || fl_tensor_geometry(t, ndim, shape, strides) < 0) {
        Py_XDECREF(t);
        return nullptr;
    }
    Py_INCREF(storage);
    own(t, storage, dtype, offset_bytes);
    return t;
}

fl_tensor *fl_tensor_view(fl_tensor *source, int dtype, int ndim, const int64_t *shape,
                          const int64_t *strides, int64_t offset_bytes) {
    fl_tensor *t = fl_tensor_blank();
    if (!t || fl_tensor_geometry(t, ndim, shape, strides) < 0) {
        Py_XDECREF(t);
        return nullptr;
    }
    Py_INCREF(source->storage);
    t->storage = source->storage;
    t->data = fl_advance(source->data, offset_bytes, 1);
    t->version = source->version;
    t->dtype = (uint8_t)dtype;
    t->device_type = source->device_type;
    t->device_index = source->device_index;
    if (FL_UNLIKELY(source->flags & FL_INFERENCE)) { /* never of a graph: no need to know it */
        t->flags |= source->flags & (FL_READONLY | FL_INFERENCE);
        return t;
    }
    t->flags |= FL_VIEW | (source->flags & (FL_READONLY | FL_CONSTANT_VIEW | FL_MULTI_VIEW));
    if (FL_UNLIKELY(!(fl_thread.mode & FL_M_GRAD))) {
        t->flags |= FL_CONSTANT_VIEW;
        if ((fl_thread.mode & FL_M_INFERENCE) && fl_requires_grad(source))
            t->flags |= FL_REQUIRES_GRAD; /* a leaf of its own */
    }
    PyObject *base = ((fl_tensor_full *)source)->base;
    if (base == Py_None)
        base = (PyObject *)source;
    Py_INCREF(base);
    Py_SETREF(((fl_tensor_full *)t)->base, base);
    return t;
}

PyObject *fl_level_alias = nullptr;
PyObject *fl_level_blank = nullptr;

fl_tensor *fl_tensor_alias(fl_tensor *source) {
    if (FL_UNLIKELY(source->flags >> FL_LEVEL_SHIFT) && fl_is_sparse(source) && fl_sparse_alias)
        return (fl_tensor *)PyObject_CallOneArg(fl_sparse_alias, (PyObject *)source);
    if (FL_UNLIKELY(source->flags >> FL_LEVEL_SHIFT) && fl_is_shown_below(source))
        return (fl_tensor *)PyObject_CallOneArg(fl_subclass_alias, (PyObject *)source);
    if (FL_UNLIKELY(source->flags >> FL_LEVEL_SHIFT) && fl_level_alias)
        return (fl_tensor *)PyObject_CallOneArg(fl_level_alias, (PyObject *)source);
    return fl_tensor_alias_from(source, 0);
}

fl_tensor *fl_tensor_alias_from(fl_tensor *source, int first) {
    fl_tensor *t = fl_tensor_blank();
    if (!t || fl_tensor_geometry(t, source->ndim - first, source->shape + first,
                                 source->strides + first) < 0) {
        Py_XDECREF(t);
        return nullptr;
    }
    Py_INCREF(source->storage);
    t->storage = source->storage;
    t->data = source->data;
    t->version = source->version;
    t->dtype = source->dtype;
    t->device_type = source->device_type;
    t->device_index = source->device_index;
    t->flags |= source->flags & (FL_READONLY | FL_INFERENCE);
    return t;
}
