/* Giving the target of out= the shape of the result. */
#include "dispatch/python.h"

/* Bytes from the first element to the end of the last; more than there can be where that overflows,
 * for which no memory has room and allocation has the error. */
static uint64_t bytes_of(const fl_spec *s, const int64_t *strides) {
    int64_t count = 1, last = 0, bytes;
    bool overflows = false;
    for (int i = 0; i < s->ndim; i++) {
        int64_t step = 0;
        if (s->shape[i] == 0)
            return 0;
        overflows |= __builtin_mul_overflow(count, s->shape[i], &count);
        overflows |= strides && __builtin_mul_overflow(s->shape[i] - 1, strides[i], &step);
        overflows |= __builtin_add_overflow(last, step, &last);
    }
    if (strides)
        overflows |= __builtin_add_overflow(last, 1, &count);
    overflows |= __builtin_mul_overflow(count, (int64_t)fl_itemsize(s->dtype), &bytes);
    return overflows ? UINT64_MAX : (uint64_t)bytes;
}

static bool has_room(const fl_tensor *t, uint64_t bytes) {
    const fl_storage *s = (fl_storage *)t->storage;
    uint64_t before = (uint64_t)(t->data - s->ptr);
    return bytes == 0 || (before <= s->nbytes && bytes <= s->nbytes - before);
}

/* Memory of an array or a file stays where it is; x.data shows the memory of x. */
static bool may_move(const fl_storage *s) {
    return s->kind != FL_S_FOREIGN || s->device_type != FL_CPU;
}

/* PyTorch's first words come first, for filters of warnings are written for them. */
static int warn(const fl_op *op, const fl_spec *s, const fl_tensor *t) {
    return PyErr_WarnFormat(
        PyExc_UserWarning, 1, "An output with one or more elements was resized since it had "
        "shape %s and the result of %s() has shape %s: another shape is most often a mistake. "
        "Give out= a tensor of that shape, or one without elements: out.resize_(0)",
        fl_shape_text(t->shape, t->ndim), op->name, fl_shape_text(s->shape, s->ndim));
}

static int refuse_to_move(const fl_op *op, const fl_spec *s, const fl_tensor *t) {
    PyErr_Format(PyExc_RuntimeError, "%s(): Trying to resize storage that is not resizable: out "
                 "has shape %s, the result has shape %s, and its memory belongs to an array or a file; "
                 "give out= a tensor of that shape", op->name, fl_shape_text(t->shape, t->ndim),
                 fl_shape_text(s->shape, s->ndim));
    return -1;
}

/* Writes counted so far count on: what saved this tensor for backward has to notice. */
static int move(const fl_spec *s, const int64_t *strides, fl_tensor *t) {
    fl_tensor *fresh = fl_tensor_strided(t->dtype, fl_device_code(t), s->ndim, s->shape, strides);
    if (!fresh)
        return -1;
    *fresh->version = *t->version;
    PyObject *old = t->storage;
    t->storage = fresh->storage;
    t->data = fresh->data;
    t->version = fresh->version;
    Py_INCREF(t->storage);
    Py_DECREF(fresh);
    Py_DECREF(old);
    return 0;
}

void fl_leave_base(fl_tensor *t) {
    t->flags &= ~(uint32_t)(FL_VIEW | FL_CONSTANT_VIEW | FL_MULTI_VIEW);
    Py_INCREF(Py_None);
    Py_SETREF(((fl_tensor_full *)t)->base, Py_None);
}

/* Memory that suffices is kept, so that a slice without elements may stand for a buffer's start. */
int fl_resize_out(const fl_op *op, const fl_spec *s, fl_tensor *t) {
    const int64_t *strides = s->layout == FL_L_STRIDED ? s->strides : nullptr;
    fl_spec wanted = *s;
    wanted.dtype = t->dtype;
    bool room = has_room(t, bytes_of(&wanted, strides));
    if (!room && !may_move(fl_root_storage(t->storage)))
        return refuse_to_move(op, s, t);
    if (t->numel != 0 && warn(op, s, t) < 0)
        return -1;
    if (!room && move(s, strides, t) < 0)
        return -1;
    fl_leave_base(t);       /* of another shape */
    return fl_tensor_geometry(t, s->ndim, s->shape, strides);
}
