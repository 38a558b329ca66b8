/* Argument checks of the convolution rows, for planes and for blocks. */
#include "conv/conv2d.h"

namespace {

/* What the messages call the sizes that a kernel slides over. */
const char *const AXES[4] = {"", "", "height, width", "depth, height, width"};

struct Shapes {
    const char *input_name, *weight_name;
    const int64_t *input, *weight;
    int input_nd, weight_nd, spatial;
    int64_t channels() const { return input[input_nd - spatial - 1]; }
};

int check_ranks(const fl_op *op, const Shapes &s) {
    if (s.weight_nd != s.spatial + 2)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s has shape %s; it must be [out_channels, "
                        "in_channels / groups, %s]", fl_op_title(op), s.weight_name,
                        fl_shape_text(s.weight, s.weight_nd), AXES[s.spatial]);
    if (s.input_nd != s.spatial + 1 && s.input_nd != s.spatial + 2)
        return fl_error(FL_RUNTIME_ERROR, "%s: %s has shape %s; expected [batch, channels, %s], "
                        "or %d dimensions for a single image", fl_op_title(op), s.input_name,
                        fl_shape_text(s.input, s.input_nd), AXES[s.spatial], s.spatial + 1);
    return 0;
}

int check_kernel(const fl_op *op, const Shapes &s) {
    for (int i = 2; i < s.weight_nd; i++)
        if (s.weight[i] < 1)
            return fl_error(FL_RUNTIME_ERROR, "%s: %s has shape %s; kernel size should be greater "
                            "than zero in every dimension", fl_op_title(op), s.weight_name,
                            fl_shape_text(s.weight, s.weight_nd));
    return 0;
}

int check_channels(const fl_op *op, const Shapes &s, int64_t groups) {
    if (groups < 1 || s.weight[0] % groups)
        return fl_error(FL_RUNTIME_ERROR, "%s: groups=%lld, but weight has shape %s; groups must "
                        "be 1 or more and divide the number of output channels (%lld)",
                        fl_op_title(op), (long long)groups, fl_shape_text(s.weight, s.weight_nd),
                        (long long)s.weight[0]);
    int64_t wanted;
    if (__builtin_mul_overflow(s.weight[1], groups, &wanted))
        return fl_error(FL_RUNTIME_ERROR, "%s: groups=%lld with weight of shape %s asks for more "
                        "input channels than 64 bits can count", fl_op_title(op),
                        (long long)groups, fl_shape_text(s.weight, s.weight_nd));
    if (wanted != s.channels())
        return fl_error(FL_RUNTIME_ERROR, "%s: given groups=%lld and weight of shape %s, expected "
                        "input %s to have %lld channels, but it has %lld", fl_op_title(op),
                        (long long)groups, fl_shape_text(s.weight, s.weight_nd),
                        fl_shape_text(s.input, s.input_nd), (long long)wanted,
                        (long long)s.channels());
    return 0;
}

int check_fits(const fl_op *op, const fl_conv_nd &c) {
    int64_t padded[3] = {c.d + 2 * c.z.padding, c.p.h + 2 * c.p.y.padding,
                         c.p.w + 2 * c.p.x.padding};
    int64_t reach[3] = {fl_window_reach(c.z), fl_window_reach(c.p.y), fl_window_reach(c.p.x)};
    if (padded[0] >= reach[0] && padded[1] >= reach[1] && padded[2] >= reach[2])
        return 0;
    int first = 3 - c.spatial;
    return fl_error(FL_RUNTIME_ERROR, "%s: the kernel covers %s pixels (with dilation), but the "
                    "input with its padding has only %s; enlarge the input or the padding",
                    fl_op_title(op), fl_shape_text(reach + first, c.spatial),
                    fl_shape_text(padded + first, c.spatial));
}

int check_dtypes(const fl_op *op, const fl_value *in, int n, bool integers) {
    int dtype = in[0].t->dtype;
    for (int i = 1; i < n; i++)
        if (fl_t(in[i]) && in[i].t->dtype != dtype)
            return fl_error(FL_RUNTIME_ERROR, "%s: %s is %s, but %s is %s; all must have the same "
                            "dtype, convert one with .to()", fl_op_title(op), op->params[0].name,
                            fl_dtype_name(dtype), op->params[i].name,
                            fl_dtype_name(in[i].t->dtype));
    if (fl_is_float(dtype) || fl_is_complex(dtype) || (integers && fl_is_int(dtype)))
        return 0;
    return fl_error(FL_NOT_IMPLEMENTED, "%s: not defined for %s; convert to a floating dtype, as "
                    "in x.float()", fl_op_title(op), fl_dtype_name(dtype));
}

int output_shape(const fl_conv_nd &c, int64_t shape[5]) {   /* returns the dimensions */
    int nd = 0;
    if (c.p.batched)
        shape[nd++] = c.p.n;
    shape[nd++] = c.p.o * c.p.groups;
    if (c.spatial == 3)
        shape[nd++] = c.od;
    shape[nd++] = c.p.oh;
    shape[nd++] = c.p.ow;
    return nd;
}

/* `grad` must have the shape of the convolution's output. */
int check_grad(const fl_op *op, const fl_conv_nd &c, const fl_tensor *grad) {
    int64_t shape[5];
    int nd = output_shape(c, shape);
    if (grad->ndim == nd && !memcmp(grad->shape, shape, sizeof(int64_t) * (size_t)nd))
        return 0;
    return fl_error(FL_RUNTIME_ERROR, "%s: grad has shape %s; the output of this convolution has "
                    "shape %s", fl_op_title(op), fl_shape_text(grad->shape, grad->ndim),
                    fl_shape_text(shape, nd));
}

}  // namespace

