/* New tensors of the shape, dtype and device of another: empty_like and the like. */
#include "common/compose.h"
#include "common/args.h"
#include "overrides/subclass.h"

/* What the rows have in common: (self, ..., dtype, device, requires_grad, memory_format,
 * layout, pin_memory), of which the last is taken for compatibility. */
struct Wanted {
    fl_tensor *x;
    fl_value dtype, device;
    bool requires_grad;
    const char *format;
};

/* A layout that is given is checked as all functions that make tensors check it. */
static int expect_strided(const fl_op *op, const fl_value &layout) {
    if (fl_is_none(layout))
        return 0;
    PyObject *module = PyImport_ImportModule("flambeau.core.layouts"), *given = fl_box(&layout);
    PyObject *done = module && given ? PyObject_CallMethod(module, "expect_strided", "sO", op->name,
                                                           given) : nullptr;
    Py_XDECREF(module);
    Py_XDECREF(given);
    Py_XDECREF(done);
    return done ? 0 : -1;
}

static int read(const fl_op *op, const fl_value *in, int n, Wanted *w) {
    if (expect_strided(op, in[n - 2]) < 0)
        return -1;
    w->x = in[0].t;
    w->dtype = in[n - 6];
    w->device = in[n - 5];
    w->requires_grad = in[n - 4].tag == FL_BOOLEAN && in[n - 4].i;
    w->format = fl_format_name(in[n - 3]);
    return !w->format && PyErr_Occurred() ? -1 : 0;
}

/* What fl_level_blank or fl_subclass_blank gives for x; the other arguments as Python objects. */
static fl_tensor *blank_at_levels(PyObject *blank, const fl_tensor *x,
                                  const fl_value (&facts)[4]) {
    PyObject *args[5] = {PyTuple_Pack(1, x)}, *made = nullptr;
    int count = args[0] ? 1 : 0;
    for (; count && count < 5; count++)
        if (!(args[count] = fl_box(&facts[count - 1])))
            break;
    if (count == 5)
        made = PyObject_Vectorcall(blank, args, 5, nullptr);
    while (count > 0)
        Py_DECREF(args[--count]);
    return (fl_tensor *)made;
}

fl_tensor *fl_compose_blank(const fl_tensor *x, const fl_value &shape, const fl_value &strides,
                            const fl_value &dtype, const fl_value &device) {
    if (FL_UNLIKELY(x->flags >> FL_LEVEL_SHIFT) && !fl_is_sparse(x)) {
        PyObject *made = fl_is_shown_below(x) ? fl_subclass_blank : fl_level_blank;
        if (made)
            return blank_at_levels(made, x, {shape, strides, dtype, device});
    }
    if (fl_is_none(strides))
        return fl_compose(FL_OP_empty, shape, dtype, device);
    return fl_compose(FL_OP_empty_strided, shape, strides, dtype, device);
}

/* The order of x in memory where that is dense, or that of a memory format. */
static fl_tensor *blank(const Wanted &w) {
    fl_value dtype = w.dtype.tag == FL_DTYPE ? w.dtype : fl_dtype_value(w.x->dtype);
    fl_value device = w.device.tag == FL_DEVICE ? w.device : fl_device_value(w.x);
    int64_t strides[FL_MAX_DIMS];
    int ordered = fl_format_strides(w.x, w.format ? w.format : "preserve_format", strides);
    if (ordered < 0) {
        fl_raise();
        return nullptr;
    }
    fl_value shape = fl_shape_value(w.x);
    fl_value order = ordered ? fl_ints_value(strides, w.x->ndim) : fl_none_value();
    return fl_compose_blank(w.x, shape, order, dtype, device);
}

/* Memory of one number, or of nothing in particular where it is None. */
static fl_tensor *filled(const Wanted &w, const fl_value &number) {
    bool plain = w.format ? !strcmp(w.format, "contiguous_format") : w.x->flags & FL_CONTIGUOUS;
    if (plain && w.device.tag == FL_NONE && w.x->device_type == FL_CPU)
        return fl_compose(FL_OP_filled_like, fl_tensor_value(w.x), number, w.dtype);
    Made made(blank(w));
    if (!made || (!fl_is_none(number) && fl_compose_into(FL_OP_fill, made.get(), number) < 0))
        return nullptr;
    return made.give();
}

/* Filling the tensor was part of making it: no write has happened to it yet. */
static int finish(const fl_op *op, const fl_value *in, int n, fl_value *out, const Wanted &w,
                  fl_tensor *made) {
    if (!made)
        return -1;
    *made->version = 0;
    if (w.requires_grad) {
        PyObject *self = PyObject_CallMethod((PyObject *)made, "requires_grad_", "O", Py_True);
        if (!self) {
            Py_DECREF(made);
            return -1;
        }
        Py_DECREF(self);
    }
    return fl_compose_result(op, in, n, out, made);
}

static int like(const fl_op *op, const fl_value *in, int n, fl_value *out, const fl_value &number) {
    Wanted w;
    if (read(op, in, n, &w) < 0)
        return -1;
    return finish(op, in, n, out, w, filled(w, number));
}

int fl_call_empty_like(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return like(op, in, n, out, fl_none_value());
}

int fl_call_zeros_like(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return like(op, in, n, out, fl_int_value(0));
}

int fl_call_ones_like(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return like(op, in, n, out, fl_int_value(1));
}

int fl_call_full_like(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    Wanted w;
    if (read(op, in, n, &w) < 0)
        return -1;
    int dtype = w.dtype.tag == FL_NONE ? w.x->dtype : w.dtype.i;
    if (fl_check_number(fl_op_title(op), "fill_value", in[1], dtype) < 0)
        return fl_raise();
    return finish(op, in, n, out, w, filled(w, in[1]));
}

/* Uniform or normal numbers, with the first two parameters that the functions have by default. */
static fl_tensor *drawn(const Wanted &w, int number, const fl_value &generator) {
    Made made(filled(w, fl_none_value()));
    if (!made || fl_compose_into(number, made.get(), fl_float_value(0.0), fl_float_value(1.0),
                                 generator) < 0)
        return nullptr;
    return made.give();
}

static int drawn_like(const fl_op *op, const fl_value *in, int n, fl_value *out, int number) {
    Wanted w;
    if (read(op, in, n, &w) < 0)
        return -1;
    return finish(op, in, n, out, w, drawn(w, number, in[1]));
}

int fl_call_rand_like(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return drawn_like(op, in, n, out, FL_OP_random_uniform);
}

int fl_call_randn_like(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return drawn_like(op, in, n, out, FL_OP_random_normal);
}
