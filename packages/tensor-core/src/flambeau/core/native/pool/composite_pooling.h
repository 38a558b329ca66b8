/* Arguments of poolings, and blocks seen as planes: what the composites with and without places of
 * maxima share. */
#pragma once
#include "common/composite_windows.h"

namespace {

/* Refuse what is not [batch,] channels and n dimensions that hold something. */
inline int check_image(const fl_op *op, const fl_tensor *x, int n) {
    bool fits = x->ndim == n + 1 || x->ndim == n + 2;
    for (int d = x->ndim - n - 1; fits && d < x->ndim; d++)
        fits = x->shape[d] != 0;
    if (fits)
        return 0;
    fl_error(FL_RUNTIME_ERROR, "%s(): input has shape %s; expected %s, of which only the batch may "
             "be empty", op->name, fl_shape_text(x->shape, x->ndim), fl_image_text(n));
    return fl_raise();
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

/* The wanted sizes: whole numbers, or None for the image's. Anything else, errors too, is for the
 * composite in Python. */
inline bool wanted_sizes(const fl_tensor *x, const fl_value &sizes, int n, int64_t *wanted) {
    PyObject *given = sizes.tag == FL_OBJECT ? sizes.o : Py_None;
    bool several = PyTuple_CheckExact(given);
    if (!fl_is_float(x->dtype) || (x->ndim != n + 1 && x->ndim != n + 2) || x->numel == 0 ||
        (several && PyTuple_GET_SIZE(given) != n))
        return false;
    for (int i = 0; i < n; i++) {
        PyObject *one = several ? PyTuple_GET_ITEM(given, i) : given;
        int64_t size = one == Py_None          ? x->shape[x->ndim - n + i]
                       : PyLong_CheckExact(one) ? PyLong_AsLong(one) : 0;
        if (size == -1 && PyErr_Occurred())
            PyErr_Clear();
        if (size < 1 || size > INT32_MAX)
            return false;
        wanted[i] = size;
    }
    return true;
}

/* The windows, where they lie side by side. */
inline bool even_windows(const fl_tensor *x, const int64_t *wanted, int n, int64_t *windows) {
    for (int i = 0; i < n; i++) {
        int64_t length = x->shape[x->ndim - n + i];
        if (length % wanted[i])
            return false;
        windows[i] = length / wanted[i];
    }
    return true;
}

}  // namespace
