/* conv2d: the output cut into blocks of pixels and channels, each a product of the weight with
 * unfolded input that the kernel gathers as it goes. */
#include "conv/conv2d.h"
#include "conv/pairs.h"
#include <optional>

extern "C" int fl_infer_conv2d(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    return fl_conv_infer(op, in, n, 2, outs);
}

int fl_conv_bias_alone(const fl_tensor *bias, int spatial, fl_tensor *out) {
    int64_t size = fl_itemsize(out->dtype), area = 1;
    const int64_t *shape = out->shape + out->ndim - spatial;
    for (int i = 0; i < spatial; i++)
        area *= shape[i];
    memset(out->data, 0, (size_t)(out->numel * size));
    if (!bias)
        return 0;
    char *to = (char *)out->data;
    for (int64_t i = 0; i < out->numel; i++, to += size)
        memcpy(to, fl_advance((char *)bias->data, i / area % shape[-1] * bias->strides[0], size),
               (size_t)size);
    return 0;
}

extern "C" int fl_run_conv2d(const fl_op *op, const fl_value *in, int n,
                            fl_tensor *const *outs) {
    if (in[1].t->numel == 0)
        return fl_conv_bias_alone(fl_t(in[2]), 2, outs[0]);
    if (fl_is_complex(outs[0]->dtype))
        return fl_run_bilinear_parts(fl_run_conv2d, op, in, n, outs[0]);
    const fl_tensor *input = in[0].t, *weight = in[1].t, *bias = fl_t(in[2]);
    fl_conv_nd c;
    if (outs[0]->numel == 0)
        return 0;
    if (fl_conv_read_forward(op, in, 2, &c) < 0)
        return -1;
    const fl_conv &p = c.p;
    if (fl_conv_goes_by_pairs(p, input, weight))
        return fl_conv_by_pairs(p, input, weight, in[2], outs[0]);
    int kind = fl_kind_of_dtype[input->dtype];
    Out out(outs[0], kind);
    if (!out.ok())
        return -1;
    int done = 0;
    if (kind == FL_K_I64)
        done = fl_conv_integers_by_floats(p, input, weight, bias, outs[0]->numel,
                                          out.as<int64_t>());
    if (done)
        return done < 0 ? -1 : (out.commit(), 0);
    In x(input, kind), w(weight, kind);
    std::optional<In> b;
    if (bias)
        b.emplace(bias, kind);
    if (!x.ok() || !w.ok() || (b && !b->ok()))
        return -1;
    if (kind == FL_K_I64) {
        fl_conv_integers(c, x.as<int64_t>(), w.as<int64_t>(), b ? b->as<int64_t>() : nullptr,
                         out.as<int64_t>());
        out.commit();
        return 0;
    }
    int64_t taps = fl_conv_taps(p), window = p.y.size * p.x.size;
    fl_conv_weight rows = {w.as<char>(), p.o * taps, taps, window, p.x.size, 1};
    if (fl_conv_forward(p, fl_dtype_of_kind[kind], x.as<char>(), rows,
                        b ? b->as<char>() : nullptr, out.as<char>(), nullptr) < 0)
        return -1;
    out.commit();
    return 0;
}

int fl_conv2d_run_grad(const fl_conv_nd &c, const fl_value *in, fl_tensor *result,
                       fl_conv_grad_fn *compute, fl_conv_integers_grad_fn *integers) {
    int kind = fl_kind_of_dtype[result->dtype];
    In grad(in[0].t, kind), operand(in[1].t, kind);
    Out out(result, kind);
    if (!grad.ok() || !operand.ok() || !out.ok())
        return -1;
    if (in[0].t->numel == 0 || in[1].t->numel == 0)
        memset(out.as<char>(), 0, (size_t)(result->numel * fl_kind_size[kind]));
    else if (kind == FL_K_I64 && integers)
        integers(c, grad.as<int64_t>(), operand.as<int64_t>(), out.as<int64_t>());
    else if (compute(c.p, fl_dtype_of_kind[kind], grad.as<char>(), operand.as<char>(),
                     out.as<char>()) < 0)
        return -1;
    out.commit();
    return 0;
}
