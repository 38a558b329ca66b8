/* Gradients of batch normalization.
 *
 * dx = a g + b (x - mean) + c with numbers a, b, c for every channel that follow from the sums of
 * g and of g (x - mean). */
#include "norm/batch_norm.h"

namespace {

const fl_norm_kernels *const kernels = FL_PICK(fl_norm_kernels);

/* sum(g) and sum(g (x - mean)) of every channel, by columns. */
int column_sums(const fl_batch &b, const char *g, const char *x, const double *mean, double *sum_g,
                double *sum_gx) {
    Scratch room((size_t)b.width() * 24);
    if (!room.ok())
        return -1;
    double *columns_g = room.as<double>(), *columns_gx = columns_g + b.width();
    char *means = (char *)(columns_gx + b.width());
    memset(columns_g, 0, (size_t)b.width() * 16);
    fl_batch_spread(b, mean, means);
    fl_batch_strips(b, [&](int64_t j, int64_t width) {
        int64_t at = j * b.size();
        kernels->sums_columns[b.kind](g + at, x + at, b.n, b.width(), width, means + at,
                                      columns_g + j, columns_gx + j);
    });
    for (int64_t j = 0; j < b.width(); j++) {
        sum_g[j / b.inner] += columns_g[j];
        sum_gx[j / b.inner] += columns_gx[j];
    }
    return 0;
}

int plane_sums(const fl_batch &b, const char *g, const char *x, const double *mean, double *sum_g,
               double *sum_gx) {
    Scratch parts((size_t)(b.n * b.channels) * 16);
    if (!parts.ok())
        return -1;
    double *pair = parts.as<double>();
    memset(pair, 0, (size_t)(b.n * b.channels) * 16);
    fl_batch_planes(b, [&](int64_t t, int64_t first, int64_t n) {
        int64_t at = (t * b.inner + first) * b.size();
        double part_g, part_gx;
        kernels->sums[b.kind](g + at, x + at, n, mean[t % b.channels], &part_g, &part_gx);
        pair[2 * t] += part_g;
        pair[2 * t + 1] += part_gx;
    });
    for (int64_t t = 0; t < b.n * b.channels; t++) {
        sum_g[t % b.channels] += pair[2 * t];
        sum_gx[t % b.channels] += pair[2 * t + 1];
    }
    return 0;
}

struct Factors {
    const double *mean, *a, *b, *c;
};

/* dx = a g + b (x - mean) + c */
int input_gradient(const fl_batch &b, const char *g, const char *x, char *dx, const Factors &f) {
    if (!b.by_columns()) {
        fl_parallel(b.n * b.channels, fl_row_grain(b.inner), [&](int64_t first, int64_t last) {
            for (int64_t t = first; t < last; t++) {
                int64_t at = t * b.inner * b.size(), c = t % b.channels;
                kernels->dx[b.kind](g + at, x + at, dx + at, b.inner, f.mean[c], f.a[c], f.b[c],
                                    f.c[c]);
            }
        });
        return 0;
    }
    Scratch room((size_t)(4 * b.width() * b.size()));
    if (!room.ok())
        return -1;
    const double *arrays[4] = {f.mean, f.a, f.b, f.c};
    char *small[4];
    for (int i = 0; i < 4; i++) {
        small[i] = room.as<char>() + i * b.width() * b.size();
        fl_batch_spread(b, arrays[i], small[i]);
    }
    fl_parallel(b.n, fl_row_grain(b.width()), [&](int64_t first, int64_t last) {
        int64_t at = first * b.width() * b.size();
        kernels->dx_columns[b.kind](g + at, x + at, dx + at, last - first, b.width(), small[0],
                                    small[1], small[2], small[3]);
    });
    return 0;
}

}  // namespace

extern "C" int fl_infer_batch_norm_grad(const fl_op *op, const fl_value *in, int n,
                                        fl_spec *outs) {
    const fl_tensor *grad = in[0].t, *input = in[1].t;
    if (fl_same_device(op, in, n) < 0 || fl_batch_check_input(op, input) < 0 ||
        fl_expect_same_shape(op, "grad", grad, "input", input) < 0 ||
        fl_check_channels(op, "weight", in[2], input->shape[1]) < 0 ||
        fl_expect_numel(op, "mean", in[3].t, input->shape[1]) < 0 ||
        fl_expect_numel(op, "rstd", in[4].t, input->shape[1]) < 0)
        return -1;
    fl_spec_channel_grads(outs, input, fl_t(in[2]));
    return 0;
}

extern "C" int fl_run_batch_norm_grad(const fl_op *, const fl_value *in, int,
                                      fl_tensor *const *outs) {
    fl_batch b = fl_batch_of(in[1].t);
    int64_t channels = b.channels;
    bool training = fl_value_true(in[5]);
    In g(in[0].t, b.kind), x(in[1].t, b.kind), mean(in[3].t, FL_K_F64), rstd(in[4].t, FL_K_F64);
    Out dx(outs[0], b.kind), dw(outs[1], FL_K_F64), db(outs[2], FL_K_F64);
    Scratch room((size_t)channels * 8 * 3);
    if (!g.ok() || !x.ok() || !mean.ok() || !rstd.ok() || !dx.ok() || !dw.ok() ||
        !db.ok() || !room.ok())
        return -1;
    double *a = room.as<double>(), *fb = a + channels, *fc = fb + channels;
    double *sum_g = db.as<double>(), *sum_gx = dw.as<double>();
    const double *r = rstd.as<double>();
    memset(sum_g, 0, (size_t)channels * 8);
    memset(sum_gx, 0, (size_t)channels * 8);
    int status = b.by_columns()
        ? column_sums(b, g.as<char>(), x.as<char>(), mean.as<double>(), sum_g, sum_gx)
        : plane_sums(b, g.as<char>(), x.as<char>(), mean.as<double>(), sum_g, sum_gx);
    if (status < 0 || fl_batch_widen(b, in[2], 1, a) < 0)
        return -1;
    double n = (double)b.count();
    for (int64_t c = 0; c < channels; c++) {
        a[c] *= r[c];
        fb[c] = training ? -a[c] * r[c] * r[c] * sum_gx[c] / n : 0;
        fc[c] = training ? -a[c] * sum_g[c] / n : 0;
        sum_gx[c] *= r[c];
    }
    Factors f = {mean.as<double>(), a, fb, fc};
    if (input_gradient(b, g.as<char>(), x.as<char>(), dx.as<char>(), f) < 0)
        return -1;
    dx.commit();
    dw.commit();
    db.commit();
    return 0;
}
