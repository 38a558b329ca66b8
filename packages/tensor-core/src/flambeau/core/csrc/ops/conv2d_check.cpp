/* Argument checks of the convolution rows. */
#include "ops/conv2d.h"

static int check_channels(const fl_op *op, const int64_t *weight, int64_t groups, int input_nd,
                          const int64_t *input) {
    int64_t channels = input[input_nd - 3];
    if (groups < 1 || weight[0] % groups)
        return fl_error(FL_RUNTIME_ERROR, "%s: groups=%lld, but weight has shape %s; groups must "
                        "be 1 or more and divide the number of output channels (%lld)",
                        fl_op_title(op), (long long)groups, fl_shape_text(weight, 4),
                        (long long)weight[0]);
    int64_t wanted;
    if (__builtin_mul_overflow(weight[1], groups, &wanted))
        return fl_error(FL_RUNTIME_ERROR, "%s: groups=%lld with weight of shape %s asks for more "
                        "input channels than 64 bits can count", fl_op_title(op),
                        (long long)groups, fl_shape_text(weight, 4));
    if (wanted != channels)
        return fl_error(FL_RUNTIME_ERROR, "%s: given groups=%lld and weight of shape %s, expected "
                        "input %s to have %lld channels, but it has %lld", fl_op_title(op),
                        (long long)groups, fl_shape_text(weight, 4),
                        fl_shape_text(input, input_nd), (long long)wanted,
                        (long long)channels);
    return 0;
}

static int check_fits(const fl_op *op, const fl_conv &p) {
    int64_t padded[2] = {p.h + 2 * p.y.padding, p.w + 2 * p.x.padding};
    int64_t reach[2] = {fl_window_reach(p.y), fl_window_reach(p.x)};
    if (padded[0] >= reach[0] && padded[1] >= reach[1])
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: the kernel covers %s pixels (with dilation), but the "
                    "input with its padding has only %s; enlarge the input or the padding",
                    fl_op_title(op), fl_shape_text(reach, 2), fl_shape_text(padded, 2));
}

int fl_conv_read(const fl_op *op, const fl_value *in, int at, const char *input_name, int input_nd,
                 const int64_t *input, const char *weight_name, int weight_nd,
                 const int64_t *weight, fl_conv *p) {
    if (weight_nd != 4)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s has shape %s; it must be [out_channels, "
                        "in_channels / groups, height, width]", fl_op_title(op), weight_name,
                        fl_shape_text(weight, weight_nd));
    if (input_nd != 3 && input_nd != 4)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s has shape %s; expected [batch, channels, height, "
                        "width], or 3 dimensions for a single image", fl_op_title(op), input_name,
                        fl_shape_text(input, input_nd));
    int64_t stride[2], padding[2], dilation[2], groups = in[at + 3].i;
    if (fl_read_pair(op, "stride", in[at], 1, stride) < 0 ||
        fl_read_pair(op, "padding", in[at + 1], 0, padding) < 0 ||
        fl_read_pair(op, "dilation", in[at + 2], 1, dilation) < 0)
        return -1;
    const int64_t *image = input + input_nd - 3;
    if (fl_check_window_sizes(op, weight_name, 4, weight, nullptr) < 0 ||
        fl_check_window_sizes(op, input_name, input_nd, input, padding) < 0 ||
        check_channels(op, weight, groups, input_nd, input) < 0)
        return -1;
    *p = fl_conv{input_nd == 4 ? input[0] : 1, groups, weight[1], weight[0] / groups, image[1],
                 image[2], 0, 0, {weight[2], stride[0], padding[0], dilation[0]},
                 {weight[3], stride[1], padding[1], dilation[1]}, input_nd == 4};
    if (check_fits(op, *p) < 0)
        return -1;
    p->oh = fl_window_count(p->y, p->h);
    p->ow = fl_window_count(p->x, p->w);
    return 0;
}

int fl_conv_check_dtypes(const fl_op *op, const fl_value *in, int n) {
    int dtype = in[0].t->dtype;
    for (int i = 1; i < n; i++)
        if (fl_t(in[i]) && in[i].t->dtype != dtype)
            return fl_error(FL_RUNTIME_ERROR, "%s: %s is %s, but %s is %s; all must have the same "
                            "dtype, convert one with .to()", fl_op_title(op), op->params[0].name,
                            fl_dtype_name(dtype), op->params[i].name,
                            fl_dtype_name(in[i].t->dtype));
    if (fl_is_float(dtype) || fl_is_complex(dtype))
        return 0;
    return fl_error(FL_NOT_IMPLEMENTED, "%s: not defined for %s; convert to a floating dtype, as "
                    "in x.float()", fl_op_title(op), fl_dtype_name(dtype));
}

int fl_conv_output_shape(const fl_conv &p, int64_t shape[4]) {
    int nd = 0;
    if (p.batched)
        shape[nd++] = p.n;
    shape[nd++] = p.o * p.groups;
    shape[nd++] = p.oh;
    shape[nd++] = p.ow;
    return nd;
}

/* `grad` must have the shape of the convolution's output. */
static int check_grad(const fl_op *op, const fl_conv &p, const fl_tensor *grad) {
    int64_t shape[4];
    int nd = fl_conv_output_shape(p, shape);
    if (grad->ndim == nd && !memcmp(grad->shape, shape, sizeof(int64_t) * (size_t)nd))
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: grad has shape %s; the output of this convolution has "
                    "shape %s", fl_op_title(op), fl_shape_text(grad->shape, grad->ndim),
                    fl_shape_text(shape, nd));
}

int fl_conv_infer_grad(const fl_op *op, const fl_value *in, int n, fl_spec *outs,
                       fl_conv_read_fn read) {
    fl_conv p;
    if (fl_conv_check_dtypes(op, in, 2) < 0 || fl_same_device(op, in, n) < 0 ||
        read(op, in, &p) < 0 || check_grad(op, p, in[0].t) < 0)
        return -1;
    fl_spec_set(outs, in[0].t->dtype, fl_device_code(in[0].t), (int)in[2].len, in[2].is);
    return 0;
}
