/* RMS normalization over the last dimensions as one operator, and its gradients. Devices call it; on
 * the CPU products, means and roots are called, and this is what devices are compared with. */
#include "common/args.h"
#include "common/raw.h"

#include <cmath>

namespace {

struct Rows {
    int64_t count, n;
};

Rows rows_of(const fl_tensor *t, int64_t axes) {
    Rows r = {1, 1};
    for (int d = 0; d < t->ndim; d++)
        (d < t->ndim - axes ? r.count : r.n) *= t->shape[d];
    return r;
}

int check(const fl_op *op, const fl_tensor *input, int64_t axes, const fl_value &weight) {
    if (axes < 1 || axes > input->ndim)
        return fl_error(FL_RUNTIME_ERROR, "rms_norm(): axes is %lld for an input of shape %s",
                        (long long)axes, fl_shape_text(input->shape, input->ndim));
    if (fl_expect_dtype(op, "input", input, fl_floating, "floating point") < 0)
        return -1;
    return fl_t(weight) ? fl_expect_shape(op, "weight", fl_t(weight), (int)axes,
                                          input->shape + input->ndim - axes)
                        : 0;
}

template <class T>
void forward(const Rows &r, const T *x, const T *w, double eps, T *y, T *rstd) {
    for (int64_t i = 0; i < r.count; i++, x += r.n, y += r.n) {
        double squares = 0;
        for (int64_t k = 0; k < r.n; k++)
            squares += (double)x[k] * (double)x[k];
        const double scale = 1 / std::sqrt(squares / (double)r.n + eps);
        for (int64_t k = 0; k < r.n; k++)
            y[k] = (T)((double)x[k] * scale * (w ? (double)w[k] : 1));
        rstd[i] = (T)scale;
    }
}

template <class T>
void backward(const Rows &r, const T *g, const T *x, const T *rstd, const T *w, T *dx,
              double *by_weight) {
    for (int64_t i = 0; i < r.count; i++, g += r.n, x += r.n, dx += r.n) {
        const double scale = (double)rstd[i];
        double along = 0;
        for (int64_t k = 0; k < r.n; k++) {
            const double normal = (double)x[k] * scale;
            along += (double)g[k] * (w ? (double)w[k] : 1) * normal;
            by_weight[k] += (double)g[k] * normal;
        }
        along /= (double)r.n;
        for (int64_t k = 0; k < r.n; k++)
            dx[k] = (T)(scale * ((double)g[k] * (w ? (double)w[k] : 1)
                                 - (double)x[k] * scale * along));
    }
}

template <class T> int run(const fl_value *in, fl_tensor *const *outs, int kind) {
    In x(in[0].t, kind);
    OptionalIn weight(in[2], kind);
    Out y(outs[0], kind), rstd(outs[1], kind);
    if (!x.ok() || !weight.ok() || !y.ok() || !rstd.ok())
        return -1;
    forward(rows_of(in[0].t, in[1].i), x.as<T>(), weight.as<T>(), fl_as_double(in[3]), y.as<T>(),
            rstd.as<T>());
    y.commit();
    rstd.commit();
    return 0;
}

/* (grad, input, rstd, weight, axes, eps) */
template <class T> int run_gradient(const fl_value *in, fl_tensor *const *outs, int kind) {
    const Rows r = rows_of(in[1].t, in[4].i);
    In g(in[0].t, kind), x(in[1].t, kind), rstd(in[2].t, kind);
    OptionalIn weight(in[3], kind);
    Out dx(outs[0], kind), dw(outs[1], kind);
    Scratch sums((size_t)r.n * sizeof(double));
    if (!g.ok() || !x.ok() || !rstd.ok() || !weight.ok() || !dx.ok() || !dw.ok() || !sums.ok())
        return -1;
    double *by_weight = sums.as<double>();
    for (int64_t k = 0; k < r.n; k++)
        by_weight[k] = 0;
    backward(r, g.as<T>(), x.as<T>(), rstd.as<T>(), weight.as<T>(), dx.as<T>(), by_weight);
    for (int64_t k = 0; k < r.n; k++)
        dw.as<T>()[k] = (T)by_weight[k];
    dx.commit();
    dw.commit();
    return 0;
}

}  // namespace

extern "C" int fl_infer_native_rms_norm(const fl_op *op, const fl_value *in, int n,
                                        fl_spec *outs) {
    const fl_tensor *input = in[0].t;
    if (fl_same_device(op, in, n) < 0 || check(op, input, in[1].i, in[2]) < 0)
        return -1;
    fl_spec_like(&outs[0], input);
    fl_spec_like(&outs[1], input);
    outs[1].dtype = fl_dtype_of_kind[fl_kind_of_dtype[input->dtype]];
    for (int64_t d = input->ndim - in[1].i; d < input->ndim; d++)
        outs[1].shape[d] = 1;
    return 0;
}

extern "C" int fl_run_native_rms_norm(const fl_op *, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    const int kind = fl_kind_of_dtype[in[0].t->dtype];
    return kind == FL_K_F32 ? run<float>(in, outs, kind) : run<double>(in, outs, kind);
}

extern "C" int fl_infer_rms_norm_grad(const fl_op *op, const fl_value *in, int n, fl_spec *outs) {
    const fl_tensor *input = in[1].t, *weight = fl_t(in[3]);
    if (fl_same_device(op, in, n) < 0 || check(op, input, in[4].i, in[3]) < 0 ||
        fl_expect_same_shape(op, "grad", in[0].t, "input", input) < 0 ||
        fl_expect_numel(op, "rstd", in[2].t, rows_of(input, in[4].i).count) < 0)
        return -1;
    fl_spec_like(&outs[0], input);
    fl_spec_set(&outs[1], weight ? weight->dtype : input->dtype, fl_device_code(input),
                (int)in[4].i, input->shape + input->ndim - in[4].i);
    return 0;
}

extern "C" int fl_run_rms_norm_grad(const fl_op *, const fl_value *in, int,
                                    fl_tensor *const *outs) {
    const int kind = fl_kind_of_dtype[in[1].t->dtype];
    return kind == FL_K_F32 ? run_gradient<float>(in, outs, kind)
                            : run_gradient<double>(in, outs, kind);
}
