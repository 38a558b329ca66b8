/* Gamma and Dirichlet samples, and how they move with their parameters. */
#include "formula/include/rates.h"
#include "random/draws.h"
#include "special/implicit.h"
#include "common/raw.h"
#include <float.h>
#include <math.h>

namespace {

/* The least normal number: a sample of 0 would have no logarithm. */
double least(int dtype) {
    return dtype == FL_F16 ? 0x1p-14 : dtype == FL_F64 ? DBL_MIN : FLT_MIN;
}

/* The greatest number below 1. */
double most(int dtype) {
    return 1 - (dtype == FL_F16 ? 0x1p-11 : dtype == FL_BF16 ? 0x1p-8
                : dtype == FL_F32 ? 0x1p-24 : 0x1p-53);
}

double at_least(double value, double low) { return value < low ? low : value; }

double at_most(double value, double high) { return value > high ? high : value; }

double tolerance(const fl_tensor *out) { return out->dtype == FL_F64 ? 1e-15 : 1e-9; }

int infer_drawn(const fl_op *op, const fl_value *in, fl_spec *outs) {
    if (fl_expect_dtype(op, "self", in[0].t, fl_is_float,
                        "floating point; write x.float() first") < 0)
        return -1;
    fl_spec_like(outs, in[0].t);
    return 0;
}

/* Logarithms of gamma samples to a Dirichlet sample: over their sum, scaled by the largest. */
void normalize_row(double *y, int64_t n) {
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = y[i] > most ? y[i] : most;
    for (int64_t i = 0; i < n; i++)
        sum += y[i] = exp(y[i] - most);
    for (int64_t i = 0; i < n; i++)
        y[i] /= sum;
}

}  // namespace

extern "C" {

int fl_infer_standard_gamma(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return infer_drawn(op, in, outs);
}

int fl_run_standard_gamma(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    int64_t n = in[0].t->numel;
    RawIn given(in[0].t, FL_F64);
    RawOut out(outs[0], FL_F64);
    if (!given.ok() || !out.ok())
        return -1;
    const double *a = (const double *)given.data();
    double *y = (double *)out.data(), low = least(outs[0]->dtype);
    draw_each(in[1], n, [&](int64_t i, Draws &draws) {
        y[i] = at_least(exp(log_gamma_sample(a[i], draws)), low);
    });
    out.commit();
    return 0;
}

int fl_infer_sample_dirichlet(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    return infer_drawn(op, in, outs);
}

int fl_run_sample_dirichlet(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *self = in[0].t;
    int64_t n = self->ndim ? self->shape[self->ndim - 1] : 1, rows = n ? self->numel / n : 0;
    RawIn given(self, FL_F64);
    RawOut out(outs[0], FL_F64);
    if (!given.ok() || !out.ok())
        return -1;
    const double *a = (const double *)given.data();
    double *y = (double *)out.data(), low = least(outs[0]->dtype), high = most(outs[0]->dtype);
    draw_each(in[1], self->numel, [&](int64_t i, Draws &draws) {
        y[i] = log_gamma_sample(a[i], draws);
    });
    fl_parallel(rows, 1024 / (n + 1) + 1, [&](int64_t b, int64_t e) {
        for (int64_t r = b; r < e; r++)
            normalize_row(y + r * n, n);
        for (int64_t i = b * n; i < e * n; i++)
            y[i] = at_most(at_least(y[i], low), high);
    });
    out.commit();
    return 0;
}

int fl_infer_dirichlet_grad(const fl_op *op, const fl_value *in, int, fl_spec *outs) {
    for (int i = 0; i < 3; i++) {
        static const char *const NAMES[] = {"self", "alpha", "total"};
        if (fl_expect_dtype(op, NAMES[i], in[i].t, fl_is_float, "floating point") < 0 ||
            fl_expect_same_dtype(op, in[0].t, NAMES[i], in[i].t) < 0)
            return -1;
    }
    int64_t pair[FL_MAX_DIMS], shape[FL_MAX_DIMS];
    int pair_ndim, ndim;
    const fl_tensor *x = in[0].t, *alpha = in[1].t, *total = in[2].t;
    if (fl_broadcast_shape("dirichlet_grad", x->ndim, x->shape, alpha->ndim, alpha->shape,
                           &pair_ndim, pair) < 0 ||
        fl_broadcast_shape("dirichlet_grad", pair_ndim, pair, total->ndim, total->shape, &ndim,
                           shape) < 0)
        return -1;
    fl_spec_set(outs, x->dtype, fl_device_code(x), ndim, shape);
    return 0;
}

int fl_run_dirichlet_grad(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *like = outs[0];
    RawIn sample(in[0].t, FL_F64, like->ndim, like->shape);
    RawIn alpha(in[1].t, FL_F64, like->ndim, like->shape);
    RawIn total(in[2].t, FL_F64, like->ndim, like->shape);
    RawOut out(outs[0], FL_F64);
    if (!sample.ok() || !alpha.ok() || !total.ok() || !out.ok())
        return -1;
    const double *x = (const double *)sample.data(), *a = (const double *)alpha.data();
    const double *t = (const double *)total.data();
    double *y = (double *)out.data(), eps = tolerance(outs[0]);
    fl_parallel(like->numel, 64, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++)
            y[i] = fl_beta_slope(x[i], a[i], t[i], eps);
    });
    out.commit();
    return 0;
}

int fl_run_standard_gamma_grad(const fl_op *, const fl_value *in, int, fl_tensor *const *outs) {
    const fl_tensor *like = outs[0];
    RawIn alpha(in[0].t, FL_F64, like->ndim, like->shape);
    RawIn sample(in[1].t, FL_F64, like->ndim, like->shape);
    RawOut out(outs[0], FL_F64);
    if (!alpha.ok() || !sample.ok() || !out.ok())
        return -1;
    const double *a = (const double *)alpha.data(), *x = (const double *)sample.data();
    double *y = (double *)out.data(), eps = tolerance(outs[0]);
    fl_parallel(like->numel, 128, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; i++)
            y[i] = fl_gamma_slope(a[i], x[i], eps);
    });
    out.commit();
    return 0;
}

}  // extern "C"
