/* Convolutions along lines by those over planes, and transposed convolutions, which are gradients
 * of convolutions for their input. */
#include "common/composite_windows.h"

namespace {

/* Refuse what is not [batch,] channels and n dimensions. */
int check_ranks(const fl_op *op, const fl_value *in, int n) {
    static const char *const SIZES[] = {"length", "height, width", "depth, height, width"};
    const fl_tensor *x = in[0].t, *weight = in[1].t;
    if (x->ndim != n + 1 && x->ndim != n + 2) {
        fl_error(FL_RUNTIME_ERROR, "%s(): input has shape %s; expected %s", op->name,
                 fl_shape_text(x->shape, x->ndim), fl_image_text(n));
        return fl_raise();
    }
    if (weight->ndim == n + 2)
        return 0;
    fl_error(FL_RUNTIME_ERROR, "%s(): weight has shape %s; expected %d dimensions: two of "
             "channels, then %s", op->name, fl_shape_text(weight->shape, weight->ndim), n + 2,
             SIZES[n - 1]);
    return fl_raise();
}

/* The settings of a transposed convolution. */
struct Settings {
    int n;
    int64_t stride[3], padding[3], extra[3], dilation[3], groups;
};

int read_positive(const fl_op *op, const char *param, const fl_value &v, int n, int64_t *out) {
    if (fl_spread(op, param, v, n, out) < 0)
        return -1;
    for (int i = 0; i < n; i++)
        if (out[i] < 1) {
            fl_error(FL_RUNTIME_ERROR, "%s(): %s is %s; its numbers must be 1 or more", op->name,
                     param, fl_shape_text(out, n));
            return fl_raise();
        }
    return 0;
}

int read_settings(const fl_op *op, const fl_value *in, Settings *s) {
    s->groups = in[6].i;
    return read_positive(op, "stride", in[3], s->n, s->stride) < 0 ||
                   fl_spread(op, "padding", in[4], s->n, s->padding) < 0 ||
                   fl_spread(op, "output_padding", in[5], s->n, s->extra) < 0 ||
                   read_positive(op, "dilation", in[7], s->n, s->dilation) < 0
               ? -1
               : 0;
}

/* Channels and dtypes; the rest is checked by the gradient. */
int check_channels(const fl_op *op, const fl_value *in, const Settings &s) {
    const fl_tensor *x = in[0].t, *weight = in[1].t, *bias = fl_t(in[2]);
    int64_t channels = x->shape[x->ndim - s.n - 1], outputs;
    if (s.groups < 1 || weight->shape[0] % s.groups || channels != weight->shape[0] ||
        __builtin_mul_overflow(weight->shape[1], s.groups, &outputs)) {
        fl_error(FL_RUNTIME_ERROR, "%s(): input has shape %s, weight %s and groups=%lld; the input "
                 "must have weight.shape[0] = %lld channels, which groups divides", op->name,
                 fl_shape_text(x->shape, x->ndim), fl_shape_text(weight->shape, weight->ndim),
                 (long long)s.groups, (long long)weight->shape[0]);
        return fl_raise();
    }
    if (bias && (bias->ndim != 1 || bias->shape[0] != outputs)) {
        fl_error(FL_RUNTIME_ERROR, "%s(): bias has shape %s; for a weight of shape %s and "
                 "groups=%lld it must be [%lld]", op->name, fl_shape_text(bias->shape, bias->ndim),
                 fl_shape_text(weight->shape, weight->ndim), (long long)s.groups,
                 (long long)outputs);
        return fl_raise();
    }
    for (int i = 1; i < 3; i++)
        if (fl_t(in[i]) && in[i].t->dtype != x->dtype) {
            fl_error(FL_RUNTIME_ERROR, "%s(): input is %s, but weight or bias is %s; all must have "
                     "the same dtype, convert with .to()", op->name, fl_dtype_name(x->dtype),
                     fl_dtype_name(in[i].t->dtype));
            return fl_raise();
        }
    return 0;
}

/* The output's size along one dimension; -1 after an error. */
int64_t output_size(const fl_op *op, const fl_value *in, const Settings &s, int i) {
    const fl_tensor *x = in[0].t, *weight = in[1].t;
    int64_t most = s.stride[i] > s.dilation[i] ? s.stride[i] : s.dilation[i];
    if (s.extra[i] < 0 || s.extra[i] >= most) {
        fl_error(FL_RUNTIME_ERROR, "%s(): output padding must be smaller than either stride or "
                 "dilation, got output_padding=%s, stride=%s, dilation=%s", op->name,
                 fl_shape_text(s.extra, s.n), fl_shape_text(s.stride, s.n),
                 fl_shape_text(s.dilation, s.n));
        return fl_raise();
    }
    __int128 size = (__int128)(x->shape[x->ndim - s.n + i] - 1) * s.stride[i] -
                    2 * (__int128)s.padding[i] +
                    (__int128)s.dilation[i] * (weight->shape[i + 2] - 1) + 1 + s.extra[i];
    if (size >= 1 && size <= INT32_MAX)
        return (int64_t)size;
    fl_error(FL_RUNTIME_ERROR, "%s(): input of shape %s with stride %s, padding %s and dilation %s "
             "gives %s outputs in dimension %d; they must be %s", op->name,
             fl_shape_text(x->shape, x->ndim), fl_shape_text(s.stride, s.n),
             fl_shape_text(s.padding, s.n), fl_shape_text(s.dilation, s.n),
             size < 1 ? "no" : "too many", i - s.n,
             size < 1 ? "1 or more, choose less padding" : "less than 2**31");
    return fl_raise();
}

/* Zeros behind the end of a dimension. */
fl_tensor *with_zeros(const Made &x, int dim, int64_t count) {
    int64_t shape[FL_MAX_DIMS];
    const fl_tensor *t = x.get();
    for (int d = 0; d < t->ndim; d++)
        shape[d] = d == dim ? count : t->shape[d];
    Made zeros(fl_compose(FL_OP_full_of, fl_ints_value(shape, t->ndim), fl_int_value(0),
                          fl_dtype_value(t->dtype), fl_device_value(t)));
    fl_tensor *parts[] = {x.get(), zeros.get()};
    return zeros ? fl_compose(FL_OP_cat, fl_tensors_value(parts, 2), fl_int_value(dim)) : nullptr;
}

/* Outputs that no input reaches with its kernel, but for zeros, need inputs that are zero. */
fl_tensor *reaching(fl_tensor *x, const Settings &s) {
    Py_INCREF(x);
    for (int i = 0; i < s.n; i++)
        if (s.extra[i] >= s.stride[i]) {
            Made shorter(x);
            x = with_zeros(shorter, x->ndim - s.n + i, s.extra[i] / s.stride[i]);
            if (!x)
                return nullptr;
        }
    return x;
}

fl_tensor *add_bias(fl_tensor *result, const fl_value &bias, int n) {
    static const int64_t shape[] = {-1, 1, 1, 1};
    Made made(result);
    if (!made)
        return nullptr;
    Made column(fl_compose(FL_OP_view, bias, fl_ints_value(shape, 1 + n)));
    return column ? fl_compose(FL_OP_add, fl_tensor_value(made), fl_tensor_value(column)) : nullptr;
}

/* The gradient of a convolution with these settings, for its input of this shape. */
fl_tensor *spread_kernels(const fl_value &x, const fl_value &weight, const int64_t *shape, int nd,
                          const Settings &s) {
    return fl_compose(s.n == 3 ? FL_OP_conv3d_input_grad : FL_OP_conv2d_input_grad, x, weight,
                      fl_ints_value(shape, nd), fl_ints_value(s.stride, s.n),
                      fl_ints_value(s.padding, s.n), fl_ints_value(s.dilation, s.n),
                      fl_int_value(s.groups));
}

/* Lines as planes of height 1. */
fl_tensor *spread_lines(const fl_value &x, const fl_value &weight, int64_t *shape, int nd,
                        const Settings &s) {
    Settings plane = {2, {1, s.stride[0]}, {0, s.padding[0]}, {0, 0}, {1, s.dilation[0]}, s.groups};
    Made wide(fl_plane_of(x)), kernels(wide ? fl_plane_of(weight) : nullptr);
    shape[nd] = shape[nd - 1];
    shape[nd - 1] = 1;
    return kernels ? fl_line_of(spread_kernels(fl_tensor_value(wide), fl_tensor_value(kernels),
                                               shape, nd + 1, plane))
                   : nullptr;
}

fl_tensor *transposed(const fl_value &x, const fl_value *in, int64_t *shape, const Settings &s) {
    int nd = in[0].t->ndim;
    fl_tensor *result = s.n == 1 ? spread_lines(x, in[1], shape, nd, s)
                                 : spread_kernels(x, in[1], shape, nd, s);
    return fl_is_none(in[2]) ? result : add_bias(result, in[2], s.n);
}

fl_tensor *cast(const fl_value &x, int dtype) {
    return fl_compose(FL_OP_cast, x, fl_dtype_value(dtype));
}

/* In half precision there is one rounding, after the bias. */
fl_tensor *transposed_wide(const fl_value &x, const fl_value *in, int64_t *shape,
                           const Settings &s) {
    Made wide(cast(x, FL_F32)), weight(wide ? cast(in[1], FL_F32) : nullptr);
    if (!weight)
        return nullptr;
    fl_value given[3] = {in[0], fl_tensor_value(weight), in[2]};
    Made result(transposed(fl_tensor_value(wide), given, shape, s));
    return result ? cast(fl_tensor_value(result), in[0].t->dtype) : nullptr;
}

int call_transposed(const fl_op *op, const fl_value *in, int n, fl_value *out, int spatial) {
    Settings s = {};
    s.n = spatial;
    if (check_ranks(op, in, spatial) < 0 || read_settings(op, in, &s) < 0 ||
        check_channels(op, in, s) < 0)
        return -1;
    const fl_tensor *x = in[0].t;
    int64_t shape[FL_MAX_DIMS];
    int first = x->ndim - spatial;
    shape[0] = x->shape[0];
    shape[first - 1] = in[1].t->shape[1] * s.groups;
    for (int i = 0; i < spatial; i++)
        if ((shape[first + i] = output_size(op, in, s, i)) < 0)
            return -1;
    Made reached(reaching(in[0].t, s));
    if (!reached)
        return -1;
    bool half = !fl_is_none(in[2]) && (x->dtype == FL_F16 || x->dtype == FL_BF16);
    auto compute = half ? transposed_wide : transposed;
    return fl_compose_result(op, in, n, out, compute(fl_tensor_value(reached), in, shape, s));
}

}  // namespace

int fl_call_conv_transpose1d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return call_transposed(op, in, n, out, 1);
}

int fl_call_conv_transpose2d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return call_transposed(op, in, n, out, 2);
}

int fl_call_conv_transpose3d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    return call_transposed(op, in, n, out, 3);
}

int fl_call_conv1d(const fl_op *op, const fl_value *in, int n, fl_value *out) {
    int64_t stride[2] = {1}, padding[2] = {0}, dilation[2] = {1};
    if (check_ranks(op, in, 1) < 0 || fl_spread(op, "stride", in[3], 1, stride + 1) < 0 ||
        fl_spread(op, "padding", in[4], 1, padding + 1) < 0 ||
        fl_spread(op, "dilation", in[5], 1, dilation + 1) < 0)
        return -1;
    Made x(fl_plane_of(in[0])), weight(x ? fl_plane_of(in[1]) : nullptr);
    if (!weight)
        return -1;
    fl_tensor *planes = fl_compose(FL_OP_conv2d, fl_tensor_value(x), fl_tensor_value(weight), in[2],
                                   fl_ints_value(stride, 2), fl_ints_value(padding, 2),
                                   fl_ints_value(dilation, 2), in[6]);
    return fl_compose_result(op, in, n, out, fl_line_of(planes));
}