int fl_conv_read(const fl_op *op, const fl_value *in, int at, int spatial, const char *input_name,
                 int input_nd, const int64_t *input, const char *weight_name, int weight_nd,
                 const int64_t *weight, fl_conv_nd *c) {
    Shapes s = {input_name, weight_name, input, weight, input_nd, weight_nd, spatial};
    int64_t stride[3], padding[3], dilation[3], groups = in[at + 3].i;
    if (check_ranks(op, s) < 0 || check_kernel(op, s) < 0 ||
        fl_read_sizes(op, "stride", in[at], 1, spatial, stride) < 0 ||
        fl_read_sizes(op, "padding", in[at + 1], 0, spatial, padding) < 0 ||
        fl_read_sizes(op, "dilation", in[at + 2], 1, spatial, dilation) < 0 ||
        fl_check_windows(op, weight_name, weight_nd, weight, spatial, nullptr) < 0 ||
        fl_check_windows(op, input_name, input_nd, input, spatial, padding) < 0 ||
        check_channels(op, s, groups) < 0)
        return -1;
    int y = spatial - 2, x = spatial - 1;
    bool batched = input_nd == spatial + 2;
    const int64_t *image = input + input_nd - spatial;
    c->p = fl_conv{batched ? input[0] : 1, groups, weight[1], weight[0] / groups, image[y],
                   image[x], 0, 0, {weight[2 + y], stride[y], padding[y], dilation[y]},
                   {weight[2 + x], stride[x], padding[x], dilation[x]}, batched};
    c->spatial = spatial;
    c->d = spatial == 3 ? image[0] : 1;
    c->z = spatial == 3 ? fl_window{weight[2], stride[0], padding[0], dilation[0]}
                        : fl_window{1, 1, 0, 1};
    if (check_fits(op, *c) < 0)
        return -1;
    c->p.oh = fl_window_count(c->p.y, c->p.h);
    c->p.ow = fl_window_count(c->p.x, c->p.w);
    c->od = fl_window_count(c->z, c->d);
    return 0;
}

int fl_conv_read_forward(const fl_op *op, const fl_value *in, int spatial, fl_conv_nd *c) {
    const fl_tensor *input = in[0].t, *weight = in[1].t;
    return fl_conv_read(op, in, 3, spatial, "input", input->ndim, input->shape, "weight",
                        weight->ndim, weight->shape, c);
}

int fl_conv_read_input_grad(const fl_op *op, const fl_value *in, int spatial, fl_conv_nd *c) {
    return fl_conv_read(op, in, 3, spatial, "input_size", (int)in[2].len, in[2].is, "weight",
                        in[1].t->ndim, in[1].t->shape, c);
}

int fl_conv_read_weight_grad(const fl_op *op, const fl_value *in, int spatial, fl_conv_nd *c) {
    return fl_conv_read(op, in, 3, spatial, "input", in[1].t->ndim, in[1].t->shape, "weight_size",
                        (int)in[2].len, in[2].is, c);
}

/* Results are channels_last where either operand is. */
static void take_format(fl_spec *s, const fl_tensor *a, const fl_tensor *b) {
    const char *format = fl_suggested_format(a);
    if (b->numel > 0)
        fl_spec_in_format(s, format ? format : fl_suggested_format(b));
}

int fl_conv_infer(const fl_op *op, const fl_value *in, int n, int spatial, fl_spec *outs) {
    const fl_tensor *input = in[0].t, *weight = in[1].t, *bias = fl_t(in[2]);
    fl_conv_nd c;
    if (check_dtypes(op, in, 3, true) < 0 || fl_same_device(op, in, n) < 0 ||
        fl_conv_read_forward(op, in, spatial, &c) < 0)
        return -1;
    if (bias && (bias->ndim != 1 || bias->shape[0] != weight->shape[0]))
        return fl_error(FL_RUNTIME_ERROR, "%s: bias has shape %s; for a weight of shape %s it must "
                        "be [%lld]", fl_op_title(op), fl_shape_text(bias->shape, bias->ndim),
                        fl_shape_text(weight->shape, weight->ndim), (long long)weight->shape[0]);
    int64_t shape[5];
    int nd = output_shape(c, shape);
    fl_spec_set(outs, input->dtype, fl_device_code(input), nd, shape);
    take_format(outs, input, weight);
    return 0;
}

int fl_conv_infer_grad(const fl_op *op, const fl_value *in, int n, int spatial, fl_spec *outs,
                       fl_conv_read_fn read) {
    fl_conv_nd c;
    if (check_dtypes(op, in, 2, read != fl_conv_read_weight_grad) < 0 || fl_same_device(op, in, n) < 0 ||
        read(op, in, spatial, &c) < 0 || check_grad(op, c, in[0].t) < 0)
        return -1;
    fl_spec_set(outs, in[0].t->dtype, fl_device_code(in[0].t), (int)in[2].len, in[2].is);
    take_format(outs, in[0].t, in[1].t);
    return 0;
}
