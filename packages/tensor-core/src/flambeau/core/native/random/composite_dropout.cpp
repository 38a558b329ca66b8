/* Dropout: products with random masks. */
#include "common/one_operator.h"
#include "random/generator.h"

#include <cmath>

/* Memory for a mask. A Mersenne Twister fills it in the order of the memory, which is that of x
 * where the shape is. */
static fl_tensor *blank(const fl_tensor *x, const fl_value &shape) {
    fl_value dtype = fl_dtype_value(x->dtype), device = fl_device_value(x);
    int64_t strides[FL_MAX_DIMS];
    if (shape.is != x->shape || x->flags & FL_CONTIGUOUS ||
        !fl_default_generator_state()->mersenne ||
        fl_format_strides(x, "preserve_format", strides) <= 0)
        return fl_compose(FL_OP_empty, shape, dtype, device);
    return fl_compose_blank(x, shape, fl_ints_value(strides, x->ndim), dtype, device);
}

/* 1 / (1 - p) with probability 1 - p, zero elsewhere. */
static fl_tensor *make_mask(const fl_tensor *x, const fl_value &shape, double p) {
    Made mask(blank(x, shape));
    if (!mask || fl_compose_into(FL_OP_random_bernoulli, mask.get(), fl_float_value(1.0 - p)) < 0)
        return nullptr;
    if (p < 1.0 && fl_compose_into(FL_OP_mul, mask.get(), fl_float_value(1.0 / (1.0 - p))) < 0)
        return nullptr;
    return mask.give();
}

static fl_tensor *dropped(fl_tensor *x, const fl_value &shape, double p, bool inplace) {
    Made mask(make_mask(x, shape, p));
    if (!mask)
        return nullptr;
    if (!inplace)
        return fl_compose(FL_OP_mul, fl_tensor_value(x), fl_tensor_value(mask));
    if (fl_compose_into(FL_OP_mul, x, fl_tensor_value(mask)) < 0)
        return nullptr;
    Py_INCREF(x);
    return x;
}

/* What a mask holds for elements that are kept: 1 / (1 - p) as the dtype has it. */
static double rounded_scale(double p, int dtype) {
    double scale = p < 1.0 ? 1.0 / (1.0 - p) : 1.0;
    if (dtype == FL_F64)
        return scale;
    scale = (double)(float)scale;
    if (dtype == FL_F32)
        return scale;
    int exponent;
    std::frexp(scale, &exponent);
    const double unit = std::ldexp(1.0, exponent - (dtype == FL_F16 ? 11 : 8));
    scale = std::nearbyint(scale / unit) * unit;
    return dtype == FL_F16 && scale > 65504.0 ? INFINITY : scale;
}

/* On a device one kernel draws, multiplies, and keeps a byte for each element. */
static bool is_one_launch(const fl_value *in, const fl_value *out, const fl_value &shape) {
    return fl_is_one_operator(in, 1, out) && !in[3].i && shape.is == in[0].t->shape &&
           in[0].t->flags & FL_CONTIGUOUS;
}

static int refuse_probability(const char *what, double p) {
    PyObject *given = PyFloat_FromDouble(p);
    if (given)
        PyErr_Format(PyExc_ValueError, "%s%sdropout probability has to be between 0 and 1, but got "
                     "%R", what, *what ? "(): " : "", given);
    Py_XDECREF(given);
    return -1;
}

/* (input, p, training, inplace); the mask has this shape, and is broadcast. */
static int drop(const fl_op *op, const fl_value *in, int n, fl_value *out, const fl_value &shape) {
    fl_tensor *x = in[0].t;
    double p = in[1].d;
    if (!in[2].i || p == 0.0) {
        Py_INCREF(x);
        return fl_compose_result(op, in, n, out, x);
    }
    if (is_one_launch(in, out, shape))
        return fl_compose_result(op, in, n, out,
                                 fl_compose_first(FL_OP_native_dropout, in[0], in[1],
                                                  fl_float_value(rounded_scale(p, x->dtype)),
                                                  fl_none_value()));
    return fl_compose_result(op, in, n, out, dropped(x, shape, p, in[3].i));
}

int fl_call_dropout(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    if (!(in[1].d >= 0.0 && in[1].d <= 1.0))
        return refuse_probability("", in[1].d);
    return drop(op, in, n, out, fl_shape_value(in[0].t));
}

/* ---- whole channels ------------------------------------------------------------------------ */

/* A shape with one element for each channel of each sample; `unbatched` dimensions are those of a
 * single sample. */
static int drop_channels(const fl_op *op, const fl_value *in, int n, fl_value *out, int unbatched) {
    const fl_tensor *x = in[0].t;
    if (!(in[1].d >= 0.0 && in[1].d <= 1.0))
        return refuse_probability(op->name, in[1].d);
    int leading = x->ndim == unbatched ? 1 : 2;
    if (x->ndim < leading) {
        fl_error(FL_RUNTIME_ERROR, "%s(): expected an input with at least 2 dimensions, samples "
                 "and channels, got shape %s", op->name, fl_shape_text(x->shape, x->ndim));
        return fl_raise();
    }
    int64_t shape[FL_MAX_DIMS];
    for (int d = 0; d < x->ndim; d++)
        shape[d] = d < leading ? x->shape[d] : 1;
    return drop(op, in, n, out, fl_ints_value(shape, x->ndim));
}

int fl_call_dropout1d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    if (x->ndim == 2 || x->ndim == 3)
        return drop_channels(op, in, n, out, 2);
    fl_error(FL_RUNTIME_ERROR, "dropout1d(): expected 2D or 3D input, but received a %dD input of "
             "shape %s", x->ndim, fl_shape_text(x->shape, x->ndim));
    return fl_raise();
}

static int warn_of_dims(const fl_op *op, const fl_tensor *x, const char *expected) {
    return PyErr_WarnFormat(PyExc_UserWarning, 1, "%s: Received a %d-D input to %s, which expects "
                            "%s: the first two dimensions are taken for samples and channels. Use "
                            "dropout() to zero single elements.", op->name, x->ndim, op->name,
                            expected);
}

int fl_call_dropout2d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    int warned = 0;
    if (x->ndim == 3)
        warned = PyErr_WarnEx(PyExc_UserWarning, "dropout2d: Received a 3-D input to dropout2d, "
                              "which is taken for (N, C, L). A single sample (C, H, W) needs "
                              "unsqueeze(0); for (N, C, L) write dropout1d().", 1);
    else if (x->ndim != 4)
        warned = warn_of_dims(op, x, "(N, C, H, W)");
    return warned ? -1 : drop_channels(op, in, n, out, -1);
}

int fl_call_dropout3d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    const fl_tensor *x = in[0].t;
    if (x->ndim != 4 && x->ndim != 5 && warn_of_dims(op, x, "(N, C, D, H, W) or (C, D, H, W)"))
        return -1;
    return drop_channels(op, in, n, out, 4);
}
