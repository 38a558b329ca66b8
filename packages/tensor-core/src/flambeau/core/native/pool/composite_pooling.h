/* Arguments of poolings, and blocks seen as planes: what the composites with and without positions
 * of maxima share. */
#pragma once
#include "common/composite_windows.h"

namespace {

/* Refuse what is not [batch,] channels and n dimensions that hold something, from `first` on. */
inline int check_image(const fl_op *op, const fl_tensor *x, int n, int first) {
    bool fits = x->ndim == n + 1 || x->ndim == n + 2;
    for (int d = first; fits && d < x->ndim; d++)
        fits = x->shape[d] != 0;
    if (fits)
        return 0;
    fl_error(FL_RUNTIME_ERROR, "%s(): input has shape %s; expected %s, of which only the batch may "
             "be empty", op->name, fl_shape_text(x->shape, x->ndim), fl_image_text(n));
    return fl_raise();
}

inline int check_image(const fl_op *op, const fl_tensor *x, int n) {
    return check_image(op, x, n, x->ndim - n - 1);
}

inline bool is_left_out(const fl_value &v) {
    return v.tag == FL_NONE || (v.tag == FL_INTS && v.len == 0);
}

/* The settings of a pooling along lines as those over planes of height 1. */
struct Lines {
    int64_t size[2] = {1}, stride[2] = {1}, padding[2] = {0}, dilation[2] = {1};
};

inline int read_lines(const fl_op *op, const fl_value *in, Lines *s) {
    if (check_image(op, in[0].t, 1) < 0 || fl_spread(op, "kernel_size", in[1], 1, s->size + 1) < 0 ||
        fl_spread(op, "padding", in[3], 1, s->padding + 1) < 0)
        return -1;
    s->stride[1] = s->size[1];
    return is_left_out(in[2]) ? 0 : fl_spread(op, "stride", in[2], 1, s->stride + 1);
}

/* ---- blocks: planes, then what these leave along the depth -------------------------------------- */
struct Blocks {
    int64_t size[3], stride[3], padding[3], dilation[3] = {1, 1, 1};
};

inline int read_blocks(const fl_op *op, const fl_value *in, Blocks *s) {
    if (check_image(op, in[0].t, 3) < 0 || fl_spread(op, "kernel_size", in[1], 3, s->size) < 0 ||
        fl_spread(op, "padding", in[3], 3, s->padding) < 0)
        return -1;
    return fl_spread(op, is_left_out(in[2]) ? "kernel_size" : "stride",
                     is_left_out(in[2]) ? in[1] : in[2], 3, s->stride);
}

/* [batch times channels, depth, height, width] */
inline fl_tensor *as_planes(const fl_value &x) {
    int nd = x.t->ndim;
    const int64_t *image = x.t->shape + nd - 3;
    int64_t shape[] = {1, image[0], image[1], image[2]};
    for (int d = 0; d < nd - 3; d++)
        shape[0] *= x.t->shape[d];
    return fl_compose(FL_OP_reshape, x, fl_ints_value(shape, 4));
}

/* Planes over each other as one plane, whose columns go through the depth. */
inline fl_tensor *as_towers(const Made &planes) {
    const int64_t *of = planes.get()->shape;
    int64_t shape[] = {of[0], 1, of[1], of[2] * of[3]};
    return fl_compose(FL_OP_reshape, fl_tensor_value(planes), fl_ints_value(shape, 4));
}

/* ---- adaptive ---------------------------------------------------------------------------------- */

/* An integer, or None for the image's length; -1 after an error. What does not fit is less than 0. */
inline int wanted_size(PyObject *given, int64_t length, int64_t *wanted) {
    *wanted = length;
    if (given == Py_None)
        return 0;
    PyObject *number = PyNumber_Index(given);
    if (!number)
        return -1;
    int overflow;
    *wanted = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    *wanted = overflow ? -1 : *wanted;
    return 0;
}

/* The output's sizes: one for all dimensions, or a list of them. */
inline int wanted_sizes(const fl_op *op, const fl_tensor *x, const fl_value &sizes, int n,
                        int64_t *wanted) {
    PyObject *given = sizes.tag == FL_OBJECT ? sizes.o : Py_None;
    bool several = PyTuple_Check(given) || PyList_Check(given), fits = true;
    Py_ssize_t count = several ? PySequence_Fast_GET_SIZE(given) : 1;
    if (check_image(op, x, n, 1) < 0)
        return -1;
    if (count != 1 && count != n) {
        PyErr_Format(PyExc_RuntimeError, "%s(): output_size is %R; it must be one number or %d, "
                     "where None keeps the input's size", op->name, given, n);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        PyObject *one = several ? PySequence_Fast_GET_ITEM(given, count == 1 ? 0 : i) : given;
        if (wanted_size(one, x->shape[x->ndim - n + i], &wanted[i]) < 0)
            return -1;
        fits = fits && wanted[i] >= 0 && wanted[i] <= INT32_MAX;
    }
    if (fits)
        return 0;
    PyErr_Format(PyExc_RuntimeError, "%s(): output sizes must be at least 0 and less than 2**31, "
                 "got %R", op->name, given);
    return -1;
}

inline int check_floating(const fl_op *op, const fl_tensor *x) {
    if (fl_is_float(x->dtype))
        return 0;
    PyErr_Format(PyExc_NotImplementedError, "%s(): not implemented for %s; convert to a floating "
                 "dtype, as in x.float()", op->name, fl_dtype_name(x->dtype));
    return -1;
}

/* The windows, where they lie side by side. */
inline bool even_windows(const fl_tensor *x, const int64_t *wanted, int n, int64_t *windows) {
    for (int i = 0; i < n; i++) {
        int64_t length = x->shape[x->ndim - n + i];
        if (wanted[i] == 0 || length % wanted[i])
            return false;
        windows[i] = length / wanted[i];
    }
    return x->numel > 0;
}

}  // namespace
